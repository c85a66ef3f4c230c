import { type Change, type Entry, SYMLINK_MODE, entryTime } from "../../core/values/entry.ts";
import { heldEntry, type FolderTraits } from "../../core/tree/folder-traits.ts";
import { unitDatabaseOf } from "../../core/tree/sqlite-unit.ts";
import { isRoot, parentOf, splitRoot, type WorkspacePath, comparePaths } from "../../core/values/path.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import type { Worktree, ScanReport, ScannedPath, ScanRequest } from "../../worktree/worktree.ts";
import type { Progress } from "../../api/workspace-api.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { sha256 } from "../../core/values/hash.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import type { Context, IngestResult } from "../log/context.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";
import { ErasedLook } from "../facts/erased-look.ts";
import { OffRecordLook, type OffRecordOptions } from "../facts/off-record-look.ts";
import { refuseBatchOverQuota } from "../log/quota.ts";
import { ReadTable, type ReadPath } from "./read-table.ts";
import type { UncleanEnd } from "../../core/records/whereabouts.ts";
import { surroundings } from "./unclean-end.ts";
import type { DirtyPaths } from "../log/dirty-paths.ts";
import { refuseMoved } from "../commit/commit.ts";
import { rememberRecorded } from "./remember-recorded.ts";
import { optional } from "../../util/optional.ts";
import { NODE_TIMERS } from "../../util/timers.ts";

/** Scans the disk and reads what may have changed since the last scan; records nothing. */

/** The options of a scan that reads the disk. */
export interface LookOptions extends OffRecordOptions {
  /** True if every path is read again, even if its stat shows no change. */
  readonly paranoid?: boolean;
  /** The paths to scan, such as a watcher's hints. Default: all. */
  readonly only?: readonly WorkspacePath[];
  /** True if paths at and beneath `only` are taken even if a filter leaves them out. Git's own state is never taken. */
  readonly named?: boolean;
  /**
   * True if the filter is ignored for the paths of `only` themselves, but still decides about the paths beneath them.
   * Only with `named`.
   */
  readonly alone?: boolean;
  /** True if only the paths of `only` and those beneath them are scanned (see `ScanRequest`). */
  readonly exact?: boolean;
  /** True if the folders above an absent path of `only` are taken as well. Only with `named`. */
  readonly holders?: boolean;
  /**
   * True if missing paths are recorded as deleted even in a tracked folder that seems to have been replaced. Such a
   * folder is now on another device or mount, and contains none of its remembered paths (see `elsewhere` of
   * `ScanRequest`).
   */
  readonly acceptsDeletions?: boolean;
  /** The meaning of a missing tracked folder (see `ScanRequest`). */
  readonly absentRoot?: ScanRequest["absentRoot"];
  /** True if contents are hashed and nothing is stored. */
  readonly hashOnly?: boolean;
  /** True if the capture may use the quota's reserve, because a restore needs this capture. */
  readonly reserve?: boolean;
  /**
   * The limits of the scan. The scan throws `LookTooLong` once it has looked at `FEW_PATHS` paths and has taken longer
   * than `ms` milliseconds. The scan also throws if more than `bytes` bytes must be read.
   */
  readonly atMost?: { readonly ms: number; readonly bytes: number };
  readonly onProgress?: (progress: Progress) => void;
}

/** The error of a scan that was given up, because it would have taken too long. */
export class LookTooLong extends Error {}

export interface Reading {
  readonly report: ScanReport;
  /** Present paths, with the entry now on disk. */
  readonly present: ReadTable;
  readonly gone: readonly WorkspacePath[];
  readonly omitted: readonly Omission[];
  /** The paths off the record, if there are any. These paths are also in `omitted`. */
  readonly offRecord: OffRecordLook | undefined;
  /** The unclean end since the last full capture, if one is known. */
  readonly unclean: UncleanEnd | undefined;
  /** Set for a scan of a watched workspace that records nothing (see `DirtyPaths.seen`). */
  readonly upTo?: number | undefined;
  /** The contents that had been erased before the scan began. The paths with such contents are in `omitted`. */
  readonly erased: ErasedLook;
}

/**
 * Scans and reads the disk. Without `only`, scans everything. If a watcher runs, scans only the dirty paths (those that
 * may have changed) instead. Even then, scans everything with `paranoid`, after a change of the rules, and if the
 * watcher may have missed changes. Throws `NOT_FOUND` if the folder was moved since the workspace was opened.
 */
