import { type Change, sameEntry, type Entry } from "../../core/values/entry.ts";
import { changesOf, type FileRecord } from "../../core/values/file-record.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import { comparePaths, type WorkspacePath } from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import type { LoggedAction } from "./actions.ts";
import type { Context } from "../log/context.ts";
import { firstEvent, type FirstEvent, type OwnChange } from "./first-event.ts";
import type { SeqSpan } from "./own-changes.ts";
import type { PathClaim } from "../state/proved-rows.ts";
import { readRange } from "../log/read-events.ts";

export interface Work extends SeqSpan {
  /**
   * The label of the work, for people and for the intent record, such as `turn 3f2a` (see `IntentRecord.selection`).
   */
  readonly label: string;
  /** The name by which people know the work. Set if this name says more than the label. */
  readonly known?: string;
  /**
   * The seq of the last event before the work, if the work has a beginning. An undo of the whole work restores the
   * state right after this event.
   */
  readonly back?: number | undefined;
  /** Set if the work also includes the events of restores and undos, and undone events. */
  readonly everything?: true;
  /** The last event of a range, if the work is one. An undo after this event is no part of the work. */
  readonly until?: number;
  /** Set if the part of the work before event `before` was compacted away. `what` names the work for people. */
  readonly lost?: { readonly what: string; readonly before: number };
  readonly isOwn: (record: FileRecord, path: WorkspacePath, seq: number) => boolean;
  /** The actions and runs in the work. Files may have been kept aside for them. */
  readonly keepers?: readonly Keeper[];
  /** The id of an operation. Set if the work is all that is left of this operation (see `OwnEvents`). */
  readonly operation?: string;
}

/** A run or an action. For such work, files can be kept aside and changes of the state of git can be recorded. */
export interface Keeper extends Pick<LoggedAction, "id" | "omittedChanges" | "fromSeq" | "lastSeq"> {
  /** Set if the run or action has changed the state of git. */
  readonly changedGit?: true;
}

/**
 * Returns the keepers for which something was kept aside, and those that have changed the state of git. Such a keeper
 * may have changed no recorded file.
 */
export function keepersOf(all: readonly Keeper[] = []): Keeper[] {
  return all.filter((one) => one.changedGit === true || one.omittedChanges.some(({ kept }) => kept));
}

export interface PendingChange extends Change {
  readonly action?: string | undefined;
}

/** The own events of some work: those for which `Work.isOwn` returns true, without those that were left out. */
export interface OwnEvents {
  /** The seqs of the events, by path. */
  readonly byPath: ReadonlyMap<WorkspacePath, ReadonlySet<number>>;
  readonly firsts: ReadonlyMap<WorkspacePath, FirstEvent>;
  /**
   * The seq of the last event before the work, if the work has a beginning. An undo of the whole work restores the
   * state right after this event.
   */
  readonly back?: number | undefined;
  readonly seqs: ReadonlySet<number>;
  /**
   * Maps a path to the events without effect that lie between own events: undone events, and the events of their undos
   * (see `undone-between.ts`).
   */
  readonly between?: ReadonlyMap<WorkspacePath, ReadonlySet<number>>;
  /** The sessions, actions, transactions and intents that the events name, and the keepers of the work. */
  readonly ids: ReadonlySet<string>;
  /**
   * Maps a path to the changes that are left of own events after an undo of only some of their hunks (see
   * `left-of-hunks.ts`).
   */
  readonly rests?: ReadonlyMap<WorkspacePath, readonly Rest[]>;
  /**
   * The id of an operation. Set if the events are all that is left of this operation. An undo of the events then undoes
   * the operation, even if no event is left.
   */
  readonly operation?: string | undefined;
  /** Own changes on disk that a dry run does not record, with the actions that own them. */
  readonly pending?: readonly PendingChange[];
}

/** The change that is left of some own events of a path, after an undo of some of their hunks. */
export interface Rest extends Group {
  readonly seqs: ReadonlySet<number>;
  /** The event with which the undo wrote the path. The change counts as made right before this event. */
  readonly at: number;
  /** The contents of `before` and `after` that no event names. */
  readonly made: readonly Buffer[];
}

