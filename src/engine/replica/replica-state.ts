import { decodeConflict } from "../../core/records/conflict-record.ts";
import type { LogEvent } from "../../core/values/event.ts";
import { foldersAbove, type WorkspacePath } from "../../core/values/path.ts";
import { decodeReplica, originOfRecordId, replicaRecordId } from "../../core/records/replica-record.ts";
import type { EventRow, IterationRow } from "../../storage/index-store.ts";
import type { HistoryContext } from "../log/context.ts";
import { readEvent } from "../log/read-events.ts";

/** A path with an open conflict. */
interface OpenPath {
  readonly path: WorkspacePath;
  /** The seq of the origin's event on which this folder's state of the path is based. */
  readonly baseSeq: number;
  /**
   * The seq of the origin's event on which everything beneath the path is based. `undefined` if the sync recorded no
   * such event. The paths beneath are then treated as if there were no conflict.
   */
  readonly since: number | undefined;
}

/** The names of secrets that persons added in this folder (`here`) and at the origin (`there`). */
export interface AddedNames {
  readonly here: readonly string[];
  readonly there: readonly string[];
}

export interface WithheldThen {
  /** The `filterTo` patterns of the sync and, if they have changed since the last reconciliation, the previous ones. */
  readonly filters: readonly (readonly string[])[];
  /** The added names that were in force at the last reconciliation. */
  readonly names: AddedNames;
}

/** The number of rows that `lastBefore` reads first. */
const NEAR = 16;
/** The number of rows that `lastBefore` reads at once after the first ones. */
const PAGE = 512;
const CONFLICT = "conflict:";

/**
 * The state of a sync right after one event of the replica's own log. The state has the origin's event up to which the
 * folder was reconciled. The state also has the paths with an open conflict, which were not reconciled.
 */
export class ReplicaState {
  readonly #origin: string;
  readonly #sandboxId: string;
  readonly #open = new Map<string, OpenPath>();
  #paths: Map<WorkspacePath, OpenPath> | undefined;
  #sandboxThen: string | undefined;
  #withheld: WithheldThen = { filters: [], names: { here: [], there: [] } };
  #applied = 0;

  private constructor(origin: string, sandboxId: string) {
    this.#origin = origin;
    this.#sandboxId = sandboxId;
  }

  /** Returns the state right after event `seq`; `undefined` if the workspace never was a replica of the origin. */
  static async at(context: HistoryContext, origin: string, seq: number): Promise<ReplicaState | undefined> {
    const last = await context.index.record(replicaRecordId(origin));
    if (last === undefined) return undefined;
    const { sandboxId } = decodeReplica((await readEvent(context, last)).record);
    const replica = new ReplicaState(origin, sandboxId);
    const row = last.seq <= seq ? last : await lastBefore(context, last.recordId, seq);
    if (row !== undefined) replica.take(await readEvent(context, row));
    for (const conflict of await conflictsAt(context, seq)) replica.take(await readEvent(context, conflict));
    return replica;
  }

  /**
   * Updates the state with the next event. Returns true if the event records the progress of a sync with this origin,
   * or a conflict of any kind.
   */
  take({ recordId, record }: LogEvent): boolean {
    if (originOfRecordId(recordId) === this.#origin) {
      const { sandboxId, applied, filterTo, filteredTo, ownNames = [], originNames = [] } = decodeReplica(record);
      const filters = [filterTo, filteredTo ?? []].filter((patterns) => patterns.length > 0);
      this.#withheld = { filters, names: { here: ownNames, there: originNames } };
      this.#sandboxThen = sandboxId;
      this.#applied = applied;
      return true;
    }
    if (!recordId.startsWith(CONFLICT)) return false;
    const { path, state, sync } = decodeConflict(record);
    if (sync?.origin !== this.#origin) return true;
    this.#paths = undefined;
    if (state === "open") this.#open.set(recordId, { path, baseSeq: sync.baseSeq, since: sync.since });
    else this.#open.delete(recordId);
    return true;
  }

  /** True if the state belongs to the current sync, and not to an earlier one with another `sandboxId`. */
  get isCurrent(): boolean {
    return this.#sandboxThen === this.#sandboxId;
  }

  get withheld(): WithheldThen {
    return this.#withheld;
  }

  /**
   * Returns the seq of the origin's event on which this folder's state of a path is based; 0 if the origin did not have
   * the path.
   */
  async baseOf(
    path: WorkspacePath,
    iterationAt: (path: WorkspacePath, seq: number) => Promise<IterationRow | undefined>,
  ): Promise<number> {
    const paths = (this.#paths ??= new Map([...this.#open.values()].map((one) => [one.path, one])));
    const own = paths.get(path);
    if (own !== undefined) return own.baseSeq;
    const row = await iterationAt(path, sinceAbove(paths, path) ?? this.#applied);
    return row?.seq ?? 0;
  }
}

/**
 * Returns the `since` of the nearest folder above the path that has an open conflict with `since`. Nothing beneath that
 * folder was reconciled.
 */
function sinceAbove(paths: ReadonlyMap<WorkspacePath, OpenPath>, path: WorkspacePath): number | undefined {
  if (paths.size === 0) return undefined;
  for (const at of foldersAbove(path)) {
    const since = paths.get(at)?.since;
    if (since !== undefined) return since;
  }
  return undefined;
}

/**
 * Returns the last event of a sync's progress record at or before event `seq`. This event is usually near `seq`,
 * because every step of a sync writes such an event.
 */
async function lastBefore(context: HistoryContext, recordId: string, seq: number): Promise<EventRow | undefined> {
  for (let [to, limit] = [seq, NEAR]; to > 0; limit = PAGE) {
    const rows = await context.index.events({ from: 1, to, limit, descending: true });
    const found = rows.find((row) => row.recordId === recordId);
    if (found !== undefined || rows.length < limit) return found;
    to = (rows.at(-1)?.seq ?? 1) - 1;
  }
  return undefined;
}

/** Returns the last event up to `seq` of each conflict that was open after event `seq`. */
async function conflictsAt(context: HistoryContext, seq: number): Promise<EventRow[]> {
  const found: EventRow[] = [];
  for (const row of await context.index.records(CONFLICT)) {
    if (row.seq <= seq) {
      if (row.open) found.push(row);
      continue;
    }
    const then = (await context.index.recordHistory(row.recordId)).findLast((one) => one.seq <= seq);
    if (then?.open === true) found.push(then);
  }
  return found;
}
