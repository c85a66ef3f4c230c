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
import type { WorkspacePath } from "../../core/values/path.ts";
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

/** Events that are searched at once. */
const PAGE = 2_000;

/**
 * Whether an operation that ended in (after, upTo] skipped or reverted some of its paths. It may have changed them and
 * taken that back when something blocked it: no event says which paths, and a scan in between saw states that nobody
 * left there.
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

/** Records what changed on disk since the last scan. */

export interface CaptureOptions extends LookOptions {
  /** The cause that the changes are recorded with, unless a session is open. */
  readonly cause: IterationCause;
  /** A closed action that counts as open when changes are attributed. */
  readonly late?: LoggedAction;
  /** A transaction to which changes may belong although its owner is gone. */
  readonly reopened?: string;
  /** Open actions that may never have run. */
  readonly unsure?: ReadonlySet<string>;
  /** True if the Merkle root behind changes that are found is wanted. */
  readonly root?: true;
  /** Returns further events for the same commit, also if nothing changed. Called with the lock held. */
  readonly also?: (found: Found) => Promise<readonly EventDraft[]>;
}

/** The changes that a capture is about to record; they follow the head. */
export interface Found {
  readonly head: Head;
  readonly changes: readonly AttributedChange[];
  readonly omitted: readonly Omission[];
  /** The last event of a change. */
  readonly changesTo: number;
  /** The last event of what was found: what is recorded with it stands behind that. */
  readonly upTo: number;
}

/** The result of a capture. */
export interface Capture {
  readonly changes: readonly AttributedChange[];
  readonly coverage: Coverage;
  readonly filters: readonly FilterSpec[];
  readonly entries: number;
  readonly bytes: number;
  readonly exceeded: readonly LimitExcess[];
  /** The head after it. */
  readonly seq: number;
  /** The events that `also` returned, as sealed in the log. */
  readonly also: readonly SealedEvent[];
  /** The Merkle root behind the changes, if it was wanted and there are any. */
  readonly root: Hash | undefined;
}

/** Captures and commits. Contents are durable before the events are. */
export async function capture(context: Context, options: CaptureOptions): Promise<Capture> {
  using _lease = await context.blobs.lease();
  if (options.paranoid === true) context.blobs.doubt();
  try {
    const captured = await rebuildingOnce(context, () => lookAndCommit(context, options));
    if (options.only === undefined) noteWhereabouts(context);
    return captured;
  } catch (error) {
    // We cannot tell how much was committed, so the next scan is a full one.
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

/** The data of one scan and one commit. */
interface Once {
  readonly reading: Reading;
  readonly changes: readonly AttributedChange[];
  /** The head after it. */
  readonly seq: number;
  readonly also: readonly SealedEvent[];
  readonly root: Hash | undefined;
  /** Paths that others have recorded since the scan began, or have just put in place: they must be read again. */
  readonly contested: readonly WorkspacePath[];
}

/** The paths that earlier scans could not take. */
interface Earlier {
  readonly omitted: readonly Omission[];
  readonly unseen: readonly Omission[];
  /** The filters of the first look, if that was at everything. */
  readonly filters?: readonly FilterSpec[];
}

/** The paths that a scan could not take and does not know. A path that changed while it was read is recorded all the same. */
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
    // Changes that a crash left half done on disk belong to the interrupted operation. Settle it first, or they would
    // be recorded as somebody's edit.
    await settle(context);
    context.live.giveBack(undefined);
  }
}

/**
 * Returns the last seq whose recorded state was on disk before a scan that begins now, but for later edits. Open
 * intents cap it: their recorded states may be put into the folder during the scan, or after it.
 */
async function knownBefore(context: Context): Promise<number> {
  const { seq } = await context.index.head();
  const begun = (await openIntents(context)).map(({ intent }) => intent.fromSeq);
  return Math.min(seq, leastOf(begun));
}

interface CommitReading {
  readonly options: CaptureOptions;
  /**
   * The last seq whose recorded state the scan has seen: the head when it began, or the place of an intent that was
   * open then.
   */
  readonly startSeq: number;
  readonly earlier: Earlier;
}

/**
 * Commits what was read, but for paths that others have recorded since the scan began (or put in place). `undefined`: an operation was
 * interrupted, and is to be finished before anything is recorded.
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
    // If off-record notes or sessions have changed since the scan, it may have read paths that must stay out, or left
    // out paths that must not.
    if (!isSameOffRecord(context, reading)) return undefined;
    const head = await commit.head();
    // If contents were erased or brought back since, the scan has left out the wrong paths.
    if (!(await reading.erased.isCurrent(context))) return undefined;
    const isOvertaken = head.seq > startSeq;
    const touched = new Set(isOvertaken ? await context.index.touched(startSeq, head.seq) : []);
    const { changes, iterations, lacked } = isOvertaken ? await compareProved(context, reading) : before;
    const isUnsure = isOvertaken && changes.length > 0 && (await isSomeSkipped(context, startSeq, head.seq));
    const isContested = ({ path }: Change): boolean => isUnsure || touched.has(path);
    const contested = changes.filter(isContested).map((change) => change.path);
    const free = changes.filter((change) => !isContested(change));
    const ours = free.length === 0 ? [] : await attributed(context, free, { iterations, options, head });
    // Looked at again first: what goes along with the changes is recorded with the last of them.
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
    remember(context, reading, { lacked, except: new Set([...touched, ...contested]) });
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

/** True if the off-record notes are still as they were at the scan. */
function isSameOffRecord(context: Context, { offRecord }: Reading): boolean {
  return offRecord === undefined ? context.offRecord.read() === undefined : offRecord.isCurrent;
}

/**
 * Returns the coverage before and after changes of paths that were off the record: their earlier states are unknown.
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

/** Returns the event for what a full scan took, if that has changed. It follows the events for what the scan found. */
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
  const { cause, late, reopened, unsure } = given.options;
  const attribute = await attributor(context, {
    cause,
    head: given.head,
    ...optional({ late, reopened, unsure }),
  });
  return changes.map((change) => ({
    ...change,
    by: attribute(change),
    iteration: (given.iterations.get(change.path) ?? 0) + 1,
  }));
}

/** As `compare`, proved: what is recorded next goes on from it, and a wrong number would stand in the log for ever. */
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

/** The paths that a scan has not settled. */
interface Unsettled extends Pick<Comparison, "lacked"> {
  /** Paths that are scanned again. */
  readonly except: ReadonlySet<WorkspacePath>;
}

/** Forgets only paths that are no longer recorded: for the others, it could not be seen later that they are gone. */
function remember(context: Context, reading: Reading, { lacked, except }: Unsettled): void {
  context.worktree.remember(settledPaths(reading.present, except), reading.report.startedAtNs);
  context.worktree.forget(reading.gone.filter((path) => !except.has(path) && !lacked.has(path)));
}