/** Returns the events of some work, except those for which `without` returns true. */
export async function eventsOfWork(
  context: Context,
  work: Work,
  without: (seq: number, record: FileRecord, path: WorkspacePath) => boolean = () => false,
): Promise<OwnEvents> {
  const byPath = new Map<WorkspacePath, Set<number>>();
  const firsts = new Map<WorkspacePath, FirstEvent>();
  const seqs = new Set<number>();
  const ids = new Set(keepersOf(work.keepers).map(({ id }) => id));
  for await (const { seq, record, path } of fileEvents(context, work)) {
    if (!work.isOwn(record, path, seq) || without(seq, record, path)) continue;
    const known = byPath.get(path);
    if (known === undefined) {
      byPath.set(path, new Set([seq]));
      firsts.set(path, firstEvent(record, seq));
    } else known.add(seq);
    seqs.add(seq);
    for (const id of idsOf(record)) ids.add(id);
  }
  return { byPath, firsts, back: work.back, seqs, ids, operation: work.operation };
}

/**
 * Adds the events in `more` to `own`, and returns the result. The paths of the added events must already be in `own`.
 */
export function withEvents(
  own: OwnEvents,
  more: readonly { readonly path: WorkspacePath; readonly seq: number; readonly record: FileRecord }[],
): OwnEvents {
  if (more.length === 0) return own;
  const byPath = new Map([...own.byPath].map(([path, seqs]) => [path, new Set(seqs)]));
  const firsts = new Map(own.firsts);
  for (const { path, seq, record } of more) {
    byPath.get(path)?.add(seq);
    if (seq < (firsts.get(path)?.seq ?? 0)) firsts.set(path, firstEvent(record, seq));
  }
  const seqs = new Set([...own.seqs, ...more.map(({ seq }) => seq)]);
  const ids = new Set([...own.ids, ...more.flatMap(({ record }) => idsOf(record))]);
  return { ...own, byPath, firsts, seqs, ids };
}

export function withoutPaths(own: OwnEvents, paths: ReadonlySet<WorkspacePath>): OwnEvents {
  const byPath = new Map([...own.byPath].filter(([path]) => !paths.has(path)));
  return { ...own, byPath, seqs: new Set([...byPath.values()].flatMap((seqs) => [...seqs])) };
}

/** Returns `own` without one event for each path in `events`: the event that `events` gives for the path. */
export function withoutEvents(own: OwnEvents, events: ReadonlyMap<WorkspacePath, number>): OwnEvents {
  if (events.size === 0) return own;
  const without = (path: WorkspacePath, seqs: ReadonlySet<number>): ReadonlySet<number> =>
    events.has(path) ? new Set([...seqs].filter((seq) => seq !== events.get(path))) : seqs;
  const byPath = new Map([...own.byPath].map(([path, seqs]) => [path, without(path, seqs)]));
  return { ...own, byPath, seqs: new Set([...byPath.values()].flatMap((seqs) => [...seqs])) };
}

/** Returns claims that the log recorded these events at their paths. The caller proves the claims. */
export function claimsOf({ byPath }: OwnEvents): PathClaim[] {
  return [...byPath].flatMap(([path, seqs]) => [...seqs].map((seq) => ({ path, seq })));
}

export function idsOf({ session, action, transaction, intent }: FileRecord): string[] {
  return [session, action, transaction, intent].filter((id) => id !== undefined);
}

export async function* fileEvents(
  context: Context,
  { fromSeq, toSeq }: SeqSpan,
): AsyncGenerator<{ readonly seq: number; readonly record: FileRecord; readonly path: WorkspacePath }> {
  for await (const event of readRange(context, fromSeq + 1, toSeq)) {
    for (const { path, file } of changesOf(event)) yield { seq: event.seq, record: file, path };
  }
}

/** Consecutive own events of a path, as one change. */
export interface Group {
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
}

