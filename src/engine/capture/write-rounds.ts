import type { Change } from "../../core/values/entry.ts";
import type { IntentRecord } from "../../core/records/records.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { ApplyReport } from "../../worktree/worktree.ts";

// A round is a group of writes that change one path each and share a commit. One call of `apply` writes all of them to
// the folder. The staging folder of this call is named by the token of the round, and the staged files are numbered
// consecutively over all changes of the round. After a crash, the same call is repeated, so the round must be found
// again from the intents in the log. If the call for the round could change no file, each write is applied separately,
// with its own id as the token.

interface OpenIntent {
  readonly id: string;
  readonly intent: IntentRecord;
}

/** True if a write may share an apply with others: its only change does not depend on another change. */
export function sharesApply(changes: readonly Change[]): boolean {
  return changes.length === 1;
}

/**
 * The maximum number of writes in a round. The number is limited because all new files of a round are open while they
 * are synced.
 */
const MOST_IN_ROUND = 64;

/** Divides writes that may share an apply into rounds. The last round may have one write only. */
export function inRounds<W>(writes: readonly W[]): readonly (readonly W[])[] {
  const rounds: W[][] = [];
  for (let at = 0; at < writes.length; at += MOST_IN_ROUND) rounds.push(writes.slice(at, at + MOST_IN_ROUND));
  return rounds;
}

/** Returns the token under which a round stages its files. `ids`: the ids of its intents, at least two. */
export function roundToken(ids: readonly string[]): string {
  return ids.reduce((least, id) => (id < least ? id : least)) + "-round";
}

/**
 * Groups open intents into rounds. The intents of a round were opened with one append, so they name the same `fromSeq`.
 * Intents of different appends never name the same `fromSeq`. Every other intent is alone in its group.
 */
export function roundsOf<I extends OpenIntent>(open: readonly I[]): readonly (readonly I[])[] {
  const rounds = Map.groupBy(open, ({ id, intent: { kind, changes = [], fromSeq } }) =>
    kind === "write" && sharesApply(changes) ? String(fromSeq) : id,
  );
  return [...rounds.values()];
}

/** Returns the part of an apply's report that concerns these paths. */
export function reportOn(report: ApplyReport, paths: ReadonlySet<WorkspacePath>): ApplyReport {
  const isMeant = ({ path }: { readonly path: WorkspacePath }): boolean => paths.has(path);
  return {
    applied: report.applied.filter((path) => paths.has(path)),
    blocked: report.blocked.filter(isMeant),
    conflicts: report.conflicts.filter(isMeant),
    inherited: (report.inherited ?? []).filter(isMeant),
  };
}
