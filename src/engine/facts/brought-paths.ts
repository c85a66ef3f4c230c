import { changeOf } from "../../core/values/file-record.ts";
import { decodeReplica, type ReplicaRecord } from "../../core/records/replica-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { EventRow } from "../../storage/index-store.ts";
import type { HistoryContext } from "../log/context.ts";
import { isInBase } from "../log/read-base.ts";
import { readEvent } from "../log/read-events.ts";

/**
 * A sync can bring a path into the folder of a replica. If the folder lacked the path at an earlier moment, the origin
 * may already have had the path at that moment. The absence in the folder proves the absence at the origin only under
 * two conditions:
 * - At that moment, the folder had already been synced with this origin.
 * - At that moment, the folder had not yet applied the origin's event that brought the path.
 */

async function progressEvents(context: HistoryContext): Promise<readonly EventRow[]> {
  const records = await context.index.records("replica:");
  const histories = await Promise.all(records.map(({ recordId }) => context.index.recordHistory(recordId)));
  return histories.flat().sort((a, b) => a.seq - b.seq);
}

async function progressIn(context: HistoryContext, row: EventRow): Promise<ReplicaRecord> {
  return decodeReplica((await readEvent(context, row)).record);
}

/**
 * Returns the seq of the last event of the commit that first synced the folder with its origin. Returns `undefined` if
 * there is no such commit, or if it was compacted away.
 */
export async function firstFill(context: HistoryContext): Promise<number | undefined> {
  for (const row of await progressEvents(context)) {
    if ((await progressIn(context, row)).applied === 0) continue;
    if (isInBase(row)) return undefined;
    return (await context.index.commitFrom(row.seq))?.last ?? row.seq;
  }
  return undefined;
}

const MAY_HAVE_BEEN = "a sync brought it later, and the origin may have had it at that moment already";

/** Finds out, for single paths, whether the origin may have had a path at an earlier moment. */
export class BroughtPaths {
  readonly #context: HistoryContext;
  #progressEvents: Promise<readonly EventRow[]> | undefined;
  readonly #at = new Map<number, Promise<ReplicaRecord | undefined>>();

  constructor(context: HistoryContext) {
    this.#context = context;
  }

  /**
   * Returns the reason why the origin may have had the path at the time of event `seq`, although the folder lacked it.
   * Returns `undefined` in three cases: the folder had the path, the path did not come to the folder by a sync after
   * that time, or the origin provably lacked the path.
   */
  async doubt(path: WorkspacePath, seq: number): Promise<string | undefined> {
    this.#progressEvents ??= progressEvents(this.#context);
    if ((await this.#progressEvents).length === 0) return undefined;
    const last = await this.#context.index.iterationAt(path, seq);
    if (last?.entry !== undefined) return undefined;
    const [next] = await this.#context.index.iterations(path, { after: last?.iteration ?? 0, limit: 1 });
    if (next === undefined) return undefined;
    const row = await this.#context.index.locate(next.seq);
    if (row === undefined || isInBase(row)) return undefined;
    const { cause, upstream } = changeOf(await readEvent(this.#context, row), path) ?? {};
    if (cause !== "replica" || upstream === undefined) return undefined;
    const then = await this.#progressAt(seq);
    const later = await this.#progressAt(Number.MAX_SAFE_INTEGER);
    const isSame = then !== undefined && then.applied > 0 && then.origin === later?.origin;
    return isSame && then.applied < upstream.seq ? undefined : MAY_HAVE_BEEN;
  }

  #progressAt(seq: number): Promise<ReplicaRecord | undefined> {
    let found = this.#at.get(seq);
    if (found === undefined) this.#at.set(seq, (found = this.#find(seq)));
    return found;
  }

  async #find(seq: number): Promise<ReplicaRecord | undefined> {
    this.#progressEvents ??= progressEvents(this.#context);
    const row = (await this.#progressEvents).findLast((one) => one.seq <= seq);
    return row === undefined ? undefined : progressIn(this.#context, row);
  }
}
