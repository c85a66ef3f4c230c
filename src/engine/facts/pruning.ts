import type { Change } from "../../core/values/entry.ts";
import { ERASE } from "../../core/records/erase-record.ts";
import type { Erasures } from "../../core/records/erasures.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { keepsSpan, keepsState } from "../../core/tree/kept-states.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { ProtectedNames } from "../../core/filter/protected-names.ts";
import { type GivenUpPrivates, pruneRecordId } from "../../core/records/prune-record.ts";
import type { EventRow, IterationRow } from "../../storage/index-store.ts";
import { erasedAmong } from "./contents-of-history.ts";
import type { Context, HistoryContext } from "../log/context.ts";
import { erasuresInForce } from "./erasures-in-force.ts";
import { asPruning, givenUpInLog, type LoggedPruning } from "../log/recorded-prunings.ts";
import { isInBase } from "../log/read-base.ts";
import { readEvent } from "../log/read-events.ts";
import { shownPath } from "../log/shape.ts";
import { memoKey } from "../log/memo.ts";

const known = memoKey<LoggedPruning>("pruning in force");

/** Returns the last pruning in the index; `undefined` if nothing was ever pruned. */
export async function pruningInForce(context: HistoryContext): Promise<LoggedPruning | undefined> {
  const row = await context.index.record(pruneRecordId(context.workspaceId));
  if (row === undefined) return undefined;
  const seen = context.memo.get(known);
  if (seen?.seq === row.seq) return seen;
  const pruning = await pruningAt(context, row);
  context.memo.set(known, pruning);
  return pruning;
}

async function pruningAt(context: HistoryContext, row: EventRow): Promise<LoggedPruning> {
  return asPruning(await readEvent(context, row));
}

/**
 * Returns which private contents were given up so far, according to the last pruning that says so. A pruning that an
 * earlier version of Chronicle recorded says nothing about private contents, so this function passes over it.
 */
export async function privatesInForce(context: HistoryContext): Promise<GivenUpPrivates | undefined> {
  const last = await pruningInForce(context);
  if (last === undefined || last.privates !== undefined) return last?.privates;
  return (await allPrunings(context, last)).findLast(({ privates }) => privates !== undefined)?.privates;
}

const histories = memoKey<LoggedPruning[]>("all prunings");

async function allPrunings(context: HistoryContext, last: LoggedPruning): Promise<readonly LoggedPruning[]> {
  const seen = context.memo.get(histories) ?? [];
  if (seen.at(-1)?.seq === last.seq) return seen;
  const all: LoggedPruning[] = [];
  for (const row of await context.index.recordHistory(pruneRecordId(context.workspaceId))) {
    const one = seen[all.length];
    all.push(one?.seq === row.seq ? one : await pruningAt(context, row));
  }
  context.memo.set(histories, all);
  return all;
}

/**
 * Returns the prunings that have lines in the log, oldest first. The log may begin after an earlier pruning, whose line
 * was dropped with an archive. That pruning then comes first in the result, `inBase` is 1, and the contents that the
 * pruning gave up may be freed. If the log has the lines of all prunings, `inBase` is 0.
 */
export async function loggedPrunings(
  context: HistoryContext,
): Promise<{ readonly all: readonly LoggedPruning[]; readonly inBase: number }> {
  const { prunings } = await givenUpInLog(context.log, context.workspaceId);
  const first = prunings[0]?.seq ?? Number.POSITIVE_INFINITY;
  const last = await pruningInForce(context);
  const known = last === undefined ? [] : await allPrunings(context, last);
  const before = known.filter(({ seq }) => seq < first).slice(-1);
  return { all: [...before, ...prunings], inBase: before.length };
}

/**
 * Returns the same as `loggedPrunings`, but reads the index instead of the log. The result is only for display, because
 * the lines of the log decide what may be freed and what can be brought back.
 */
export async function shownPrunings(context: HistoryContext): ReturnType<typeof loggedPrunings> {
  const last = await pruningInForce(context);
  if (last === undefined) return { all: [], inBase: 0 };
  const bySeq = new Map((await allPrunings(context, last)).map((one) => [one.seq, one]));
  const rows = await context.index.recordHistory(pruneRecordId(context.workspaceId));
  return { all: rows.flatMap(({ seq }) => bySeq.get(seq) ?? []), inBase: rows.filter(isInBase).length };
}

/**
 * Returns the event that pruned a state; `undefined` if the state is kept. The state was in force from event `since`
 * until event `until`. Without `until`, the state is still in force.
 */
export async function prunedBy(context: HistoryContext, since: number, until?: number): Promise<number | undefined> {
  const last = await pruningInForce(context);
  if (last === undefined || keepsSpan(last, since, until)) return undefined;
  const all = await allPrunings(context, last);
  // If a pruning keeps the state, `unforget` has undone all earlier prunings of the state. Therefore, the state was
  // pruned by the first pruning after the last pruning that keeps the state.
  const kept = all.findLastIndex((one) => keepsSpan(one, since, until));
  return all[kept + 1]?.seq ?? last.seq;
}

/**
 * Returns a text for people that says which event gave up the private contents of a record before their time, and why.
 * Returns `undefined` if the contents were not given up. `seq` is the last event of the record.
 */
export async function privatesGivenUp(context: HistoryContext, seq: number): Promise<string | undefined> {
  const last = await pruningInForce(context);
  const isLost = (privates: GivenUpPrivates | undefined): boolean => !keepsState(privates, seq);
  if (last === undefined || !isLost(await privatesInForce(context))) return undefined;
  const by = (await allPrunings(context, last)).find(({ privates }) => isLost(privates)) ?? last;
  return `given up by event ${by.seq}, because prompts, git's objects and files kept aside exceeded max_private_bytes`;
}

