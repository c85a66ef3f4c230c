import type { IdentifiedConflict } from "../../../core/records/conflict-record.ts";
import type { FileRecord } from "../../../core/values/file-record.ts";
import type { Hash } from "../../../core/values/hash.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import type { FolderIdentity, ReplicaRecord } from "../../../core/records/replica-record.ts";
import type { RemoteWork, UpstreamChange } from "../../../core/tree/upstream-change.ts";
import type { Progress } from "../../../api/workspace-api.ts";
import { adoptFolder } from "../../../engine/commit/adopt.ts";
import type { Context } from "../../../engine/log/context.ts";
import { applyUpstream, type UpstreamReport } from "../../../engine/replica/apply-upstream.ts";
import type { Mirror } from "../../replica/mirror.ts";
import { optional } from "../../../util/optional.ts";

/** One step that brings a folder closer to its origin. */
export interface Materialised {
  /** The sync's record as it will be after the step. */
  readonly record: ReplicaRecord;
  readonly changes: readonly UpstreamChange[];
  readonly proposals: readonly WorkspacePath[];
  readonly conflicts: readonly IdentifiedConflict[];
  /** The hashes of merged contents. */
  readonly contents: readonly Hash[];
  /** The decision in words, if a person has made the decision (see `UpstreamStep`). */
  readonly decision?: string;
  /**
   * `seq` is the own event up to which the folder was known when the step was planned. `looked` has the paths that were
   * compared for the step.
   */
  readonly planned: { readonly seq: number; readonly looked: ReadonlySet<WorkspacePath> };
}

/**
 * The maximum number of changes of a first sync that are attributed one by one. If there are more, only the origin's
 * history tells whose work each change is.
 */
const MOST_OF_FIRST = 4_096;

interface KnownFolder {
  /** Returns true if nothing of the origin has come into the folder yet. */
  readonly isFirst: () => boolean;
  /** The folder's identity, if it is known. */
  readonly folder?: FolderIdentity | undefined;
  /** Called before another folder, or the same folder on another device, is recorded as the workspace's. */
  readonly beforeMove?: (() => void) | undefined;
}

/** Writes the origin's changes into the folder, attributed to their authors. */
export class LocalMaterializer {
  readonly #context: Context;
  readonly #mirror: Pick<Mirror, "records">;
  readonly #isFirst: () => boolean;
  readonly #beforeMove: KnownFolder["beforeMove"];
  /** The folder of the last step, if it is known. */
  #folder: FolderIdentity | undefined;

  constructor(context: Context, mirror: Pick<Mirror, "records">, { isFirst, folder, beforeMove }: KnownFolder) {
    this.#context = context;
    this.#mirror = mirror;
    this.#isFirst = isFirst;
    this.#beforeMove = beforeMove;
    this.#folder = folder;
  }

  /** Carries out a step. Resolves once the step is durable. See `applyUpstream`. */
  async materialise(step: Materialised, onProgress?: (progress: Progress) => void): Promise<UpstreamReport> {
    const isLargeFirst = step.changes.length > MOST_OF_FIRST && this.#isFirst();
    const changes = isLargeFirst ? step.changes : await this.#attributed(step.changes);
    const told = onProgress === undefined ? {} : { onProgress };
    const report = await applyUpstream(this.#context, { ...step, changes }, told);
    if (report.moved.length === 0) await this.#know(step.record);
    return report;
  }

  /** Records a folder that has replaced the former one as the workspace's, so that it is recognised after a move. */
  async #know({ folder: now }: ReplicaRecord): Promise<void> {
    const before = this.#folder;
    this.#folder = now;
    if (before === undefined || now === undefined || (before.dev === now.dev && before.ino === now.ino)) return;
    this.#beforeMove?.();
    const folder = this.#context.worktree.roots[0]?.folder ?? "";
    const born = now.birth === undefined ? {} : { born: now.birth };
    await adoptFolder(this.#context, { folder, device: now.dev, inode: now.ino, ...born });
  }

  /** Writes only the sync's record. */
  write(record: ReplicaRecord): Promise<UpstreamReport> {
    return applyUpstream(this.#context, { record, changes: [] });
  }

  async #attributed(changes: readonly UpstreamChange[]): Promise<readonly UpstreamChange[]> {
    const seqs = new Set<number>();
    for (const { upstream } of changes) if (upstream !== undefined) seqs.add(upstream.seq);
    if (seqs.size === 0) return changes;
    const records = await this.#mirror.records(seqs);
    return changes.map((change) => {
      const record = records.get(change.upstream?.seq ?? 0);
      return record === undefined ? change : { ...change, by: workOf(record) };
    });
  }
}

function workOf({ actor, session, turn, action }: FileRecord): RemoteWork {
  return {
    actor,
    ...optional({ session, turn, action }),
  };
}
