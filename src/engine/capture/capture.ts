import { decodeIntent } from "../../core/records/records.ts";
import { type Context, isHosted } from "../log/context.ts";
import { isInBase } from "../log/read-base.ts";
import { readEvents } from "../log/read-events.ts";
import type { Change } from "../../core/values/entry.ts";
import { coverageOf, type Coverage, type Omission } from "../../core/records/coverage.ts";
import type { EventDraft, Head, SealedEvent } from "../../core/values/event.ts";
import { encodeFile, fileRecordId, type IterationCause } from "../../core/values/file-record.ts";
import type { FilterSpec } from "../../core/filter/filter.ts";
import type { Hash } from "../../core/values/hash.ts";
import { foldersAbove, type WorkspacePath } from "../../core/values/path.ts";
import type { LimitExcess } from "../../worktree/worktree.ts";
import { addAll, leastOf } from "../../util/long-lists.ts";
import type { LoggedAction } from "../facts/actions.ts";
import { type AttributedChange, attributor } from "../facts/attribution.ts";
import { rebuildingOnce } from "../log/answer.ts";
import { type AroundReturned, coverageAroundReturned, coverageDrafts } from "../facts/recorded-coverage.ts";
import { dropNotes, endDeadOffRecord } from "./off-record.ts";
import { openIntents, settle, withSettledCommit } from "./operate.ts";
import { lostInCrash, putBackLost, tellLost } from "./put-back.ts";
import { proveLast } from "../state/proved-rows.ts";
import { rootToState } from "../state/root-to-state.ts";
import {
  compare,
  type Comparison,
  isAllSettled,
  type LookOptions,
  readDisk,
  type Reading,
  settledPaths,
} from "./read-disk.ts";
import { doubtRecorded, noteRemembered } from "./remember-recorded.ts";
import { noteWhereabouts } from "./unclean-end.ts";
import { followedOrigin } from "../facts/followed-origin.ts";
import { optional } from "../../util/optional.ts";

export interface CaptureOptions extends LookOptions {
  /** The recorded cause of the changes that no open action, run, transaction or watch owns. */
  readonly cause: IterationCause;
  /**
   * True if the capture belongs to an agent's report of its work. If the caller is an agent, changes that belong to no
   * recorded work then count as a person's, because the agent has not reported them.
   */
  readonly isReported?: true;
  /** An action that is treated as open, although it was already closed or nobody was expected to finish it. */
  readonly late?: LoggedAction;
  /** A transaction to which changes may be attributed although its owner is gone. */
  readonly reopened?: string;
  /** The ids of open actions that may never have run. Default: none. */
  readonly unsure?: ReadonlySet<string>;
  /** True to return the Merkle root after the found changes. */
  readonly root?: true;
  /** Returns further events for the same commit. Called while the log is locked, even if nothing changed. */
  readonly also?: (found: Found) => Promise<readonly EventDraft[]>;
}

/** The changes and omissions that a capture is about to record after `head`. */
export interface Found {
  readonly head: Head;
  readonly changes: readonly AttributedChange[];
  readonly omitted: readonly Omission[];
  /** The seq of the last change's event. */
  readonly changesTo: number;
  /** The seq of the last event for changes and coverage. The events of `also` come after this event. */
  readonly upTo: number;
}

export interface Capture {
  readonly changes: readonly AttributedChange[];
  readonly coverage: Coverage;
  readonly filters: readonly FilterSpec[];
  readonly entries: number;
  readonly bytes: number;
  readonly exceeded: readonly LimitExcess[];
  /** The seq of the head after the capture. */
  readonly seq: number;
  /** The events that `also` returned, as sealed in the log. */
  readonly also: readonly SealedEvent[];
  /** The Merkle root after the changes. `undefined` if `root` was not set, or nothing changed. */
  readonly root: Hash | undefined;
}

/** Reads the changes on disk, and commits them. Contents become durable before the events. */
export async function capture(context: Context, options: CaptureOptions): Promise<Capture> {
  using _lease = await context.blobs.lease();
  if (options.paranoid === true) context.blobs.doubt();
  try {
    const captured = await rebuildingOnce(context, () => lookAndCommit(context, options));
    if (options.only === undefined) noteWhereabouts(context);
    return captured;
  } catch (error) {
    // A part of the changes may have been committed, and the rest must be found again. Therefore, the next scan is a
    // full one.
    context.live.giveBack(undefined);
    throw error;
  }
}

