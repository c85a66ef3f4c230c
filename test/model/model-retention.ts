import { expect } from "vitest";
import type { ContentStream } from "../../src/api/workspace-api.ts";
import type { ModelHistory } from "./model-history.ts";
import type { ModelMachine } from "./model-machine.ts";

/** The part of `ModelPlay` that the checks of retention need. */
interface Played {
  readonly machine: ModelMachine;
  readonly history: ModelHistory;
  /** How many snapshots of actions are kept. 0: no limit. */
  readonly keep: number;
  /** The seq of the first event that is still in the log. 0: all events are. */
  readonly begins: number;
}

/**
 * Checks the limit of action snapshots. If there are more than `keep`, at most half of `keep` of them may be ones that
 * the limit can remove. It cannot remove pinned snapshots, those of open actions, or the first one of a session. While
 * a transaction is active, nothing is checked.
 */
export async function checkLimit({ machine, history, keep, begins }: Played): Promise<void> {
  if (keep === 0) return;
  const listed = await machine.workspace.list();
  const isHeld = [...history.transactions.values()].some((one) => one.record.status === "active");
  // Actions from a dropped archive are still listed, but do not count.
  const here = listed.filter((one) => one.from_seq >= begins - 1);
  const firsts = new Map(here.toReversed().map((one) => [one.session, one.id]));
  const counted = here.filter((one) => !one.pinned);
  const plain = counted.filter((one) => one.state !== "open" && firsts.get(one.session) !== one.id);
  if (!isHeld && counted.length > keep) expect(plain.length).toBeLessThanOrEqual(Math.floor(keep / 2));
}

/**
 * Checks everything that can be read: `verify`, the listed actions, the open conflicts, and every iteration of every
 * path. A content may be missing only if a pruning permits it: its state ended before the floor, and no kept snapshot
 * has it.
 */
export async function checkEverything(play: Played): Promise<void> {
  const { machine, history } = play;
  const { workspace } = machine;
  expect((await workspace.verify()).problems).toEqual([]);
  await workspace.verifyIntegrity();
  await checkList(play);
  const open = [...history.conflicts].filter(([, one]) => one.state === "open").map(([id]) => id);
  expect((await workspace.conflicts()).map((one) => one.id).sort()).toEqual(open.sort());
  const snapshots = (await workspace.snapshots()).filter((one) => (one.pruned_by ?? one.compacted_by) === undefined);
  const states = [...(await workspace.list()).map((one) => one.from_seq), ...snapshots.map((one) => one.seq)];
  const kept = states.filter((state) => state >= play.begins - 1);
  const floor = history.prunings.at(-1)?.floorSeq ?? 0;
  for (const path of new Set(history.steps.map((step) => step.path))) {
    const steps = history.steps.filter((step) => step.path === path);
    const rows = await workspace.history(path);
    const [first] = steps;
    const before = rows.findLast((one) => one.seq < (first?.seq ?? 0));
    const was = before === undefined ? [] : [{ seq: before.seq, after: first?.before }];
    for (const [i, step] of [...was, ...steps].entries()) {
      const row = rows.find((one) => one.seq === step.seq);
      expect(row, `${path} at ${step.seq}`).toBeDefined();
      if (row === undefined || step.after === undefined || step.after === "dir") continue;
      const next = [...was, ...steps][i + 1]?.seq ?? Number.POSITIVE_INFINITY;
      const mustBe = next > floor || kept.some((state) => state >= step.seq && state < next);
      const text = await readText(() => workspace.cat(path, row.iteration), mustBe);
      const wanted = step.after.startsWith("-> ") ? step.after.slice(3) : step.after.slice(step.after.indexOf(" ") + 1);
      if (text !== undefined) expect(text).toBe(wanted);
    }
  }
}

/**
 * Checks the listed actions: each is chained to the previous action, and its state and pin are those of the log. If
 * nothing was pruned or dropped, all actions are listed.
 */
async function checkList({ machine, history, begins }: Played): Promise<void> {
  const listed = await machine.workspace.list();
  const ids = listed.map((one) => one.id);
  expect(new Set(ids).size).toBe(ids.length);
  const all = [...history.actions.values()].sort((a, b) => a.seq - b.seq);
  for (const one of listed) {
    const at = all.findIndex((known) => known.id === one.id);
    expect([one.id, one.previous_hash, one.hash]).toEqual([one.id, all[at - 1]?.hash ?? "", all[at]?.hash]);
    expect([one.state, one.pinned]).toEqual([all[at]?.record.state, all[at]?.record.pinned]);
  }
  if (history.prunings.length > 0 || begins > 0) return;
  expect(ids).toEqual(all.map((one) => one.id));
}

/** Reads a content as text. Returns `undefined` if it was pruned and `mustBe` is false. */
export async function readText(open: () => Promise<ContentStream>, mustBe: boolean): Promise<string | undefined> {
  try {
    const pieces: Uint8Array[] = [];
    for await (const piece of (await open()).pieces()) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  } catch (error) {
    if (!mustBe && error instanceof Error && "code" in error && error.code === "PRUNED") return undefined;
    throw error;
  }
}
