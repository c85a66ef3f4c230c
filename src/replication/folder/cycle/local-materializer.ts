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

export interface Materialised {
  /** The sync's record as it will be after the step. */
  readonly record: ReplicaRecord;
  readonly changes: readonly UpstreamChange[];
  readonly proposals: readonly WorkspacePath[];
  readonly conflicts: readonly IdentifiedConflict[];
  readonly contents: readonly Hash[];
  /** The person's decision that the step carries out, in words (see `UpstreamStep`). Default: there is no decision. */
  readonly decision?: string;
  /**
   * The event of the folder's own log up to which the folder was known when the step was planned (`seq`), and the paths
   * that were compared (`looked`).
   */
  readonly planned: { readonly seq: number; readonly looked: ReadonlySet<WorkspacePath> };
}

/**
 * The maximum number of changes in a first sync for which the folder's log names the actors. For a larger first sync,
 * only the origin's history names the actors.
 */
const MOST_OF_FIRST = 4_096;

interface KnownFolder {
  /** True as long as nothing of the origin has come into the folder. */
  readonly isFirst: () => boolean;
  readonly folder?: FolderIdentity | undefined;
  readonly beforeMove?: (() => void) | undefined;
}

/** Writes the origin's changes into the folder, and records the actors that made them at the origin. */
export class LocalMaterializer {
  readonly #context: Context;
  readonly #mirror: Pick<Mirror, "records">;
  readonly #isFirst: () => boolean;
  readonly #beforeMove: KnownFolder["beforeMove"];
  #folder: FolderIdentity | undefined;

  constructor(context: Context, mirror: Pick<Mirror, "records">, { isFirst, folder, beforeMove }: KnownFolder) {
    this.#context = context;
    this.#mirror = mirror;
    this.#isFirst = isFirst;
    this.#beforeMove = beforeMove;
    this.#folder = folder;
  }

  /** Resolves once the step is durable. See `applyUpstream`. */
  async materialise(step: Materialised, onProgress?: (progress: Progress) => void): Promise<UpstreamReport> {
    const isLargeFirst = step.changes.length > MOST_OF_FIRST && this.#isFirst();
    const changes = isLargeFirst ? step.changes : await this.#attributed(step.changes);
    const told = onProgress === undefined ? {} : { onProgress };
    const report = await applyUpstream(this.#context, { ...step, changes }, told);
    if (report.moved.length === 0) await this.#know(step.record);
    return report;
  }

  /**
   * Records the sync's folder as the workspace's folder, if it is another folder than before or is on another device. A
   * later move is then recognised.
   */
  async #know({ folder: now }: ReplicaRecord): Promise<void> {
    const before = this.#folder;
    this.#folder = now;
    if (before === undefined || now === undefined || (before.dev === now.dev && before.ino === now.ino)) return;
    this.#beforeMove?.();
    const folder = this.#context.worktree.roots[0]?.folder ?? "";
    const born = now.birth === undefined ? {} : { born: now.birth };
    await adoptFolder(this.#context, { folder, device: now.dev, inode: now.ino, ...born });
  }

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
