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
import type { IterationRow } from "../storage/index-store.ts";
import type { KnownPath, LimitExcess, ScannedPath, ScanReport } from "../worktree/worktree.ts";
import { withCommit } from "./commit.ts";
import type { Context, IngestResult } from "./context.ts";
import { rememberRecorded } from "./remember-recorded.ts";

/** Records what changed on disk since it was last looked at. */

export interface CaptureOptions {
  readonly cause: IterationCause;
  readonly session?: string;
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
  readonly present: ReadonlyMap<WorkspacePath, ReadPath>;
  /** Paths that are not there (any more). */
  readonly gone: readonly WorkspacePath[];
  readonly omitted: readonly Omission[];
}

export interface ReadPath extends KnownPath {
  readonly unstable: boolean;
}

/** How often paths that another process recorded meanwhile are looked at again. */
const MAX_ROUNDS = 3;

/** Captures and commits. Contents are durable before the events are. */
export async function capture(context: Context, options: CaptureOptions): Promise<Capture> {
  using _lease = await context.blobs.lease();
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

/** Scans, and reads what the scan hands over, at the same time. */
export async function readDisk(context: Context, options: Omit<CaptureOptions, "cause">): Promise<Reading> {
  await rememberRecorded(context);
  const run = context.ingest.begin({ hashOnly: options.hashOnly ?? false });
  const found: ScannedPath[] = [];
  try {
    const report = await context.worktree.scan(
      {
        ...(options.paranoid === undefined ? {} : { paranoid: options.paranoid }),
        ...(options.only === undefined ? {} : { only: options.only }),
        onProgress: (paths) => options.onProgress?.({ phase: "scan", done: paths, total: 0, unit: "paths" }),
      },
      (batch) => {
        for (const one of batch) found.push(one);
        run.add(batch);
      },
    );
    const results = await run.finish((bytes) =>
      options.onProgress?.({ phase: "capture", done: bytes, total: report.bytes, unit: "bytes" }),
    );
    return assemble(report, found, results);
  } catch (error) {
    await run.abandon();
    throw error;
  }
}

function assemble(report: ScanReport, found: readonly ScannedPath[], results: readonly IngestResult[]): Reading {
  const present = new Map<WorkspacePath, ReadPath>();
  for (const { path, stat } of found) {
    if (stat.kind === "dir") present.set(path, { entry: folderEntry(path, stat), stat, unstable: false });
  }
  const gone: WorkspacePath[] = [...report.gone];
  const omitted: Omission[] = [...report.omitted];
  for (const result of results) {
    if ("entry" in result) {
      present.set(result.path, { entry: result.entry, stat: result.stat, unstable: result.unstable });
      if (result.unstable)
        omitted.push({ path: result.path, reason: "unstable", detail: "it changed while it was read" });
    } else if ("omission" in result) omitted.push(result.omission);
    else gone.push(result.path);
  }
  return { report, present, gone, omitted };
}

/** The entry of a folder. */
export function folderEntry(path: WorkspacePath, stat: FileStat): Entry {
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
    await commit.append(ours.map((change) => draftOf(context, change, { ...given.options, iterations })));
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

/** What was read against what is recorded. */
export async function compare(context: Context, reading: Reading): Promise<Comparison> {
  const { seq } = await context.index.head();
  const paths = [...reading.present.keys()];
  const recorded = await context.index.iterationsAt(paths, seq);
  const changes: Change[] = [];
  const iterations = new Map<WorkspacePath, number>();
  const consider = (path: WorkspacePath, row: IterationRow | undefined, now: Entry | undefined): void => {
    const change = changeBetween(path, row?.entry, now);
    if (change === undefined) return;
    changes.push(change);
    iterations.set(path, row?.iteration ?? 0);
  };
  paths.forEach((path, i) => consider(path, recorded[i], reading.present.get(path)?.entry));
  const gone = reading.gone.filter((path) => !reading.present.has(path));
  const last = await context.index.iterationsAt(gone, seq);
  gone.forEach((path, i) => consider(path, last[i], undefined));
  changes.sort((a, b) => comparePaths(a.path, b.path));
  return { changes, iterations };
}

function draftOf(
  context: Context,
  change: Change,
  given: CaptureOptions & { readonly iterations: ReadonlyMap<WorkspacePath, number> },
): EventDraft {
  const { cause, session, iterations } = given;
  return {
    op: "upsert",
    recordId: fileRecordId(change.path),
    record: encodeFile({
      entry: change.after,
      iteration: (iterations.get(change.path) ?? 0) + 1,
      cause,
      actor: context.actor,
      ...(session === undefined ? {} : { session }),
    }),
  };
}

function remember(context: Context, reading: Reading, except: ReadonlySet<WorkspacePath>): void {
  const known: KnownPath[] = [];
  for (const one of reading.present.values()) if (!one.unstable && !except.has(one.entry.path)) known.push(one);
  context.worktree.remember(known);
  context.worktree.forget(reading.gone);
}
