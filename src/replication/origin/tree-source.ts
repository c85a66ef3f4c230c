import type { BaseRecord } from "../../core/log/base.ts";
import type { Head } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";

/** The state at which a replica is to end: the present one when it began to reconcile. */
export interface TreeAnchor extends Head {
  readonly hash: Hash;
  readonly root: Hash;
  readonly frontier: readonly Hash[];
  /** The workspace record in force. */
  readonly record: BaseRecord;
  /** The last event of each `erase:` record then, as record rows of a base. */
  readonly erasures: Buffer;
}

/** A requested folder. */
export interface AskedFolder {
  readonly path: WorkspacePath;
  /** Only names after this one are wanted. */
  readonly after: string | undefined;
  /** Its hash at the replica. */
  readonly hash: Hash | undefined;
}

/** One name in a folder; `row.entry` is undefined if it was deleted since. */
export interface ListedChild {
  readonly name: string;
  readonly row: IterationRow;
  /** The hash of the content, the link target, or the folder. */
  readonly hash: Hash | undefined;
  /** For a folder, or a path that may have been one: true if something in it was touched since. */
  readonly touched: boolean | undefined;
}

/** The answer about a folder. `hash` is undefined if there is no such folder. */
export interface ListedFolder {
  readonly hash: Hash | undefined;
  readonly touched: boolean;
  /** The children, in order; none if the replica's folder is the same. */
  readonly children: readonly ListedChild[];
}

/** The states of a workspace, folder by folder, for replicas that reconcile in full. */
export interface TreeSource {
  /** Returns the present state, which can be viewed as long as this object lasts. */
  anchor(): Promise<TreeAnchor>;
  /** Views the state of an anchor, for a replica that holds event `since` (0: none; then every deletion is new). */
  view(seq: number, since: number): Promise<TreeView>;
}

/** One state, and what has changed since another one. */
export interface TreeView {
  list(folder: AskedFolder): Promise<ListedFolder>;
}