async function lookAndCommit(context: Context, options: CaptureOptions): Promise<Capture> {
  await endDeadOffRecord(context);
  const first = await captureOnce(context, options, { omitted: [], unseen: [] });
  const { report } = first.reading;
  const changes = [...first.changes];
  const omitted = [...first.reading.omitted];
  const unseen = [...unseenIn(first.reading)];
  const whole = options.only === undefined ? { filters: report.filters } : {};
  let last = first;
  let { root } = first;
  for (let only = last.contested; only.length > 0; only = last.contested) {
    await doubtRecorded(context, only);
    last = await captureOnce(context, { ...options, only }, { omitted, unseen, ...whole });
    addAll(changes, last.changes);
    root = last.root ?? root;
    addAll(omitted, last.reading.omitted);
    addAll(unseen, unseenIn(last.reading));
  }
  return {
    changes,
    coverage: coverageOf(omitted, report.unapplied),
    filters: report.filters,
    entries: report.entries,
    bytes: report.bytes,
    exceeded: report.exceeded,
    seq: last.seq,
    also: last.also,
    root,
  };
}

interface Once {
  readonly reading: Reading;
  readonly changes: readonly AttributedChange[];
  readonly seq: number;
  readonly also: readonly SealedEvent[];
  readonly root: Hash | undefined;
  /**
   * Changed paths that another operation may have recorded or written since the scan began, and that must be read
   * again.
   */
  readonly contested: readonly WorkspacePath[];
}

/** The findings of the earlier scans of the same capture. */
interface Earlier {
  readonly omitted: readonly Omission[];
  readonly unseen: readonly Omission[];
  /** The filters of the first scan, if the first scan was a full one. */
  readonly filters?: readonly FilterSpec[];
}

/**
 * Returns the omissions of paths of which no state was read. An `unstable` path changed while it was read. The omission
 * of such a path is left out if a state of the path was read nevertheless.
 */
function unseenIn({ omitted, present }: Reading): Omission[] {
  return omitted.filter(({ path, reason }) => reason !== "unstable" || !present.has(path));
}

async function captureOnce(context: Context, options: CaptureOptions, earlier: Earlier): Promise<Once> {
  for (;;) {
    const startSeq = await knownBefore(context);
    const reading = await readDisk(context, options);
    const lost = await lostInCrash(context, reading);
    if (lost.length > 0 && (await followedOrigin(context)) !== undefined) {
      if (!(await putBackLost(context, lost))) await settle(context);
      context.live.giveBack(undefined);
      continue;
    }
    const once = await commitReading(context, reading, { options, startSeq, earlier });
    if (once !== undefined) {
      tellLost(context, lost, startSeq);
      return once;
    }
    // If a crash interrupted an operation, its half-done changes on disk belong to this operation. The operation is
    // settled first, because the changes would otherwise be recorded as edits.
    await settle(context);
    context.live.giveBack(undefined);
  }
}

/**
 * Returns a seq. All states that were recorded up to this seq are on disk, except at paths that were edited since. A
 * scan that begins after this call sees these states. The seq is at most the lowest `fromSeq` of the open intents,
 * because their operations may still write files during the scan or after it.
 */
async function knownBefore(context: Context): Promise<number> {
  const { seq } = await context.index.head();
  const begun = (await openIntents(context)).map(({ intent }) => intent.fromSeq);
  return Math.min(seq, leastOf(begun));
}

interface CommitReading {
  readonly options: CaptureOptions;
  /** The last seq whose recorded states the scan has seen (see `knownBefore`). */
  readonly startSeq: number;
  readonly earlier: Earlier;
}

/**
 * Commits a reading, except for paths that another operation may have recorded or written since the scan began. Returns
 * `undefined` if the scan must be repeated: an operation was interrupted, or the off-record notes or the erased
 * contents have changed.
 */
