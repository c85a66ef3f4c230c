import type { Progress } from "../api/workspace-api.ts";
import { changeBetween } from "../core/plan.ts";
import type { Change } from "../core/change.ts";
import { coverageOf, type Coverage, type Omission } from "../core/coverage.ts";
import { SYMLINK_MODE, type Entry } from "../core/entry.ts";
import type { EventDraft, Head, SealedEvent } from "../core/event.ts";
import { encodeFile, fileRecordId, type IterationCause } from "../core/file-record.ts";
import type { FilterSpec } from "../core/filter.ts";
import { sha256 } from "../core/hash.ts";
import { comparePaths, type WorkspacePath } from "../core/path.ts";
import type { FileStat } from "../disk/disk.ts";
import type { IterationRow } from "../storage/index-store.ts";
import type { LimitExcess, ScanReport, ScanRequest } from "../worktree/worktree.ts";
import type { LoggedAction } from "./actions.ts";
import { type AttributedChange, attributor } from "./attribution.ts";
import { rebuildingOnce } from "./answer.ts";
import { withCommit } from "./commit.ts";
import type { Context, IngestResult } from "./context.ts";
import { coverageDrafts } from "./coverage-in-log.ts";
import { isHosted } from "./hosted.ts";
import { openIntents, settle } from "./operate.ts";
import { proveLast } from "./proved-rows.ts";
import { refuseBatchOverQuota } from "./quota.ts";
import { ReadTable, type ReadPath } from "./read-table.ts";
import { noteRemembered, rememberRecorded } from "./remember-recorded.ts";
import { isSomeTakenBack } from "./taken-back.ts";

/** Records what changed on disk since it was last looked at. */

export interface CaptureOptions {
  /** What it is recorded as, unless a session is going on. */
  readonly cause: IterationCause;
  readonly paranoid?: boolean;
  /** Look only here (hints of a watcher). Default: everywhere. */
  readonly only?: readonly WorkspacePath[];
  /** Take what is at and beneath `only` although a filter keeps it out. */
  readonly named?: boolean;
  /** An action that counts as open for whose work the changes are, though it is closed. */
  readonly late?: LoggedAction;
  /** A transaction to which changes may belong although its owner is gone. */
  readonly reopened?: string;
  /** What else is recorded in the same commit, whether anything changed or not; asked with the lock held. */
  readonly also?: (found: Found) => Promise<readonly EventDraft[]>;
  /** The meaning of a missing tracked folder (see `ScanRequest`). */
  readonly absentRoot?: ScanRequest["absentRoot"];
  /** Only look: hash, store nothing. */
  readonly hashOnly?: boolean;
  /** What is kept so that something else can be gone back to may go beyond the quota, by a reserve. */
  readonly reserve?: boolean;
  readonly onProgress?: (progress: Progress) => void;
}

/** What a capture is about to record: these changes follow the head. */
export interface Found {
  readonly head: Head;
  readonly changes: readonly AttributedChange[];
  readonly omitted: readonly Omission[];
  /** The last event of what was found: what is recorded with it stands behind that. */
  readonly upTo: number;
}

/** What a capture found and recorded. */
export interface Capture {
  readonly changes: readonly AttributedChange[];
  readonly coverage: Coverage;
  readonly filters: readonly FilterSpec[];
  readonly entries: number;
  readonly bytes: number;
  readonly exceeded: readonly LimitExcess[];
  /** The head after it. */
  readonly seq: number;
  /** What `also` gave, as it stands in the log. */
  readonly also: readonly SealedEvent[];
}

/** Everything on disk that a scan handed over, read. */
export interface Reading {
  readonly report: ScanReport;
  /** Present paths, with the entry now on disk. */
  readonly present: ReadTable;
  /** Paths that are not there (any more). */
  readonly gone: readonly WorkspacePath[];
  readonly omitted: readonly Omission[];
}

