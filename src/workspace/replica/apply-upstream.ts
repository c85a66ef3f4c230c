import type { IdentifiedConflict } from "../../core/conflict-record.ts";
import type { Hash } from "../../core/hash.ts";
import type { WorkspacePath } from "../../core/path.ts";
import type { ReplicaRecord } from "../../core/replica-record.ts";
import type { UpstreamChange } from "../../core/upstream-change.ts";
import type { BlockedPath } from "../../worktree/worktree.ts";

/** What a replica does about new events of its origin, as one step. Given again after a crash it is another step. */
export interface UpstreamStep {
  /** How far the replica is after it: with the new `applied`, and the `settled` that is known by now. */
  readonly record: ReplicaRecord;
  /** Changes of the folder. Their contents are in the store. */
  readonly changes: readonly UpstreamChange[];
  /** Paths whose present states are to be journaled (once more), on what is applied by then. */
  readonly proposals?: readonly WorkspacePath[];
  /** Conflicts that are opened, brought up to date or settled. */
  readonly conflicts?: readonly IdentifiedConflict[];
  /** Contents of the changes that no event of the origin names: merged ones. They are in the store. */
  readonly contents?: readonly Hash[];
  /**
   * The own event up to which the plan knew the folder, and the paths that it looked at beside those named above: where one
   * of these has changed since, the plan does not hold.
   */
  readonly planned?: { readonly seq: number; readonly looked: ReadonlySet<WorkspacePath> };
}

/** What became of a step. */
export interface UpstreamReport {
  /** The head after it. */
  readonly seq: number;
  readonly applied: readonly WorkspacePath[];
  /** Not as the plan knew them. Where there is one, nothing was done at all: capture (it is recorded by now), and plan anew. */
  readonly moved: readonly WorkspacePath[];
  /**
   * Could not be written, or changed at the last moment. They were left alone, and are held by open conflicts with the reason
   * `blocked`, which were recorded with the step: settle such a conflict in the step that tries again.
   */
  readonly blocked: readonly BlockedPath[];
  /** What somebody wrote at the very last moment was kept under another name. */
  readonly copies: readonly { readonly path: WorkspacePath; readonly keptAt: WorkspacePath }[];
}