export async function readDisk(context: Context, options: LookOptions): Promise<Reading> {
  await refuseMoved(context);
  await rememberRecorded(context);
  const { live } = context;
  if (!live.started) return scanAndRead(context, options);
  if (options.only !== undefined) {
    const reading = await scanAndRead(context, options);
    if (live.areNewLinks(reading.report.linked)) live.giveBack(undefined);
    return reading;
  }
  if (context.worktree.haveMountsMoved()) await live.restart();
  live.noteErasures(await erasuresInForce(context));
  const haveRulesMoved = context.worktree.haveRulesMoved();
  const look = options.hashOnly === true ? await live.look() : undefined;
  const isWhole = haveRulesMoved || options.paranoid === true;
  const hinted = look === undefined ? await takeOf(live, options) : look.paths;
  const taken = isWhole ? undefined : hinted;
  const began = NODE_TIMERS.now;
  try {
    const reading = await scanAndRead(context, taken === undefined ? options : { ...options, only: taken });
    if (taken !== undefined && live.areNewLinks(reading.report.linked)) {
      // A write through the new link may have changed another path, for which there was no hint.
      live.giveBack(undefined);
      return await readDisk(context, options);
    }
    if (taken === undefined) await followRules(live, reading.report, haveRulesMoved);
    const { linked } = reading.report;
    const tookMs = NODE_TIMERS.now - began;
    const omitted = live.looked({ only: taken, omitted: reading.omitted, linked, tookMs });
    const upTo = look?.upTo;
    const { offRecord } = reading;
    if (offRecord === undefined) return { ...reading, omitted, upTo };
    live.giveBack(offRecord.undecided);
    return { ...reading, omitted: await offRecord.renamed(omitted), upTo };
  } catch (error) {
    if (look === undefined) live.giveBack(taken);
    throw error;
  }
}

function takeOf(live: DirtyPaths, { paranoid }: LookOptions): Promise<readonly WorkspacePath[] | undefined> {
  return paranoid === true ? Promise.resolve(undefined) : live.take();
}

/**
 * Restarts the watcher if rules outside of the workspace have changed. The watcher itself follows only the rules in the
 * workspace's files.
 */
async function followRules(live: DirtyPaths, { filters }: ScanReport, haveMoved: boolean): Promise<void> {
  const areOthers = live.noteRules(JSON.stringify(filters));
  if (haveMoved && areOthers) await live.restart();
}

/** The number of paths from which the duration of a scan is limited. A scan of fewer paths never takes long. */
const FEW_PATHS = 4_096;

/** Throws `LookTooLong` once a scan has taken too long, or once too many bytes must be read. */
class LookLimit {
  readonly #atMost: LookOptions["atMost"];
  readonly #onProgress: LookOptions["onProgress"];
  readonly #began = NODE_TIMERS.now;
  #bytes = 0;

  constructor({ atMost, onProgress }: LookOptions) {
    this.#atMost = atMost;
    this.#onProgress = onProgress;
  }