/** Captures and commits. Contents are durable before the events are. */
export async function capture(context: Context, options: CaptureOptions): Promise<Capture> {
  using _lease = await context.blobs.lease();
  if (options.paranoid === true) context.blobs.doubt();
  try {
    return await rebuildingOnce(context, () => lookAndCommit(context, options));
  } catch (error) {
    // Nobody knows what was recorded of it: the next look is at everything.
    context.live.giveBack(undefined);
    throw error;
  }
}

async function lookAndCommit(context: Context, options: CaptureOptions): Promise<Capture> {
  const first = await captureOnce(context, options, { omitted: [], unseen: [] });
  const { report } = first.reading;
  const changes = [...first.changes];
  const omitted = [...first.reading.omitted];
  const unseen = [...unseenIn(first.reading)];
  const whole = options.only === undefined ? { filters: report.filters } : {};
  let last = first;
  for (let only = last.contested; only.length > 0; only = last.contested) {
    context.worktree.forget(only);
    last = await captureOnce(context, { ...options, only }, { omitted, unseen, ...whole });
    changes.push(...last.changes);
    omitted.push(...last.reading.omitted);
    unseen.push(...unseenIn(last.reading));
  }
  return {
    changes,
    coverage: coverageOf(omitted),
    filters: report.filters,
    entries: report.entries,
    bytes: report.bytes,
    exceeded: report.exceeded,
    seq: last.seq,
    also: last.also,
  };
}

/** One look and one commit. */
interface Once {
  readonly reading: Reading;
  readonly changes: readonly AttributedChange[];
  /** The head after it. */
  readonly seq: number;
  readonly also: readonly SealedEvent[];
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
    const once = await commitReading(context, reading, { options, startSeq, earlier });
    if (once !== undefined) return once;
    // What a crash has left half done on disk is that operation's: it would be recorded as somebody's edit.
    await settle(context);
    context.live.giveBack(undefined);
  }
}

/**
 * Up to which event what is recorded was on disk before a look that begins now, but for later edits: what an open intent has
 * recorded may be put into the folder during it, or behind it.
 */
async function knownBefore(context: Context): Promise<number> {
  const { seq } = await context.index.head();
  const begun = (await openIntents(context)).map(({ intent }) => intent.fromSeq);
  return Math.min(seq, ...begun);
}

/** Looks at the disk: everywhere, or, where a watcher tells, only where something may have changed. */
export async function readDisk(context: Context, options: Omit<CaptureOptions, "cause">): Promise<Reading> {
  await rememberRecorded(context);
  const { live } = context;
  if (!live.started || options.only !== undefined) return scanAndRead(context, options);
  const taken = options.paranoid === true ? undefined : await live.take();
  try {
    const reading = await scanAndRead(context, taken === undefined ? options : { ...options, only: taken });
    const omitted = live.looked({ only: taken, omitted: reading.omitted });
    // What was only looked at is still to be recorded.
    if (options.hashOnly === true) live.giveBack([...reading.present.paths, ...reading.gone]);
    return { ...reading, omitted };
  } catch (error) {
    live.giveBack(taken);
    throw error;
  }
}

/** Scans, and reads what the scan hands over, at the same time. */
async function scanAndRead(context: Context, options: Omit<CaptureOptions, "cause">): Promise<Reading> {
  const { onProgress, absentRoot } = options;
  const absent = absentRoot === undefined ? {} : { absentRoot };
  const present = new ReadTable();
  const gone: WorkspacePath[] = [];
  const omitted: Omission[] = [];
  const run = context.ingest.begin({
    hashOnly: options.hashOnly ?? false,
    known: (path) => context.worktree.recall(path) !== undefined,
    onResult: (result) => take(result, { present, gone, omitted }),
  });
  try {
    const report = await context.worktree.scan(
      {
        ...(options.paranoid === undefined ? {} : { paranoid: options.paranoid }),
        ...(options.only === undefined ? {} : { only: options.only }),
        ...(options.named === undefined ? {} : { named: options.named }),
        ...absent,
        onProgress: (paths) => onProgress?.({ phase: "scan", done: paths, total: 0, unit: "paths" }),
      },
      async (batch) => {
        for (const { path, stat } of batch) {
          if (stat.kind === "dir") present.push({ entry: folderEntry(path, stat), stat, unstable: false });
        }
        if (options.hashOnly !== true) await refuseBatchOverQuota(context, batch, options);
        return run.add(batch);
      },
    );
    await run.finish((bytes) => onProgress?.({ phase: "capture", done: bytes, total: report.bytes, unit: "bytes" }));
    // What could not be read because its folder was moved away meanwhile is not gone: a look at nothing says so.
    if (gone.length > 0) await context.worktree.scan({ only: [], ...absent }, () => undefined);
    return { report, present, gone: [...new Set([...report.gone, ...gone])], omitted: [...report.omitted, ...omitted] };
  } catch (error) {
    await run.abandon();
    throw error;
  }
}

