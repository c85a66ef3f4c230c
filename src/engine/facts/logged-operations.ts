import { isRestored } from "../../core/records/omitted-change.ts";
import { decodeConflict, type ConflictRecord } from "../../core/records/conflict-record.ts";
import { quoteCommand } from "../../core/shell/quote-command.ts";
import { changeOf, type FileRecord } from "../../core/values/file-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { IntentRecord } from "../../core/records/records.ts";
import { holdsSeq } from "../../core/values/seq-ranges.ts";
import { addAll, greatestOf } from "../../util/long-lists.ts";
import { endsOfWhole, operationsOfActions } from "./action-operations.ts";
import type { Context } from "../log/context.ts";
import { indexedFrom } from "../log/history-start.ts";
import { doneIntents, type LoggedIntent } from "../log/intents.ts";
import type { LoggedOperation, Selective } from "./logged-operation.ts";
import { reversedTold, undoneTold } from "./reversed-undos.ts";
import { changersOfGit, type Session } from "./actions.ts";
import { ownersIn } from "./owners.ts";
import { readEvent, readEvents } from "../log/read-events.ts";
import { allTransactions } from "./transactions.ts";
import { optional } from "../../util/optional.ts";

function selectiveOf(
  intent: IntentRecord,
  conflicts: readonly ConflictRecord[],
): Pick<LoggedOperation, "selective" | "left"> {
  const { selection, takes = [], passes = [], took = [], met = [], left = [], parts = [] } = intent;
  if (selection === undefined) return left.length === 0 ? {} : { left };
  const settled = new Set(conflicts.filter(isForUndo).map((one) => one.path));
  const isNamed = (one: ConflictRecord): boolean => one.state === "open" || one.settled === "current";
  const named = new Set(conflicts.filter(isNamed).map((one) => one.path));
  // If all conflicts were settled in favour of the undo or by a merge, the operations in `passes` move to `takes`. The
  // undo may still have left some of their paths alone. `undoneTold` therefore decides by the events of these
  // operations whether the operations are undone.
  const ids =
    conflicts.length > 0 && conflicts.every(isForUndo)
      ? { takes: [...takes, ...passes], passes: [] }
      : { takes, passes };
  const isNothing =
    intent.paths - (intent.skipped ?? 0) === 0 &&
    intent.aside === undefined &&
    ids.takes.length + settled.size === 0 &&
    (took.length === 0 || left.length > 0);
  return {
    selective: { selection, ...ids, took, met, settled, named, left, parts, ...(isNothing ? { isNothing } : {}) },
  };
}

/**
 * Returns the paths of a redo's conflicts, except those that were settled in favour of the redo or by a merge. Returns
 * `undefined` for a redo without conflicts, and for any other operation.
 */
function unmergedOf(
  { kind }: IntentRecord,
  conflicts: readonly ConflictRecord[],
): readonly WorkspacePath[] | undefined {
  if (kind !== "redo" || conflicts.length === 0) return undefined;
  return conflicts.filter((one) => !isForUndo(one)).map(({ path }) => path);
}

/** True for a conflict that was settled in favour of the undo or redo that met it, or by a merge. */
function isForUndo({ settled }: ConflictRecord): boolean {
  return settled === "undo" || settled === "merged";
}

async function conflictsByUndo(
  context: Context,
  intents: readonly LoggedIntent[],
): Promise<Map<string, ConflictRecord[]>> {
  const selective = new Set(intents.flatMap(({ id, intent }) => (intent.selection === undefined ? [] : [id])));
  const mayHaveMet = ({ intent: { kind, met, target = "" } }: LoggedIntent): boolean =>
    met !== undefined || (kind === "redo" && selective.has(target));
  if (!intents.some(mayHaveMet)) return new Map();
  const events = await readEvents(context, await context.index.records("conflict:"));
  return Map.groupBy(
    events.map((event) => decodeConflict(event.record)),
    (one) => one.undo,
  );
}

/**
 * Returns all finished operations whose events are all in the log, ordered by their end. A run whose process is gone
 * counts as finished. If the end of such a run is not recorded yet, the run is listed last, because its end will be
 * recorded next.
 */
