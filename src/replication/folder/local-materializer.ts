import type { IdentifiedConflict } from "../../core/conflict-record.ts";
import type { Hash } from "../../core/hash.ts";
import type { WorkspacePath } from "../../core/path.ts";
import type { ReplicaRecord } from "../../core/replica-record.ts";
import type { RemoteWork, UpstreamChange } from "../../core/upstream-change.ts";
import type { Progress } from "../../api/workspace-api.ts";
import type { Context } from "../../workspace/context.ts";
import { applyUpstream, type UpstreamReport } from "../../workspace/replica/apply-upstream.ts";
import type { Mirror } from "../replica/mirror.ts";

/** One step of a folder towards its origin. */
export interface Materialised {
  /** The sync as it is after the step. */
  readonly record: ReplicaRecord;
  readonly changes: readonly UpstreamChange[];
  readonly proposals: readonly WorkspacePath[];
  readonly conflicts: readonly IdentifiedConflict[];
  /** Merged contents. */
  readonly contents: readonly Hash[];
  /** In words, where somebody has decided it (see `UpstreamStep`). */
  readonly decision?: string;
  /** The own event up to which the folder was known when it was planned, and what was looked at for it. */
  readonly planned: { readonly seq: number; readonly looked: ReadonlySet<WorkspacePath> };
}

/** For more changes at once nobody asks whose each is: the origin's history says it. */
const MOST_ATTRIBUTED = 4_096;

/** Brings what the origin has into the folder, with the names of those whose work it is. */
export class LocalMaterializer {
  readonly #context: Context;
  readonly #mirror: Mirror;

  constructor(context: Context, mirror: Mirror) {
    this.#context = context;
    this.#mirror = mirror;
  }

  /** Durable when it resolves; see `applyUpstream`. */
  async materialise(step: Materialised, onProgress?: (progress: Progress) => void): Promise<UpstreamReport> {
    const changes = step.changes.length > MOST_ATTRIBUTED ? step.changes : await this.#attributed(step.changes);
    return applyUpstream(this.#context, { ...step, changes }, onProgress === undefined ? {} : { onProgress });
  }

  /** Writes the sync's record alone. */
  async write(record: ReplicaRecord): Promise<void> {
    await applyUpstream(this.#context, { record, changes: [] });
  }

  async #attributed(changes: readonly UpstreamChange[]): Promise<UpstreamChange[]> {
    const known = new Map<number, RemoteWork | undefined>();
    const attributed: UpstreamChange[] = [];
    for (const change of changes) {
      const seq = change.upstream?.seq;
      if (seq !== undefined && !known.has(seq)) known.set(seq, await this.#workOf(seq));
      const by = seq === undefined ? undefined : known.get(seq);
      attributed.push(by === undefined ? change : { ...change, by });
    }
    return attributed;
  }

  async #workOf(seq: number): Promise<RemoteWork | undefined> {
    const record = await this.#mirror.record(seq);
    if (record === undefined) return undefined;
    const { actor, session, turn, action } = record;
    return {
      actor,
      ...(session === undefined ? {} : { session }),
      ...(turn === undefined ? {} : { turn }),
      ...(action === undefined ? {} : { action }),
    };
  }
}
