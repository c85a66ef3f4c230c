import type { RetentionShape } from "./action-shapes.ts";
import type {
  ConfigShape,
  DuShape,
  GcShape,
  ProtectedShape,
  SigningReason,
  SnapshotShape,
  WorkspaceShape,
} from "./shapes.ts";
import type { ProgressOptions, WorkspaceApi } from "./workspace-api.ts";

export interface InitOptions extends ProgressOptions, Partial<Omit<ConfigShape, "keepAside" | "protectedNames">> {
  /** Folders or single files to track, absolute. The first becomes the workspace's `path`. */
  readonly roots: readonly string[];
  /**
   * The id of a workspace whose history the folder takes over, because it is the moved or copied folder of that
   * workspace. Throws `UNSAFE` if the folder has a history of its own. Without `force`, also throws `UNSAFE` if the old
   * folder still exists.
   */
  readonly adopt?: string;
  /**
   * Allows `/`, a home folder, and the folders Desktop, Documents and Downloads in it. Also allows adopting the history
   * of a folder that still exists.
   */
  readonly force?: boolean;
}

/** Options for beginning a workspace without a folder, whose files are only in its log and the store's contents. */
export interface CreateOptions extends ProgressOptions {
  /**
   * A name that is unique in the store, such as a session's id: 1 to 128 of `A-Z a-z 0-9 . _ : @ -`, beginning with a
   * letter, a digit, `_` or `@`. It must not be the id of another workspace.
   */
  readonly name?: string;
  /**
   * The workspace and moment whose files are the first state of the new workspace. Both workspaces share the contents.
   */
  readonly from?: { readonly workspace: string; readonly moment?: string };
}

export interface OpenByIdOptions extends ProgressOptions, Pick<OpenOptions, "readOnly" | "role" | "client"> {
  readonly actor?: string;
  /** Accepts only the whole id or the exact name, not the beginning of an id. */
  readonly exact?: boolean;
  /** See `OpenOptions.upstream`. */
  readonly upstream?: boolean;
}

export interface ForgetOptions {
  /**
   * Removes the history at once and for good. Throws `REFUSED` while a run, a watch, an agent or a transaction is at
   * work in the workspace. Only for a store of this machine.
   */
  readonly now?: boolean;
}

export interface InitShape {
  workspace: string;
  path: string;
  /** False if the workspace already existed. */
  created: boolean;
  snapshot: SnapshotShape;
  /** The files that are secrets by their names. */
  protected: ProtectedShape;
}

export interface OpenOptions extends ProgressOptions {
  /**
   * An absolute folder. Opens the workspace that tracks this folder, or else the workspace that tracks its nearest
   * parent folder.
   */
  readonly folder: string;
  /**
   * True to begin a workspace in the folder, with a baseline, if no workspace tracks it or a parent folder. Default:
   * `NOT_FOUND` is thrown in this case.
   */
  readonly create?: boolean;
  readonly force?: boolean;
  /**
   * True for commands that only read: nothing is recorded, interrupted operations are not finished, and the log is not
   * repaired. Only the index, which is derived from the log, may be updated.
   */
  readonly readOnly?: boolean;
  /**
   * True to open, instead of the workspace's own history, its mirror of the history of the origin that it follows. The
   * mirror is a read-only workspace with the origin's id and without a folder. Throws `NOT_FOUND` if the workspace
   * follows no origin.
   */
  readonly upstream?: boolean;
  /**
   * `agent`: cannot prune, erase, compact, collect, configure, pin, rebuild, archive, forget, or accept a head; each
   * attempt throws `FORBIDDEN` and is recorded. Default: the store's role (`StoreOptions.role`). In a store that was
   * opened with the role `agent`, `person` has no effect.
   */
  readonly role?: "person" | "agent";
  /**
   * The name that the calling program or library gives itself. The name is recorded with each restore, undo, redo and
   * transaction.
   */
  readonly client?: string;
}