export async function operationsOf(context: Context, sessions: readonly Session[]): Promise<LoggedOperation[]> {
  const found: LoggedOperation[] = [];
  const unclosed: LoggedOperation[] = [];
  const git = await changersOfGit(context);
  for (const session of sessions) {
    const isIdle = session.changed === 0 && !session.omittedChanges.some(isRestored) && !git.has(session.id);
    if (session.kind !== "run" || session.state === "running" || isIdle) continue;
    (session.unclosed === true ? unclosed : found).push(ofRun(session));
  }
  const isPartOfMore = await partsOfMore(context, sessions);
  const intents = await doneIntents(context);
  const conflicts = await conflictsByUndo(context, intents);
  for (const { id, intent, seq, ts } of intents) {
    const { kind, summary, started, fromSeq, target } = intent;
    // Changes that came from an origin can be undone only at the origin. In the folder of the replica, people edit the
    // files instead.
    if (kind === "replica") continue;
    const met = conflicts.get(id) ?? [];
    const unmerged = unmergedOf(intent, met);
    const base = {
      id,
      kind,
      summary,
      started,
      ended: ts,
      fromSeq,
      toSeq: seq,
      ...selectiveOf(intent, met),
      ...optional({ unmerged }),
      ...optional({ client: intent.client }),
      ...(isPartOfMore(intent) ? { isPart: true as const } : {}),
    };
    const changed = intent.paths - (intent.skipped ?? 0);
    // A write that changed nothing is recorded only so that a repeated request with the same id gets the same answer.
    if (kind === "write" && changed === 0) continue;
    found.push(target === undefined ? { ...base, changed } : { ...base, changed, target });
  }
  addAll(found, await operationsOfActions(context));
  const begins = (await indexedFrom(context)) ?? 1;
  const known = [...found.sort((a, b) => a.toSeq - b.toSeq), ...unclosed].filter((one) => one.fromSeq >= begins - 1);
  const all = await leftTold(context, await reversedTold(context, known));
  const isNested = sessions.some(isWithinSomething) || all.some((one) => one.inAction === true);
  return undoneTold(context, isNested ? await partsTold(context, all) : all);
}

/**
 * For each undo of selected work, moves an operation from `takes` to `passes` if the undo left some of its events
 * alone. The undo did not undo such an operation as a whole.
 */
async function leftTold(context: Context, all: readonly LoggedOperation[]): Promise<LoggedOperation[]> {
  if (!all.some(({ selective }) => selective !== undefined && selective.left.length > 0)) return [...all];
  const owners = await ownersIn(context);
  const undos = new Map(
    all.flatMap(({ id, selective }) => (selective === undefined ? [] : [[id, selective] as const])),
  );
  const told: LoggedOperation[] = [];
  for (const one of all) {
    const { selective } = one;
    if (selective === undefined || selective.left.length === 0 || selective.takes.length === 0) {
      told.push(one);
      continue;
    }
    const partly = new Set<string>();
    for (const { seq, record } of await eventsLeft(context, selective)) {
      const ids = owners.of(record);
      for (const id of selective.takes)
        if (ids.includes(id) || holdsSeq(undos.get(id)?.took ?? [], seq)) partly.add(id);
    }
    const takes = selective.takes.filter((id) => !partly.has(id));
    told.push({ ...one, selective: { ...selective, takes, passes: [...selective.passes, ...partly] } });
  }
  return told;
}

/** Returns the events that an undo selected at paths that the undo then left alone. Leaves out events of folders. */
async function eventsLeft(
  context: Context,
  { took, left }: Selective,
): Promise<{ readonly seq: number; readonly record: FileRecord }[]> {
  const found: { readonly seq: number; readonly record: FileRecord }[] = [];
  for (const path of left) {
    const rows = (await context.index.iterations(path)).filter(
      ({ seq, entry }) => holdsSeq(took, seq) && entry?.kind !== "dir",
    );
    for (const { seq } of rows) {
      const [row] = await context.index.events({ from: seq, to: seq });
      const record = row === undefined ? undefined : changeOf(await readEvent(context, row), path);
      if (record !== undefined) found.push({ seq, record });
    }
  }
  return found;
}

function ofRun({ id, command, fromSeq, seq, started, ended, changed }: Session): LoggedOperation {
  return { id, kind: "run", summary: quoteCommand(command), started, ended, fromSeq, toSeq: seq, changed };
}

function isWithinSomething({ within }: Session): boolean {
  return Object.keys(within).length > 0;
}

/**
 * Marks a run or action as a part of an operation around it, unless the run or action ended after all operations around
 * it. In that case, the span of the run or action is cut to begin where the last of these operations ended, because the
 * earlier changes belong to these operations.
 */
async function partsTold(context: Context, all: readonly LoggedOperation[]): Promise<LoggedOperation[]> {
  const owners = await ownersIn(context);
  const byId = new Map(all.map((one) => [one.id, one]));
  return all.map((one) => {
    if (one.kind !== "run" && one.kind !== "action") return one;
    const outer = [...owners.around([one.id])].flatMap((id) => (id === one.id ? [] : (byId.get(id) ?? [])));
    const whole = outer.filter(({ toSeq }) => toSeq >= one.toSeq).sort((a, b) => a.fromSeq - b.fromSeq)[0];
    if (whole !== undefined) return { ...one, isPart: true, partOf: whole.id };
    return { ...one, fromSeq: Math.max(one.fromSeq, greatestOf(outer.map(({ toSeq }) => toSeq))) };
  });
}

/**
 * Returns a function that returns true for a write that is a part of an action, of an ended run, or of a committed
 * transaction.
 */
async function partsOfMore(context: Context, sessions: readonly Session[]): Promise<(intent: IntentRecord) => boolean> {
  // While a run is open, a write within the run can be undone by itself.
  const isEnded = ({ kind, state }: Session): boolean => kind === "run" && state !== "running";
  const runs = new Set(sessions.filter(isEnded).map((one) => one.id));
  const ends = endsOfWhole(await allTransactions(context));
  return ({ kind, session = "", action, transaction = "" }) =>
    kind === "write" && (action !== undefined || runs.has(session) || ends.has(transaction));
}
