import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { amountFor, type BenchContext } from "./bench.ts";
import type { SyncPair } from "./sync-peer.ts";

/** The number of files of `syncTree`. */
export const TREE_FILES = 10_000;
const PER_FOLDER = 25;

/** Fills a folder with small files, 25 in each of its folders. */
export function syncTree(folder: string, files = TREE_FILES): void {
  for (let i = 0; i < files; i++) {
    if (i % PER_FOLDER === 0) mkdirSync(join(folder, folderOf(i)), { recursive: true });
    writeFileSync(join(folder, nameOf(i)), `// file ${i}\n`.repeat(20 + (i % 200)));
  }
}

const folderOf = (i: number) => `part-${Math.floor(i / 1000)}/at-${Math.floor(i / PER_FOLDER)}`;

/** Returns the path of a file of `syncTree`, relative to its folder. */
export function nameOf(i: number): string {
  return `${folderOf(i)}/file-${i}.ts`;
}

/** Waits until a file has this content. Resolves to the waiting time in milliseconds; `undefined` after `withinMs`. */
async function waitForContent(file: string, content: string, withinMs: number): Promise<number | undefined> {
  const started = performance.now();
  for (;;) {
    if (contentOf(file) === content) return performance.now() - started;
    if (performance.now() - started > withinMs) return undefined;
    await pause(1);
  }
}

/** Returns the content of a file; `undefined` if it cannot be read, for example because it does not exist yet. */
export function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** The plan of `editLatency`. */
export interface EditPlan {
  /** The maximum number of edits. */
  readonly edits: number;
  /** After this time, in milliseconds, no further edit is begun. */
  readonly budgetMs: number;
  /** The number of files of the tree. Default: `TREE_FILES`. */
  readonly files?: number;
  /** Makes an edit. Default: writes the file in `from`. */
  readonly write?: (path: string, content: string) => Promise<void>;
}

const GIVE_UP_MS = 120_000;
const FIRST_SYNC_MS = 300_000;

/**
 * Edits files one after the other. Resolves to the milliseconds from each edit until its content is in `to`. The pauses
 * between the edits vary, so that the edits do not keep step with the interval of a tool. Rejects if an edit is not in
 * `to` within 2 minutes.
 */
export async function editLatency(pair: SyncPair, plan: EditPlan): Promise<number[]> {
  const found: number[] = [];
  const until = performance.now() + plan.budgetMs;
  for (let i = 0; i < plan.edits && performance.now() < until; i++) {
    const path = nameOf((i * 7919) % (plan.files ?? TREE_FILES));
    const content = `edit ${i} of ${Date.now()}\n`;
    const started = performance.now();
    if (plan.write === undefined) writeFileSync(join(pair.from, path), content);
    const writing = plan.write?.(path, content);
    const begun = performance.now() - started;
    // The answer to a write can come after the content is in `to`, because it waits for the origin's folder.
    const [seen] = await Promise.all([waitForContent(join(pair.to, path), content, GIVE_UP_MS), writing]);
    if (seen === undefined) throw new Error(`${path} was not seen in the other folder within ${GIVE_UP_MS} ms`);
    found.push(begun + seen);
    await pause(150 + ((i * 137) % 700));
  }
  return found;
}

/**
 * Waits until the first, the middle and the last file of the tree are in `to`, and then for some seconds, so that the
 * tool becomes idle. Rejects if a file is not in `to` within 5 minutes.
 */
export async function firstSync(context: BenchContext, pair: SyncPair, files = TREE_FILES): Promise<void> {
  for (const i of [0, files >> 1, files - 1]) {
    const content = readFileSync(join(pair.from, nameOf(i)), "utf8");
    const seen = await waitForContent(join(pair.to, nameOf(i)), content, FIRST_SYNC_MS);
    if (seen === undefined) throw new Error(`the first sync was not done within ${FIRST_SYNC_MS} ms`);
  }
  await pause(1_000 * amountFor(context, { what: "seconds of rest after the first sync", all: 5, quick: 1 }));
}
