import type { BaseRecord } from "../../core/log/base.ts";
import type { Head } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";

/** The state that a replica is to end at: the present one when it began to reconcile. */
export interface TreeAnchor extends Head {
  readonly hash: Hash;
  readonly root: Hash;
  readonly frontier: readonly Hash[];
  /** The workspace's own record in force. */
  readonly record: BaseRecord;
  /** The last event of each `erase:` record then, as record rows of a base. */
  readonly erasures: Buffer;
}

/** A folder as it is asked for. */
export interface AskedFolder {
  readonly path: WorkspacePath;
  /** Only names behind this one. */
  readonly after: string | undefined;
  /** Its hash where it is asked. */
  readonly hash: Hash | undefined;
}

/** One name in a folder; `row.entry` undefined: it was deleted since. */
export interface ListedChild {
  readonly name: string;
  readonly row: IterationRow;
  /** Of the content, of the target, or of the folder. */
  readonly hash: Hash | undefined;
  /** Of a folder, or of what may have been one: something in it was touched since. */
  readonly touched: boolean | undefined;
}

/** A folder as it is answered. `hash` undefined: there is no such folder. */
export interface ListedFolder {
  readonly hash: Hash | undefined;
  readonly touched: boolean;
  /** In their order; none where the folder is as it is where it is asked. */
  readonly children: readonly ListedChild[];
}

/** The states of a workspace, folder by folder, for replicas that reconcile in full. */
export interface TreeSource {
  /** The present state. It can be looked at as long as this object lasts. */
  anchor(): Promise<TreeAnchor>;
  /** Looks at the state of an anchor, for a replica that holds event `since` (0: none; then all that was ever deleted is new). */
  view(seq: number, since: number): Promise<TreeView>;
}

/** One state, and what has changed since another one. */
export interface TreeView {
  list(folder: AskedFolder): Promise<ListedFolder>;
}