async function commitReading(context: Context, reading: Reading, given: CommitReading): Promise<Once | undefined> {
  const { options, startSeq, earlier } = given;
  const before = await compareProved(context, reading);
  const isNothing = before.changes.length === 0 && options.also === undefined;
  if (isNothing && (await coverageOfLook(context, reading, { options, earlier, fromSeq: 0 })).length === 0) {
    remember(context, reading, { ...before, except: new Set() });
    return { reading, changes: [], seq: (await context.index.head()).seq, also: [], root: undefined, contested: [] };
  }
  return withSettledCommit(context, async (commit) => {
    // If the off-record notes, or the running work off the record, have changed since the scan, the scan may have read
    // paths that must be left out. The scan may also have left out paths that must be recorded.
    if (!isSameOffRecord(context, reading)) return undefined;
    const head = await commit.head();
    // If contents were erased or unerased since the scan, the scan may have left out the wrong paths.
    if (!(await reading.erased.isCurrent(context))) return undefined;
    const isOvertaken = head.seq > startSeq;
    const touched = new TouchedPaths(isOvertaken ? await context.index.touched(startSeq, head.seq) : []);
    const { changes, iterations, lacked } = isOvertaken ? await compareProved(context, reading) : before;
    const isUnsure = isOvertaken && changes.length > 0 && (await isSomeSkipped(context, startSeq, head.seq));
    const isContested = (change: Change): boolean => isUnsure || touched.contests(change);
    const contested = changes.filter(isContested).map((change) => change.path);
    const free = changes.filter((change) => !isContested(change));
    const ours = free.length === 0 ? [] : await attributed(context, free, { iterations, options, head });
    // If no path is contested, these changes are the last ones of the capture. Coverage and the events of `also` are
    // recorded together with the last changes.
    const isLast = contested.length === 0;
    const omitted = [...earlier.omitted, ...reading.omitted];
    const around = await aroundReturned(context, reading, { changes: ours, fromSeq: head.seq });
    const covered = isLast
      ? await coverageOfLook(context, reading, { options, earlier, fromSeq: head.seq, around })
      : [];
    const found = [...around.before, ...ours.map(draftOf), ...covered];
    const changesTo = head.seq + around.before.length + ours.length;
    const upTo = head.seq + found.length;
    const also = isLast ? ((await options.also?.({ head, changes: ours, omitted, changesTo, upTo })) ?? []) : [];
    const events = await commit.append([...found, ...also]);
    if (reading.offRecord !== undefined) await dropNotes(context, reading.offRecord.returned);
    remember(context, reading, { lacked, except: new Set([...touched.paths, ...contested]) });
    if (isAllSettled(reading)) noteRemembered(context, { from: head.seq, to: head.seq + events.length });
    const seq = head.seq + events.length;
    return {
      reading,
      changes: ours,
      seq,
      root: options.root === true && ours.length > 0 ? await rootToState(context, seq) : undefined,
      also: events.slice(found.length),
      contested,
    };
  });
}

/** The paths that other operations have recorded since a scan began. */
class TouchedPaths {
  readonly paths: ReadonlySet<WorkspacePath>;
  readonly #above: ReadonlySet<WorkspacePath>;

  constructor(paths: readonly WorkspacePath[]) {
    this.paths = new Set(paths);
    this.#above = new Set(paths.flatMap((path) => [...foldersAbove(path)]));
  }

