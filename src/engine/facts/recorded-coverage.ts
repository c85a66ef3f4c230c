import type { ActionRecord } from "../../core/records/action-record.ts";
import {
  type Omission,
  coverageRecordId,
  decodeCoverageRecord,
  encodeCoverageRecord,
  listedOmissions,
  MAX_OMITTED,
  reasonsWith,
  sameCoverage,
  type CoverageRecord,
  type OmittedPath,
} from "../../core/records/coverage.ts";
import { ChronicleError, errnoOf, type ErrorCode } from "../../core/values/errors.ts";
import { markedOutside, outsidePath } from "../../core/records/outside-record.ts";
import { pathInRoot, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { Context } from "../log/context.ts";
import type { EventDraft } from "../../core/values/event.ts";
import type { FilterSpec } from "../../core/filter/filter.ts";
import { decodeSnapshot } from "../../core/records/records.ts";
import type { EventRow } from "../../storage/index-store.ts";
import { keepFilters } from "../log/filters.ts";
import { readEvent } from "../log/read-events.ts";
import { lazily } from "../../util/lazily.ts";

/** Omission reasons that make the recorded state of a path outdated, if the path has such a state. */
export const STALE = reasonsWith("isStale");

/**
 * The coverage of a full capture. Whenever the coverage changes, an event of the log states it. A path was absent if
 * the filter accepts the path, and the path is neither recorded nor omitted.
 */
export type Taken = Pick<CoverageRecord, "filter" | "omitted" | "count">;

export interface StatedCoverage extends Taken {
  /** The event that states the coverage. An omitted path that has an iteration after this event was recorded later. */
  readonly seq: number;
}

/**
 * Returns a list with the event that states the coverage of full captures from now on. The list is empty if the log
 * already states this coverage, and no omitted path was recorded after that statement.
 */
export async function coverageDrafts(
  context: Context,
  found: {
    readonly filters: readonly FilterSpec[];
    readonly omitted: readonly OmittedPath[];
    /** The coverage that the same commit stated before. Default: the last coverage in the log. */
    readonly known?: Taken | undefined;
  },
  fromSeq: number,
): Promise<EventDraft[]> {
  const filter = await keepFilters(context, found.filters);
  const now = { filter, ...listedOmissions(found.omitted, await recordedAmong(context, found.omitted)), fromSeq };
  const last = found.known === undefined ? await coverageAt(context, Number.POSITIVE_INFINITY) : undefined;
  const known = found.known ?? last;
  if (known === undefined || !sameCoverage(known, now)) return [draftOf(context, now)];
  return last !== undefined && (await isRecordedSince(context, last)) ? [draftOf(context, now)] : [];
}

/**
 * Returns the omitted paths that have a recorded state, if there are too many omitted paths to list all
 * (`MAX_OMITTED`). Otherwise, returns an empty set.
 */
async function recordedAmong({ index }: Context, omitted: readonly OmittedPath[]): Promise<Set<WorkspacePath>> {
  if (omitted.length <= MAX_OMITTED) return new Set();
  const paths = omitted.map(({ path }) => path);
  const rows = await index.iterationsAt(paths, (await index.head()).seq);
  return new Set(rows.flatMap((row) => (row?.entry === undefined ? [] : [row.path])));
}

/**
 * True if a capture of some paths recorded an omitted path after the coverage was stated. A full capture that omits the
 * path again must state the coverage again, because the recorded state of the path is outdated from then on.
 */
async function isRecordedSince({ index }: Context, { seq, omitted }: StatedCoverage): Promise<boolean> {
  if (omitted.length === 0) return false;
  const paths = omitted.map(({ path }) => path);
  const rows = await index.iterationsAt(paths, (await index.head()).seq);
  return rows.some((row, i) => row !== undefined && row.seq > seq && STALE.has(omitted[i]?.reason ?? ""));
}

function draftOf({ workspaceId }: Context, record: CoverageRecord): EventDraft {
  return { op: "upsert", recordId: coverageRecordId(workspaceId), record: encodeCoverageRecord(record) };
}

export interface AroundReturned {
  readonly before: readonly EventDraft[];
  /**
   * The event behind the changes. Needed only after a scan of some paths, because a full scan states its own coverage.
   */
  readonly behind: readonly EventDraft[];
  /** The coverage that is in force between the event in `before` and the event in `behind`. */
  readonly known: Taken | undefined;
}

/**
 * Returns the coverage events around the changes of paths that were off the record and are recorded again. The event
 * before these changes states that the recorded states of the paths were not the states on disk. The event behind them
 * states that the paths are no longer omitted.
 */
export async function coverageAroundReturned(
  context: Context,
  found: {
    readonly returned: readonly WorkspacePath[];
    readonly filters: readonly FilterSpec[];
    readonly fromSeq: number;
  },
): Promise<AroundReturned> {
  const { returned, filters, fromSeq } = found;
  if (returned.length === 0) return { before: [], behind: [], known: undefined };
  const last = await coverageAt(context, Number.POSITIVE_INFINITY);
  const filter = last?.filter ?? (await keepFilters(context, filters));
  const paths = new Set(returned);
  const others = (last?.omitted ?? []).filter(({ path }) => !paths.has(path));
  const unlisted = (last?.count ?? 0) - (last?.omitted.length ?? 0);
  const of = (omitted: readonly OmittedPath[]): CoverageRecord => {
    // The returned paths must be listed, because their recorded states are outdated.
    const listed = listedOmissions(omitted, paths);
    return { filter, ...listed, count: listed.count + unlisted, fromSeq };
  };
  const between = of([...others, ...returned.map((path) => ({ path, reason: "off-record" as const }))]);
  const isSaid = last !== undefined && sameCoverage(last, between);
  return { before: isSaid ? [] : [draftOf(context, between)], behind: [draftOf(context, of(others))], known: between };
}

/** Returns the coverage of the last full capture at or before event `seq`; `undefined` if the log has none. */
export function coverageAt(context: Context, seq: number): Promise<StatedCoverage | undefined> {
  return new Coverages(context).before(seq);
}

/** Returns the coverages of the state after event `seq` (see `Coverages.at`). */
export function coveragesAt(context: Context, seq: number): Promise<readonly (StatedCoverage | undefined)[]> {
  return new Coverages(context).at(seq);
}

/**
 * The coverages of many moments. Each event with a coverage is read at most once, because an operation may ask for
 * thousands of paths, each with its own moment. An object of this class must not outlive the operation, because it does
 * not see later events.
 */
export class Coverages {
  readonly #context: Context;
  readonly #records: () => Promise<readonly EventRow[]>;
  readonly #snapshots: () => Promise<readonly EventRow[]>;
  readonly #read = new Map<number, Promise<CoverageRecord & StatedCoverage>>();
  readonly #readSnapshots = new Map<number, Promise<StatedCoverage>>();
  readonly #found = new Map<string, readonly (StatedCoverage | undefined)[]>();

  constructor(context: Context) {
    const { index, workspaceId } = context;
    this.#context = context;
    this.#records = lazily(() => index.recordHistory(coverageRecordId(workspaceId)));
    this.#snapshots = lazily(async () => (await index.records("snapshot:")).toSorted((a, b) => a.seq - b.seq));
  }

  /**
   * Returns the coverages of the state after event `seq`. The first one is the coverage of the last capture before this
   * state. If this state lies in the middle of a capture's events, the second one is the coverage of that capture.
   * `undefined` stands for a coverage that is not known. Returns the same array for all moments with the same
   * coverages.
   */
  async at(seq: number): Promise<readonly (StatedCoverage | undefined)[]> {
    const around = await this.#around(seq);
    const all = [await this.before(seq), ...(around === undefined ? [] : [around])];
    const key = all.map((one) => one?.seq ?? "").join(" ");
    const found = this.#found.get(key) ?? all;
    this.#found.set(key, found);
    return found;
  }

  /** Returns the coverage of the last full capture at or before event `seq`; `undefined` if the log has none. */
  async before(seq: number): Promise<StatedCoverage | undefined> {
    const last = lastUpTo(await this.#records(), seq);
    if (last !== undefined) return this.#recordAt(last);
    // Before the first coverage event, the coverage is that of the last snapshot.
    const snapshot = lastUpTo(await this.#snapshots(), seq);
    return snapshot === undefined ? undefined : this.#ofSnapshot(snapshot);
  }

  /** Returns the coverage of the capture during which this event was recorded, if that capture changed the coverage. */
  async #around(seq: number): Promise<StatedCoverage | undefined> {
    const next = (await this.#records()).find((row) => row.seq > seq);
    if (next === undefined) return undefined;
    const record = await this.#recordAt(next);
    return record.fromSeq < seq ? record : undefined;
  }

  #recordAt(row: EventRow): Promise<CoverageRecord & StatedCoverage> {
    const read = async (): Promise<CoverageRecord & StatedCoverage> => {
      return { ...decodeCoverageRecord((await readEvent(this.#context, row)).record), seq: row.seq };
    };
    return once(this.#read, row.seq, read);
  }

  #ofSnapshot(row: EventRow): Promise<StatedCoverage> {
    const read = async (): Promise<StatedCoverage> => {
      const { filter, coverage } = decodeSnapshot((await readEvent(this.#context, row)).record);
      const listed = listedOmissions(await notRead(this.#context, coverage.omitted, row.seq));
      return { filter, ...listed, count: listed.count + (coverage.unlisted ?? 0), seq: row.seq };
    };
    return once(this.#readSnapshots, row.seq, read);
  }
}

/** Returns the last of the rows (in the order of their events) that is not after event `seq`. */
function lastUpTo(rows: readonly EventRow[], seq: number): EventRow | undefined {
  return rows.findLast((row) => row.seq <= seq);
}

function once<T>(known: Map<number, Promise<T>>, seq: number, read: () => Promise<T>): Promise<T> {
  const found = known.get(seq) ?? read();
  known.set(seq, found);
  return found;
}

/**
 * Returns the omissions of a snapshot. A path that changed while it was read is left out if the snapshot has a state of
 * that path.
 */
async function notRead({ index }: Context, omitted: readonly OmittedPath[], seq: number): Promise<OmittedPath[]> {
  const unstable = omitted.filter(({ reason }) => reason === "unstable").map(({ path }) => path);
  const rows = await index.iterationsAt(unstable, seq);
  const read = new Set(unstable.filter((_, i) => rows[i]?.entry !== undefined));
  return omitted.filter(({ path, reason }) => reason !== "unstable" || !read.has(path));
}

/** The codes of errors that do not stop an action from beginning if its caller asked for `warn`. */
const TROUBLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["IO", "LIMIT_EXCEEDED"]);

/** True if the error is a lack of room or a fault of the disk, which no caller has caused. */
export function isNoRoomOrTrouble(error: unknown): boolean {
  return error instanceof ChronicleError ? TROUBLE.has(error.code) : errnoOf(error) !== undefined;
}

/** Returns the omissions of a capture that took nothing: everything that the action may touch. */
export function allOmitted(
  { worktree }: Context,
  { paths, outside, scope }: Pick<ActionRecord, "paths" | "outside" | "scope">,
  error: unknown,
): Omission[] {
  const detail = error instanceof Error ? error.message : String(error);
  const all = [
    ...(scope === "workspace" ? worktree.roots.map(({ id }) => pathInRoot(id, ROOT)) : []),
    ...paths,
    ...outside.map((one) => markedOutside(outsidePath(one))),
  ];
  return all.map((path) => ({ path, reason: "unreadable" as const, detail }));
}