interface Taken {
  readonly present: ReadTable;
  readonly gone: WorkspacePath[];
  readonly omitted: Omission[];
}

function take(result: IngestResult, { present, gone, omitted }: Taken): void {
  if ("entry" in result) {
    present.push({ ...result, unstable: result.unstable || result.isMoving === true });
    if (result.unstable)
      omitted.push({ path: result.path, reason: "unstable", detail: "it changed while it was read" });
  } else if ("omission" in result) omitted.push(result.omission);
  else gone.push(result.path);
}

/** The entry of a folder. */
function folderEntry(path: WorkspacePath, stat: FileStat): Entry {
  return { path, kind: "dir", mode: stat.mode, size: 0, mtimeMs: 0, hash: undefined };
}

/** The entry of a symlink with this target. */
export function linkEntry(path: WorkspacePath, stat: FileStat, target: Uint8Array): Entry {
  const mtimeMs = Number(stat.mtimeNs / 1_000_000n);
  return { path, kind: "symlink", mode: SYMLINK_MODE, size: target.length, mtimeMs, hash: sha256(target) };
}

interface CommitReading {
  readonly options: CaptureOptions;
  /** Up to here the scan has seen what is recorded: the head when it began, or where an intent was that was open then. */
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
    remember(context, reading, new Set());
    return { reading, changes: [], seq: (await context.index.head()).seq, also: [], contested: [] };
  }
  return withCommit(context, async (commit) => {
    // With the lock held, nobody is at work on them.
    if ((await openIntents(context)).length > 0) return undefined;
    const head = await commit.head();
    const isOvertaken = head.seq > startSeq;
    const touched = new Set(isOvertaken ? await context.index.touched(startSeq, head.seq) : []);
    const { changes, iterations } = isOvertaken ? await compareProved(context, reading) : before;
    const isUnsure = isOvertaken && changes.length > 0 && (await isSomeTakenBack(context, startSeq, head.seq));
    const isContested = ({ path }: Change): boolean => isUnsure || touched.has(path);
    const contested = changes.filter(isContested).map((change) => change.path);
    const free = changes.filter((change) => !isContested(change));
    const ours = free.length === 0 ? [] : await attributed(context, free, { iterations, options, head });
    // Looked at again first: what goes along with the changes is recorded with the last of them.
    const isLast = contested.length === 0;
    const omitted = [...earlier.omitted, ...reading.omitted];
    const covered = isLast ? await coverageOfLook(context, reading, { options, earlier, fromSeq: head.seq }) : [];
    const upTo = head.seq + ours.length + covered.length;
    const also = isLast ? ((await options.also?.({ head, changes: ours, omitted, upTo })) ?? []) : [];
    const events = await commit.append([...ours.map(draftOf), ...covered, ...also]);
    remember(context, reading, new Set([...touched, ...contested]));
    if (isAllSettled(reading)) noteRemembered(context, { from: head.seq, to: head.seq + events.length });
    return {
      reading,
      changes: ours,
      seq: head.seq + events.length,
      also: events.slice(ours.length + covered.length),
      contested,
    };
  });
}

