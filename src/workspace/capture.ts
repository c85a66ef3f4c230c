import type { Progress } from "../api/workspace-api.ts";
import { changeBetween } from "../core/plan.ts";
import type { Change } from "../core/change.ts";
import { coverageOf, type Coverage, type Omission } from "../core/coverage.ts";
import { SYMLINK_MODE, type Entry } from "../core/entry.ts";
import type { EventDraft } from "../core/event.ts";
import { encodeFile, fileRecordId, type IterationCause } from "../core/file-record.ts";
import type { FilterSpec } from "../core/filter.ts";
import { sha256 } from "../core/hash.ts";
import { comparePaths, type WorkspacePath } from "../core/path.ts";
import type { FileStat } from "../disk/disk.ts";
import type { LimitExcess, ScanReport } from "../worktree/worktree.ts";
import { attribute, type Attribution } from "./attribution.ts";
import { withCommit } from "./commit.ts";
import type { Context, IngestResult } from "./context.ts";
import { ReadTable, type ReadPath } from "./read-table.ts";
import { rememberRecorded } from "./remember-recorded.ts";

/** Records what changed on disk since it was last looked at. */

export interface CaptureOptions {
  /** What it is recorded as, unless a session is going on. */
  readonly cause: IterationCause;
  readonly paranoid?: boolean;
  /** Look only here (hints of a watcher). Default: everywhere. */
  readonly only?: readonly WorkspacePath[];
  /** Only look: hash, store nothing. */
  readonly hashOnly?: boolean;
  readonly onProgress?: (progress: Progress) => void;
}

/** What a capture found and recorded. */
export interface Capture {
  readonly changes: readonly Change[];
  readonly coverage: Coverage;
  readonly filters: readonly FilterSpec[];
  readonly entries: number;
  readonly bytes: number;
  readonly exceeded: readonly LimitExcess[];
  /** The head after it. */
  readonly seq: number;
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

/** How often paths that another process recorded meanwhile are looked at again. */
const MAX_ROUNDS = 3;

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
  const startSeq = (await context.index.head()).seq;
  const reading = await readDisk(context, options);
  const changes: Change[] = [];
  let seq = startSeq;
  let contested: readonly WorkspacePath[] = await commitReading(context, reading, {
    options,
    startSeq,
    onCommitted: (done, head) => {
      changes.push(...done);
      seq = head;
    },
  });
  for (let round = 1; contested.length > 0 && round < MAX_ROUNDS; round += 1) {
    context.worktree.forget(contested);
    const again = await capture(context, { ...options, only: contested });
    changes.push(...again.changes);
    seq = again.seq;
    contested = [];
  }
  context.live.giveBack(contested);
  const { report } = reading;
  const coverage = coverageOf(reading.omitted);
  return {
    changes,
    coverage,
    filters: report.filters,
    entries: report.entries,
    bytes: report.bytes,
    exceeded: report.exceeded,
    seq,
  };
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
        onProgress: (paths) => onProgress?.({ phase: "scan", done: paths, total: 0, unit: "paths" }),
      },
      (batch) => {
        for (const { path, stat } of batch) {
          if (stat.kind === "dir") present.push({ entry: folderEntry(path, stat), stat, unstable: false });
        }
        return run.add(batch);
      },
    );
    await run.finish((bytes) => onProgress?.({ phase: "capture", done: bytes, total: report.bytes, unit: "bytes" }));
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
  readonly startSeq: number;
  readonly onCommitted: (changes: readonly Change[], seq: number) => void;
}

/** Commits what was read; returns the paths that others have recorded since the scan began: they must be read again. */
async function commitReading(
  context: Context,
  reading: Reading,
  given: CommitReading,
): Promise<readonly WorkspacePath[]> {
  const before = await compare(context, reading);
  if (before.changes.length === 0) {
    remember(context, reading, new Set());
    given.onCommitted([], (await context.index.head()).seq);
    return [];
  }
  return withCommit(context, async (commit) => {
    const head = await commit.head();
    const contested = new Set(head.seq > given.startSeq ? await context.index.touched(given.startSeq, head.seq) : []);
    const { changes, iterations } = head.seq > given.startSeq ? await compare(context, reading) : before;
    const ours = changes.filter((change) => !contested.has(change.path));
    const attribution = await attribute(context, given.options.cause);
    const drafts = ours.map((change) => draftOf(change, (iterations.get(change.path) ?? 0) + 1, attribution));
    await commit.append(drafts);
    remember(context, reading, contested);
    given.onCommitted(ours, head.seq + ours.length);
    return changes.filter((change) => contested.has(change.path)).map((change) => change.path);
  });
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

function draftOf(change: Change, iteration: number, attribution: Attribution): EventDraft {
  return {
    op: "upsert",
    recordId: fileRecordId(change.path),
    record: encodeFile({ entry: change.after, iteration, ...attribution }),
  };
}

function remember(context: Context, reading: Reading, except: ReadonlySet<WorkspacePath>): void {
  context.worktree.remember(settledPaths(reading.present, except));
  context.worktree.forget(reading.gone);
}

/** What was read whole, and may be trusted at the next look. */
export function* settledPaths(present: ReadTable, except: ReadonlySet<WorkspacePath> = new Set()): Generator<ReadPath> {
  for (const one of present.sortedValues()) if (!one.unstable && !except.has(one.entry.path)) yield one;
}
