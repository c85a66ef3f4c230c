import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { SyncPair } from "./sync-peer.ts";

export const TREE_FILES = 10_000;
const PER_FOLDER = 25;

/** Fills a folder with small files. */
export function syncTree(folder: string, files = TREE_FILES): void {
  for (let i = 0; i < files; i++) {
    if (i % PER_FOLDER === 0) mkdirSync(join(folder, folderOf(i)), { recursive: true });
    writeFileSync(join(folder, nameOf(i)), `// file ${i}\n`.repeat(20 + (i % 200)));
  }
}

const folderOf = (i: number) => `part-${Math.floor(i / 1000)}/at-${Math.floor(i / PER_FOLDER)}`;

/** The path of a file of that tree. */
export function nameOf(i: number): string {
  return `${folderOf(i)}/file-${i}.ts`;
}

/** Waits until a file has this content. Returns the milliseconds of waiting, or undefined after `withinMs`. */
async function waitForContent(file: string, content: string, withinMs: number): Promise<number | undefined> {
  const started = performance.now();
  for (;;) {
    if (contentOf(file) === content) return performance.now() - started;
    if (performance.now() - started > withinMs) return undefined;
    await pause(1);
  }
}

/** `undefined`: it is not there yet, or is being replaced. */
export function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** Number of edits, and their time limit. */
export interface EditPlan {
  readonly edits: number;
  /** No further edit is begun after this time, in ms. */
  readonly budgetMs: number;
  readonly files?: number;
  /** Instead of writing a file of `from`. */
  readonly write?: (path: string, content: string) => Promise<void>;
}

const GIVE_UP_MS = 120_000;
const FIRST_SYNC_MS = 300_000;

/** Edits files of `from`, one after the other at moments that fit no tool's beat; ms until each is seen in `to`. */
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
    // A write is answered once it is in the origin's folder, too, which may be later.
    const [seen] = await Promise.all([waitForContent(join(pair.to, path), content, GIVE_UP_MS), writing]);
    if (seen === undefined) throw new Error(`${path} was not seen in the other folder within ${GIVE_UP_MS} ms`);
    found.push(begun + seen);
    await pause(150 + ((i * 137) % 700));
  }
  return found;
}

/** Resolves when the last file of the tree is in `to`, and then the tool has had time to come to rest. */
export async function firstSync(pair: SyncPair, files = TREE_FILES): Promise<void> {
  for (const i of [0, files >> 1, files - 1]) {
    const content = readFileSync(join(pair.from, nameOf(i)), "utf8");
    const seen = await waitForContent(join(pair.to, nameOf(i)), content, FIRST_SYNC_MS);
    if (seen === undefined) throw new Error(`the first sync was not done within ${FIRST_SYNC_MS} ms`);
  }
  await pause(5_000);
}