export interface DoctorCheck {
  name: string;
  ok: boolean;
  detail: string;
  hint?: string;
}

export interface DoctorShape {
  ok: boolean;
  store: string;
  checks: DoctorCheck[];
}

/** One store (`CHRONICLE_HOME`) and the workspaces in it. */
export interface StoreApi {
  readonly home: string;
  /** Creates a workspace or opens the existing one. Captures a baseline if the workspace has none. */
  init(options: InitOptions): Promise<{ readonly workspace: WorkspaceApi; readonly result: InitShape }>;
  open(options: OpenOptions): Promise<WorkspaceApi>;
  /** Begins a workspace without a folder. Throws `REFUSED` if the name is taken. */
  create(options?: CreateOptions): Promise<{ readonly workspace: WorkspaceApi; readonly result: InitShape }>;
  /**
   * Opens a workspace by its id, its name, or a unique prefix of its id. An id has precedence over a name, and a name
   * over a prefix.
   */
  openById(id: string, options?: OpenByIdOptions): Promise<WorkspaceApi>;
  /**
   * Archives a workspace; with `archived` false, takes it up again. An archived workspace can only be read: changes
   * throw `READ_ONLY`.
   */
  archive(id: string, archived?: boolean): Promise<WorkspaceShape>;
  workspaces(): Promise<WorkspaceShape[]>;
  /**
   * Removes a workspace's history from the store; the workspace's files stay. Within 24 hours, `unforget` brings the
   * history back. After that, the next `gc` frees the history and the contents that nothing else needs.
   */
  forget(id: string, options?: ForgetOptions): Promise<WorkspaceShape>;
  /** Frees contents that no workspace of the store needs, and forgotten histories whose 24 hours are over. */
  gc(): Promise<GcShape>;
  /** Returns how much space the store takes. */
  du(): Promise<DuShape>;
  /** Checks the machine, the store and the key, and returns each check with its result. */
  doctor(): Promise<DoctorShape>;
  close(): Promise<void>;
}

/** A notice that the history of a workspace is recorded without signatures, with the reason. */
export interface UnsignedShape {
  workspace: string;
  reason: SigningReason;
  detail: string;
  hint: string;
}

/** `StoreOptions.home` of a store in memory. */
export const MEMORY_STORE = "memory:";

export interface StoreOptions {
  /**
   * The store's absolute folder, as a path or a `file:` URL. `memory:` is a store in this process's memory. It begins
   * empty, is gone when it is closed, has its own key, and reads nothing in `configFolder`.
   */
  readonly home: string;
  /** The absolute folder of the key and the signed heads. */
  readonly configFolder: string;
  /**
   * The user's home folder. Without `force`, neither the home folder nor Desktop, Documents or Downloads in it can
   * become a workspace. Git's settings in the home folder (`.gitconfig`, `.config/git`) are respected.
   */
  readonly userHome?: string;
  /** The time to wait for a lock, in ms (default 30,000). */
  readonly waitMs?: number;
  /** The actor (default `human`). */
  readonly actor?: string;
  /**
   * Called with a note for people when a call does more than was requested, for example when it ends a transaction
   * whose process is gone.
   */
  readonly onNote?: (note: string) => void;
  /** Called once for each open workspace whose history is not signed (see `SigningShape`). */
  readonly onUnsigned?: (told: UnsignedShape) => void;
  /** Called after each commit that this store object makes in any workspace, with the number of events. */
  readonly onCommit?: (commit: { readonly events: number }) => void;
  /** The limits on what is kept. Absent limits come from `config.yaml`, else from the defaults (`docs/library.md`). */
  readonly retention?: Partial<RetentionShape>;
  /** Replacements for the built-in defaults. They apply to limits that neither `retention` nor `config.yaml` gives. */
  readonly retentionDefaults?: Partial<RetentionShape>;
  /** The role in every workspace that is opened, and in operations on the whole store (see `OpenOptions.role`). */
  readonly role?: "person" | "agent";
}