  /**
   * Returns true if the change may contradict what the other operations recorded. There are three cases:
   * - The change is at a touched path.
   * - The change creates or modifies something beneath a touched path. The folder at the touched path may be gone.
   * - The change removes or replaces a folder above a touched path. The folder may contain something new.
   */
  contests({ path, after }: Change): boolean {
    if (this.paths.has(path) || (after?.kind !== "dir" && this.#above.has(path))) return true;
    return after !== undefined && this.paths.size > 0 && [...foldersAbove(path)].some((one) => this.paths.has(one));
  }
}

function isSameOffRecord(context: Context, { offRecord }: Reading): boolean {
  return offRecord === undefined ? context.offRecord.read() === undefined : offRecord.isCurrent;
}

/**
 * Returns the coverage events to append before and after the changes of paths that were off the record. The events
 * state that the earlier states of these paths are unknown.
 */
async function aroundReturned(
  context: Context,
  { offRecord, report }: Reading,
  { changes, fromSeq }: { readonly changes: readonly Change[]; readonly fromSeq: number },
): Promise<AroundReturned> {
  const returned = changes.map(({ path }) => path).filter((path) => offRecord?.returned.has(path));
  return coverageAroundReturned(context, { returned, filters: report.filters, fromSeq });
}

interface CoverageOfLook extends Pick<CommitReading, "options" | "earlier"> {
  readonly fromSeq: number;
  readonly around?: AroundReturned;
}

/**
 * Returns the coverage events that follow the events of the changes. After a full scan, these events record a coverage
 * that has changed. Otherwise, these events concern only paths that were off the record.
 */
async function coverageOfLook(
  context: Context,
  reading: Reading,
  { options, earlier, fromSeq, around }: CoverageOfLook,
): Promise<EventDraft[]> {
  const filters = earlier.filters ?? (options.only === undefined ? reading.report.filters : undefined);
  if (filters === undefined) return [...(around?.behind ?? [])];
  if (isHosted(context.worktree.roots)) return [];
  const omitted = [...earlier.unseen, ...unseenIn(reading)];
  return coverageDrafts(context, { filters, omitted, known: around?.known }, fromSeq);
}

async function attributed(
  context: Context,
  changes: readonly Change[],
  given: {
    readonly iterations: ReadonlyMap<WorkspacePath, number>;
    readonly options: CaptureOptions;
    readonly head: Head;
  },
): Promise<AttributedChange[]> {
  const { cause, late, reopened, unsure, isReported } = given.options;
  const attribute = await attributor(context, {
    cause,
    head: given.head,
    ...optional({ late, reopened, unsure, isReported }),
  });
  return changes.map((change) => ({
    ...change,
    by: attribute(change),
    iteration: (given.iterations.get(change.path) ?? 0) + 1,
  }));
}

/**
 * Compares a reading with the index, and proves the last iterations of the changed paths in the index against the log.
 * The next iterations continue the numbers of these iterations, and a wrong number would stay in the log for ever.
 */
async function compareProved(context: Context, reading: Reading): Promise<Comparison> {
  const compared = await compare(context, reading);
  if (compared.before.length > 0) await proveLast(context, compared.before, compared.seq);
  return compared;
}

function draftOf({ path, after, iteration, by }: AttributedChange): EventDraft {
  return {
    op: "upsert",
    recordId: fileRecordId(path),
    record: encodeFile({ entry: after, iteration, ...by }),
    recursionDepth: by.depth,
  };
}

interface Unsettled extends Pick<Comparison, "lacked"> {
  readonly except: ReadonlySet<WorkspacePath>;
}

/**
 * Makes the worktree remember the paths that did not change while they were read, and forget gone paths. A gone path
 * that is still recorded is not forgotten, because later scans must report it as gone.
 */
function remember(context: Context, reading: Reading, { lacked, except }: Unsettled): void {
  context.worktree.remember(settledPaths(reading.present, except), reading.report.startedAtNs);
  context.worktree.forget(reading.gone.filter((path) => !except.has(path) && !lacked.has(path)));
}

/** The number of events that are read from the index at once. */
const PAGE = 2_000;

/**
 * Returns true if an operation that ended after the seq `after`, and at `upTo` at the latest, skipped or reverted some
 * of its paths. Such an operation may have changed a path, and then reverted the path because something was in the way.
 * No event names such a path, but a scan may have read the state in between.
 */
async function isSomeSkipped(context: Context, after: number, upTo: number): Promise<boolean> {
  for (let from = after + 1; from <= upTo; from += PAGE) {
    const rows = await context.index.events({ from, to: Math.min(upTo, from + PAGE - 1) });
    const ends = rows.filter((row) => !row.open && row.recordId.startsWith("intent:") && !isInBase(row));
    for (const { record } of await readEvents(context, ends)) {
      const { state, skipped = 0 } = decodeIntent(record);
      if (state === "abandoned" || skipped > 0) return true;
    }
  }
  return false;
}