/** The event that says what a look at everything took, where that has changed. It stands behind what the look found. */
async function coverageOfLook(
  context: Context,
  reading: Reading,
  { options, earlier, fromSeq }: Pick<CommitReading, "options" | "earlier"> & { readonly fromSeq: number },
): Promise<EventDraft[]> {
  const filters = earlier.filters ?? (options.only === undefined ? reading.report.filters : undefined);
  if (filters === undefined || isHosted(context.worktree.roots)) return [];
  return coverageDrafts(context, { filters, omitted: [...earlier.unseen, ...unseenIn(reading)] }, fromSeq);
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
  const { cause, late, reopened } = given.options;
  const attribute = await attributor(context, {
    cause,
    head: given.head,
    ...(late === undefined ? {} : { late }),
    ...(reopened === undefined ? {} : { reopened }),
  });
  return changes.map((change) => ({
    ...change,
    by: attribute(change),
    iteration: (given.iterations.get(change.path) ?? 0) + 1,
  }));
}

interface Comparison {
  readonly changes: readonly Change[];
  /** The number of the last iteration of each changed path. */
  readonly iterations: ReadonlyMap<WorkspacePath, number>;
  /** The index's row of each changed path, and the event as of which it holds. */
  readonly before: readonly { readonly path: WorkspacePath; readonly row: IterationRow | undefined }[];
  readonly seq: number;
}

/** As `compare`, proved: what is recorded next goes on from it, and a wrong number would stand in the log for ever. */
async function compareProved(context: Context, reading: Reading): Promise<Comparison> {
  const compared = await compare(context, reading);
  if (compared.before.length > 0) await proveLast(context, compared.before, compared.seq);
  return compared;
}

/** Paths that are compared at once. */
const COMPARE = 8_192;

/** What was read against what is recorded. */
export async function compare(context: Context, { present, gone }: Reading): Promise<Comparison> {
  const { seq } = await context.index.head();
  const changes: Change[] = [];
  const iterations = new Map<WorkspacePath, number>();
  const before: { path: WorkspacePath; row: IterationRow | undefined }[] = [];
  const consider = async (paths: readonly WorkspacePath[], now: (at: number) => Entry | undefined): Promise<void> => {
    if (paths.length === 0) return;
    const recorded = await context.index.iterationsAt(paths, seq);
    paths.forEach((path, i) => {
      const row = recorded[i];
      const change = changeBetween(path, row?.entry, now(i));
      if (change === undefined) return;
      changes.push(change);
      before.push({ path, row });
      iterations.set(path, row?.iteration ?? 0);
    });
  };
  for (let from = 0; from < present.size; from += COMPARE) {
    await consider(present.paths.slice(from, from + COMPARE), (i) => present.entryAt(from + i));
  }
  await consider(
    gone.filter((path) => !present.has(path)),
    () => undefined,
  );
  changes.sort((a, b) => comparePaths(a.path, b.path));
  return { changes, iterations, before, seq };
}

function draftOf({ path, after, iteration, by }: AttributedChange): EventDraft {
  return {
    op: "upsert",
    recordId: fileRecordId(path),
    record: encodeFile({ entry: after, iteration, ...by }),
    recursionDepth: by.depth,
  };
}

function remember(context: Context, reading: Reading, except: ReadonlySet<WorkspacePath>): void {
  context.worktree.remember(settledPaths(reading.present, except));
  context.worktree.forget(reading.gone);
}

/** Does the worktree now know all that was read? What was unstable is to be read again. */
export function isAllSettled({ omitted, present }: Reading): boolean {
  return present.isSettled && omitted.every((one) => one.reason !== "unstable");
}

/** What was read whole, and may be trusted at the next look. */
export function* settledPaths(present: ReadTable, except: ReadonlySet<WorkspacePath> = new Set()): Generator<ReadPath> {
  for (const one of present.sortedValues()) if (!one.unstable && !except.has(one.entry.path)) yield one;
}