/** Throws `PRUNED` for a state that cannot be restored any more. `what` names the state for people. */
export async function refusePruned(context: HistoryContext, what: string, state: number): Promise<void> {
  const pruning = await pruningInForce(context);
  if (pruning === undefined || keepsState(pruning, state)) return;
  const by = (await prunedBy(context, state, state + 1)) ?? pruning.seq;
  throw new ChronicleError("PRUNED", `${what} was pruned by event ${by}`, {
    hint: `\`seq:${pruning.floorSeq}\` and everything after it is kept; \`chronicle list --snapshots\` and \`chronicle actions\` show which earlier states are kept`,
    data: { by, floor_seq: pruning.floorSeq },
  });
}

/**
 * Returns the event that pruned each of these consecutive iterations of a path; `undefined` for an iteration that is
 * kept.
 */
export async function iterationsPruned(
  context: HistoryContext,
  rows: readonly IterationRow[],
): Promise<readonly (number | undefined)[]> {
  if ((await pruningInForce(context)) === undefined) return rows.map(() => undefined);
  const by: (number | undefined)[] = [];
  for (const [i, { seq }] of rows.entries()) by.push(await prunedBy(context, seq, rows[i + 1]?.seq));
  return by;
}

export interface MissingContent {
  readonly path: WorkspacePath;
  readonly hash: Hash;
  /** The text that names the needed content for people, such as `the content of a.txt@3`. */
  readonly what: string;
  /** The iteration that is meant. Default: any iteration of the path that had the content. */
  readonly iteration?: number;
}

/**
 * The store, if given, knows which contents of an origin's history, or of an imported history, were left out on
 * purpose.
 */
type MissingFrom = HistoryContext & Partial<Pick<Context, "store">>;

/** Returns the error for a content that is not in the store: `ERASED`, `PRUNED`, or else `BLOB_MISSING`. */
export async function missingContent(context: MissingFrom, missing: MissingContent): Promise<ChronicleError> {
  const { path, hash, what, iteration } = missing;
  if ((await erasedAmong(context, [hash])).has(hash)) return erasedContent(await erasuresInForce(context), hash, what);
  const rows = await context.index.iterations(path);
  const by = await iterationsPruned(context, rows);
  const meant = rows.flatMap((row, i) => {
    const isMeant = iteration === undefined ? row.entry?.hash === hash : row.iteration === iteration;
    return isMeant ? [by[i]] : [];
  });
  const [event] = meant;
  if (event === undefined || meant.includes(undefined)) {
    if (context.isCopy === true && context.store?.withheld().has(hash) === true) return atOrigin(missing);
    if (context.store?.leftOut().has(hash) === true) {
      return new ChronicleError("BLOB_MISSING", `${what} was left out when this history was exported`, {
        hint:
          "the store that exported the archive has this content: export the history there again, with --with-protected or --with-private; " +
          `then forget this import with \`chronicle forget ${context.workspaceId} --now\`, and import the new archive`,
        data: { hash },
      });
    }
    return new ChronicleError("BLOB_MISSING", `${what} (${hash}) is not in the store`, {
      hint: "run `chronicle verify` to see what else is missing",
      data: { hash },
    });
  }
  return new ChronicleError("PRUNED", `${what} was pruned by event ${event}`, {
    hint: "`chronicle history FILE` shows which iterations are kept",
    data: { by: event, hash },
  });
}

function erasedContent(erasures: Erasures, hash: Hash, what: string): ChronicleError {
  const by = erasures.of(hash);
  const id = by?.recordId.slice(ERASE.length) ?? "";
  const why = by?.reason === undefined ? "" : ` (${by.reason})`;
  return new ChronicleError("ERASED", `${what} was erased by event ${by?.seq ?? 0}${why}`, {
    hint: `\`chronicle unerase ${id}\` can bring it back until ${by?.until ?? ""}, unless a \`gc\` has freed it`,
    data: { by: by?.seq ?? 0, erasure: id, until: by?.until ?? "", hash },
  });
}

export async function erasedDetail(context: HistoryContext, hash: Hash, what: string): Promise<string> {
  return erasedContent(await erasuresInForce(context), hash, what).message;
}

/** Returns the error for a content that the copy of an origin's history names, but that only the origin has. */
function atOrigin({ path, hash, what }: MissingContent): ChronicleError {
  const isSecret = new ProtectedNames().holds(path);
  return new ChronicleError("BLOB_MISSING", `${what} is at the origin only`, {
    hint: isSecret
      ? "it is a secret by its name: `chronicle sync start … --with-protected` brings it, with a person's token"
      : "a filter of the sync keeps it there, or the origin has freed it",
    data: { hash },
  });
}

/**
 * Throws `PRUNED` if these changes need a content that was pruned and is no longer in the store. Contents in `made` are
 * stored later and count as present.
 */
export async function refusePrunedContents(
  context: HistoryContext,
  changes: readonly Change[],
  made: ReadonlySet<Hash> = new Set(),
): Promise<void> {
  if ((await pruningInForce(context)) === undefined) return;
  const wanted = changes.flatMap(({ path, after }) =>
    after?.hash === undefined || made.has(after.hash) ? [] : [{ path, hash: after.hash }],
  );
  const stored = await context.blobs.has(wanted.map((one) => one.hash));
  for (const { path, hash } of wanted) {
    if (stored.has(hash)) continue;
    const error = await missingContent(context, { path, hash, what: `the earlier content of ${shownPath(path)}` });
    if (error.code === "PRUNED") throw error;
  }
}