  /**
   * Reports the progress. Throws `LookTooLong` if the scan has taken too long. `paths`: the number of paths that were
   * looked at.
   */
  looked(paths: number): void {
    this.#onProgress?.({ phase: "scan", done: paths, total: 0, unit: "paths" });
    if (this.#atMost === undefined || paths < FEW_PATHS) return;
    if (NODE_TIMERS.now - this.#began > this.#atMost.ms) throw new LookTooLong();
  }

  /** Throws `LookTooLong` if too many bytes must be read. `batch`: the next paths to read. */
  checkBytes(batch: readonly ScannedPath[]): void {
    if (this.#atMost === undefined) return;
    for (const { stat } of batch) if (stat.kind === "file") this.#bytes += stat.size;
    if (this.#bytes > this.#atMost.bytes) throw new LookTooLong();
  }
}

/** Scans the disk, and reads found paths while the scan continues. */
async function scanAndRead(context: Context, options: LookOptions): Promise<Reading> {
  const absent = optional({ absentRoot: options.absentRoot });
  const { elsewhere, unclean } = await surroundings(context, options.only === undefined);
  const present = new ReadTable();
  const gone: WorkspacePath[] = [];
  const omitted: Omission[] = [];
  // The paths whose omissions come from reading their contents, and not from the scan. The files of a database unit are
  // among them, because a database and the files beside it are read as a whole.
  const decided = new Set<WorkspacePath>();
  const offRecord = await OffRecordLook.of(context, options);
  const erased = await ErasedLook.of(context);
  const limit = new LookLimit(options);
  const run = context.ingest.begin({
    hashOnly: options.hashOnly ?? false,
    erased: erased.contents,
    known: (path) => context.worktree.recall(path) !== undefined && offRecord?.mayRead(path) !== false,
    maxFileSize: (path) => maxFileSize(context, path),
    onResult: (result) => {
      if ("omission" in result || unitDatabaseOf(result.path) !== undefined) decided.add(result.path);
      const omission = erased.omissionOf(result);
      if (omission === undefined) take(result, { present, gone, omitted });
      else omitted.push(omission);
    },
  });
  try {
    const report = await context.worktree.scan(
      {
        ...requestOf(options),
        elsewhere: options.acceptsDeletions === true ? "accepted" : elsewhere,
        onProgress: (paths) => limit.looked(paths),
      },
      async (scanned) => {
        limit.checkBytes(scanned);
        const batch = offRecord === undefined ? scanned : await offRecord.sift(scanned);
        for (const { path, stat } of batch) {
          if (stat.kind === "dir") present.push({ entry: folderEntry(path, stat), stat, unstable: false });
        }
        if (options.hashOnly !== true) await refuseBatchOverQuota(context, batch, options);
        return run.add(batch);
      },
    );
    await run.finish((bytes) =>
      options.onProgress?.({ phase: "capture", done: bytes, total: report.bytes, unit: "bytes" }),
    );
    // If a tracked folder was moved away meanwhile, its files are missing, but not deleted. In that case, the following
    // scan, which scans no path, throws.
    if (gone.length > 0) await context.worktree.scan({ only: [], ...absent }, () => undefined);
    const all = {
      report,
      present,
      gone: [...new Set([...report.gone, ...gone])],
      omitted: [...report.omitted.filter(({ path }) => !decided.has(path)), ...omitted],
      ...{ offRecord, unclean, erased },
    };
    return offRecord === undefined ? all : await withoutOffRecord(all, offRecord);
  } catch (error) {
    await run.abandon();
    throw error;
  }
}

function requestOf(options: LookOptions): Partial<ScanRequest> {
  const { paranoid, only, named, exact, holders, alone, absentRoot } = options;
  return optional({ paranoid, only, named, exact, holders, alone, absentRoot });
}

function maxFileSize({ worktree }: Context, path: WorkspacePath): number {
  return worktree.roots.find(({ id }) => id === splitRoot(path).root)?.limits.maxFileSize ?? 0;
}

async function withoutOffRecord(reading: Reading, offRecord: OffRecordLook): Promise<Reading> {
  const { present } = reading;
  const gone = await offRecord.siftGone(reading.gone);
  for (const { path, stat } of offRecord.foldersOf(present.paths))
    present.push({ entry: folderEntry(path, stat), stat, unstable: false });
  return { ...reading, gone, omitted: [...(await offRecord.renamed(reading.omitted)), ...offRecord.held()] };
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

function folderEntry(path: WorkspacePath, stat: FileStat): Entry {
  return { path, kind: "dir", mode: stat.mode, size: 0, mtimeMs: 0, hash: undefined };
}

export function linkEntry(path: WorkspacePath, stat: FileStat, target: Uint8Array): Entry {
  const time = entryTime(stat.mtimeNs);
  return { path, kind: "symlink", mode: SYMLINK_MODE, size: target.length, ...time, hash: sha256(target) };
}

export interface Comparison {
  readonly changes: readonly Change[];
  /** The number of the last iteration of each changed path. */
  readonly iterations: ReadonlyMap<WorkspacePath, number>;
  /** The index's row of each changed path, as of `seq`. */
  readonly before: readonly { readonly path: WorkspacePath; readonly row: IterationRow | undefined }[];
  readonly seq: number;
  /** Recorded paths that are absent and not reported as deleted, because the folder cannot hold them. */
  readonly lacked: ReadonlySet<WorkspacePath>;
}

/** The number of paths that are looked up in the index at once. */
const COMPARE = 8_192;

/** Compares a reading with the recorded states at the head of the index. Returns the changes in path order. */
export async function compare(context: Context, { present, gone }: Reading): Promise<Comparison> {
  const { seq } = await context.index.head();
  const held = new HeldStates(context.worktree, new Set(gone));
  const changes: Change[] = [];
  const iterations = new Map<WorkspacePath, number>();
  const before: { path: WorkspacePath; row: IterationRow | undefined }[] = [];
  const lacked = new Set<WorkspacePath>();
  const consider = async (paths: readonly WorkspacePath[], now: (at: number) => Entry | undefined): Promise<void> => {
    if (paths.length === 0) return;
    const recorded = await context.index.iterationsAt(paths, seq);
    paths.forEach((path, i) => {
      const row = recorded[i];
      const found = now(i);
      const change = held.changeBetween(path, row?.entry, found);
      if (change === undefined && found === undefined && row?.entry !== undefined) lacked.add(path);
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
  return { changes, iterations, before, seq, lacked };
}

/**
 * Compares a reading for which contents were only hashed, and not stored. Remembers the files that are as recorded, so
 * that the next scan need not read them again. The times of a file that was written just before it was recorded do not
 * show that the file is unchanged. If such a file were not remembered, every scan would read it.
 */
export async function compareHashed(context: Context, reading: Reading): Promise<Comparison> {
  const compared = await compare(context, reading);
  const others = new Set([...compared.changes.map(({ path }) => path), ...compared.lacked]);
  const same = [...settledPaths(reading.present, others)];
  context.worktree.remember(same, reading.report.startedAtNs);
  const isSame = (path: WorkspacePath): boolean => !others.has(path);
  const rest = reading.omitted.filter(({ path, reason }) => reason === "unstable" && isSame(path));
  if (reading.upTo !== undefined) context.live.seen(reading.upTo, [...others, ...rest.map(({ path }) => path)]);
  return compared;
}

/** Returns true if no path changed while it was read, so that the next scan may trust all of this reading. */
export function isAllSettled({ omitted, present }: Reading): boolean {
  return present.isSettled && omitted.every((one) => one.reason !== "unstable");
}

/**
 * Yields the paths that did not change while they were read, so that the next scan may trust them. Leaves out `except`.
 */
export function* settledPaths(present: ReadTable, except: ReadonlySet<WorkspacePath> = new Set()): Generator<ReadPath> {
  for (const one of present.sortedValues()) if (!one.unstable && !except.has(one.entry.path)) yield one;
}

/**
 * Compares states on disk with recorded states. A difference does not count as a change if it exists only because the
 * folder cannot hold a trait, such as permissions.
 */
export class HeldStates {
  readonly #worktree: Pick<Worktree, "traitsOf">;
  readonly #gone: ReadonlySet<WorkspacePath>;
  readonly #traits = new Map<string | undefined, FolderTraits>();

  /** `gone`: all paths that were found to be absent. */
  constructor(worktree: Pick<Worktree, "traitsOf">, gone: ReadonlySet<WorkspacePath> = new Set()) {
    this.#worktree = worktree;
    this.#gone = gone;
  }

  changeBetween(path: WorkspacePath, recorded: Entry | undefined, found: Entry | undefined): Change | undefined {
    const traits = this.#traitsOf(path);
    if (found === undefined && this.#isLackedOnly(path, recorded, traits)) return undefined;
    return changeBetween(path, recorded, heldEntry(traits, found, recorded));
  }

  /**
   * Returns the entry that is recorded for the first state of a path. This entry differs from `found` if the disk
   * stores no modes.
   */
  foundFirst(found: Entry): Entry {
    return heldEntry(this.#traitsOf(found.path), found) ?? found;
  }

  /**
   * Returns true if a recorded link is absent because the folder cannot hold links. If the folder that contained the
   * link is gone as well, the link counts as removed.
   */
  #isLackedOnly(path: WorkspacePath, recorded: Entry | undefined, { symlinks }: FolderTraits): boolean {
    if (symlinks || recorded?.kind !== "symlink") return false;
    const folder = parentOf(path);
    return isRoot(folder) || !this.#gone.has(folder);
  }

  #traitsOf(path: WorkspacePath): FolderTraits {
    const { root } = splitRoot(path);
    let traits = this.#traits.get(root);
    if (traits === undefined) this.#traits.set(root, (traits = this.#worktree.traitsOf(path)));
    return traits;
  }
}