/** A path, the groups of its own events (oldest first), its last iteration, and its first own event. */
export interface PathGroups {
  readonly path: WorkspacePath;
  readonly groups: readonly Group[];
  /**
   * The groups that the own events alone form. Set only if `groups` has fewer groups, because events without effect
   * (`OwnEvents.between`) join some of them.
   */
  readonly apart?: readonly Group[];
  readonly last: IterationRow | undefined;
  readonly first: FirstEvent;
  /** Contents of states in `groups` that no event names. */
  readonly made?: readonly Buffer[];
}

/**
 * Returns the own events of each path as groups, in path order. Between two groups, there is at least one event that is
 * not own.
 */
export async function groupsOf(
  context: Context,
  {
    byPath,
    firsts,
    between,
    rests,
    pending = [],
  }: Pick<OwnEvents, "byPath" | "firsts" | "between" | "rests" | "pending">,
): Promise<PathGroups[]> {
  const unrecorded = new Map(pending.map((change) => [change.path, change]));
  const paths = new Set([...byPath.keys(), ...unrecorded.keys()]);
  const found: PathGroups[] = [];
  for (const path of [...paths].sort(comparePaths)) {
    const rows = await context.index.iterations(path);
    const own = new Set(byPath.get(path));
    const cancelled = between?.get(path) ?? new Set();
    const next = unrecorded.get(path);
    const states: Pick<IterationRow, "seq" | "entry">[] = [...rows];
    if (next !== undefined) {
      states.push({ seq: UNRECORDED, entry: next.after });
      own.add(UNRECORDED);
    }
    const first = firsts.get(path) ?? { seq: UNRECORDED, action: next?.action, isWritten: false };
    const left = rests?.get(path) ?? [];
    for (const { seqs } of left) for (const seq of seqs) own.delete(seq);
    const groups = groupRows(states, own, left);
    const joined = cancelled.size === 0 ? groups : groupRows(states, new Set([...own, ...cancelled]), left);
    const apart = joined.length < groups.length ? { apart: groups } : {};
    const made = left.flatMap((one) => one.made);
    found.push({ path, groups: joined, ...apart, last: rows.at(-1), first, ...(made.length === 0 ? {} : { made }) });
  }
  return found;
}

/** The seq that stands for a pending change, which has no event. This seq is later than the seq of every event. */
const UNRECORDED = Number.MAX_SAFE_INTEGER;

function groupRows(
  rows: readonly Pick<IterationRow, "seq" | "entry">[],
  own: ReadonlySet<number>,
  rests: readonly Rest[],
): Group[] {
  const groups: { before: Entry | undefined; after: Entry | undefined; at: number }[] = [];
  let isContinued = false;
  let before: Entry | undefined;
  for (const { seq, entry } of rows) {
    const isOwn = own.has(seq);
    const last = groups.at(-1);
    if (isOwn && isContinued && last !== undefined) Object.assign(last, { after: entry, at: seq });
    else if (isOwn) groups.push({ before, after: entry, at: seq });
    isContinued = isOwn;
    before = entry;
  }
  const all = rests.length === 0 ? groups : [...groups, ...rests].sort((a, b) => a.at - b.at);
  return all.map(({ before: from, after }) => ({ before: from, after }));
}

/**
 * Returns one change for each group of each path, so that other changes between two groups are not included. If a group
 * begins with the state with which the previous group ended, the two groups count as one.
 */
export function ownChanges(paths: readonly PathGroups[]): Change[] {
  return paths.flatMap(({ path, groups }) =>
    joined(groups).flatMap((one) => changeBetween(path, one.before, one.after) ?? []),
  );
}

function joined(groups: readonly Group[]): Group[] {
  const found: Group[] = [];
  for (const group of groups) {
    const last = found.at(-1);
    if (last !== undefined && sameEntry(last.after, group.before))
      found[found.length - 1] = { ...last, after: group.after };
    else found.push(group);
  }
  return found;
}

/** Returns the net change of each path: from the state before its first group to the state after its last group. */
export function netChanges(paths: readonly PathGroups[]): OwnChange[] {
  return paths.flatMap(({ path, groups, first }) => {
    const change = changeBetween(path, groups[0]?.before, groups.at(-1)?.after);
    return change === undefined ? [] : [{ ...change, first }];
  });
}
