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
import type { LimitExcess, ScanReport } from "../worktree/worktree.ts";
import type { LoggedAction } from "./actions.ts";
import { type AttributedChange, attributor } from "./attribution.ts";
import { withCommit } from "./commit.ts";
import type { Context, IngestResult } from "./context.ts";
import { openIntents, settle } from "./operate.ts";
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
  try {
    return await lookAndCommit(context, options);
  } catch (error) {
    // Nobody knows what was recorded of it: the next look is at everything.
    context.live.giveBack(undefined);
    throw error;
  }
}

async function lookAndCommit(context: Context, options: CaptureOptions): Promise<Capture> {
  const first = await captureOnce(context, options, []);
  const changes = [...first.changes];
  const omitted = [...first.reading.omitted];
  let last = first;
  for (let only = last.contested; only.length > 0; only = last.contested) {
    context.worktree.forget(only);
    last = await captureOnce(context, { ...options, only }, omitted);
    changes.push(...last.changes);
    omitted.push(...last.reading.omitted);
  }
  const { report } = first.reading;
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

async function captureOnce(context: Context, options: CaptureOptions, earlier: readonly Omission[]): Promise<Once> {
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
  const { onProgress } = options;
  const present = new ReadTable();
  const gone: WorkspacePath[] = [];
  const omitted: Omission[] = [];
  const run = context.ingest.begin({
    hashOnly: options.hashOnly ?? false,
    onResult: (result) => take(result, { present, gone, omitted }),
  });
  try {
    const report = await context.worktree.scan(
      {
        ...(options.paranoid === undefined ? {} : { paranoid: options.paranoid }),
        ...(options.only === undefined ? {} : { only: options.only }),
        ...(options.named === undefined ? {} : { named: options.named }),
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
    if (gone.length > 0) await context.worktree.scan({ only: [] }, () => undefined);
    return { report, present, gone: [...report.gone, ...gone], omitted: [...report.omitted, ...omitted] };
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
    present.push(result);
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
  /** What looks before this one could not take. */
  readonly earlier: readonly Omission[];
}

/**
 * Commits what was read, but for paths that others have recorded since the scan began (or put in place). `undefined`: an operation was
 * interrupted, and is to be finished before anything is recorded.
 */
async function commitReading(context: Context, reading: Reading, given: CommitReading): Promise<Once | undefined> {
  const { options, startSeq } = given;
  const before = await compare(context, reading);
  if (before.changes.length === 0 && options.also === undefined) {
    remember(context, reading, new Set());
    return { reading, changes: [], seq: (await context.index.head()).seq, also: [], contested: [] };
  }
  return withCommit(context, async (commit) => {
    // With the lock held, nobody is at work on them.
    if ((await openIntents(context)).length > 0) return undefined;
    const head = await commit.head();
    const isOvertaken = head.seq > startSeq;
    const touched = new Set(isOvertaken ? await context.index.touched(startSeq, head.seq) : []);
    const { changes, iterations } = isOvertaken ? await compare(context, reading) : before;
    const isUnsure = isOvertaken && changes.length > 0 && (await isSomeTakenBack(context, startSeq, head.seq));
    const isContested = ({ path }: Change): boolean => isUnsure || touched.has(path);
    const contested = changes.filter(isContested).map((change) => change.path);
    const free = changes.filter((change) => !isContested(change));
    const ours = free.length === 0 ? [] : await attributed(context, free, { iterations, options, head });
    // Looked at again first: what goes along with the changes is recorded with the last of them.
    const isLast = contested.length === 0;
    const omitted = [...given.earlier, ...reading.omitted];
    const also = isLast ? ((await options.also?.({ head, changes: ours, omitted })) ?? []) : [];
    const events = await commit.append([...ours.map(draftOf), ...also]);
    remember(context, reading, new Set([...touched, ...contested]));
    if (isAllSettled(reading)) noteRemembered(context, { from: head.seq, to: head.seq + events.length });
    return { reading, changes: ours, seq: head.seq + events.length, also: events.slice(ours.length), contested };
  });
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
}

/** Paths that are compared at once. */
const COMPARE = 8_192;

/** What was read against what is recorded. */
export async function compare(context: Context, { present, gone }: Reading): Promise<Comparison> {
  const { seq } = await context.index.head();
  const changes: Change[] = [];
  const iterations = new Map<WorkspacePath, number>();
  const consider = async (paths: readonly WorkspacePath[], now: (at: number) => Entry | undefined): Promise<void> => {
    if (paths.length === 0) return;
    const recorded = await context.index.iterationsAt(paths, seq);
    paths.forEach((path, i) => {
      const row = recorded[i];
      const change = changeBetween(path, row?.entry, now(i));
      if (change === undefined) return;
      changes.push(change);
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
  return { changes, iterations };
}

function draftOf({ path, after, iteration, by }: AttributedChange): EventDraft {
  return { op: "upsert", recordId: fileRecordId(path), record: encodeFile({ entry: after, iteration, ...by }) };
}

function remember(context: Context, reading: Reading, except: ReadonlySet<WorkspacePath>): void {
  context.worktree.remember(settledPaths(reading.present, except));
  context.worktree.forget(reading.gone);
}

/** Does the worktree now know all that was read? What was unstable is to be read again. */
export function isAllSettled({ omitted }: Reading): boolean {
  return omitted.every((one) => one.reason !== "unstable");
}

/** What was read whole, and may be trusted at the next look. */
export function* settledPaths(present: ReadTable, except: ReadonlySet<WorkspacePath> = new Set()): Generator<ReadPath> {
  for (const one of present.sortedValues()) if (!one.unstable && !except.has(one.entry.path)) yield one;
}
