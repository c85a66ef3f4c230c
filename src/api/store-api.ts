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

/** Options for beginning a workspace. */
export interface InitOptions extends ProgressOptions, Partial<Omit<ConfigShape, "keepAside" | "protectedNames">> {
  /** Folders or single files to track, absolute. The first becomes the workspace's `path`. */
  readonly roots: readonly string[];
  /**
   * Takes over this workspace's history for a folder that was moved or copied. Throws `UNSAFE` for a folder that has a
   * history of its own, and, without `force`, while the old folder still exists.
   */
  readonly adopt?: string;
  /**
   * Allows `/`, a home folder and Desktop, Documents, Downloads in it, and adopting the history of a folder that still
   * exists.
   */
  readonly force?: boolean;
}

/** Options for beginning a workspace without a folder: its files are only in its log and the contents. */
export interface CreateOptions extends ProgressOptions {
  /**
   * A name that is unique in the store, such as a session's id: 1 to 128 of `A-Z a-z 0-9 . _ : @ -`, beginning with a
   * letter, a digit, `_` or `@`. It must not be the id of another workspace.
   */
  readonly name?: string;
  /** The workspace and moment whose files it begins with; contents are shared. */
  readonly from?: { readonly workspace: string; readonly moment?: string };
}

/** Options for opening a workspace by its id or name. */
export interface OpenByIdOptions extends ProgressOptions, Pick<OpenOptions, "readOnly" | "role" | "client"> {
  readonly actor?: string;
  /** Accepts only the whole id or the exact name, not the beginning of an id. */
  readonly exact?: boolean;
  /** As `OpenOptions.upstream`. */
  readonly upstream?: boolean;
}

/** Options for forgetting a history. */
export interface ForgetOptions {
  /**
   * Removes the history at once and for good. Throws `REFUSED` while a run, a watch, an agent or a transaction is at
   * work in it. Only for a store of this machine.
   */
  readonly now?: boolean;
}

export interface InitShape {
  workspace: string;
  path: string;
  /** False if the workspace existed already. */
  created: boolean;
  snapshot: SnapshotShape;
  /** The files that are secrets by their names. */
  protected: ProtectedShape;
}

export interface OpenOptions extends ProgressOptions {
  /** An absolute folder; the nearest enclosing workspace is used. */
  readonly folder: string;
  /** If no workspace encloses the folder, begins one in it (takes the baseline) instead of throwing `NOT_FOUND`. */
  readonly create?: boolean;
  readonly force?: boolean;
  /**
   * For commands that only read: records nothing, and neither finishes interrupted operations nor repairs the log. The
   * index, which is derived, may be updated.
   */
  readonly readOnly?: boolean;
  /**
   * Opens the mirror of the history that this workspace follows instead of its own history: a read-only workspace with
   * the origin's id and without a folder. Throws `NOT_FOUND` if it follows none.
   */
  readonly upstream?: boolean;
  /**
   * `agent`: cannot prune, erase, compact, collect, configure, pin, rebuild, archive, forget, or accept a head; each
   * attempt throws `FORBIDDEN` and is recorded. Default: the store's role (`StoreOptions.role`). `person` in a store
   * that was opened for an agent remains an agent's.
   */
  readonly role?: "person" | "agent";
  /**
   * The name of the client: the program or library that asks, as it calls itself. It is recorded with each restore,
   * undo, redo and transaction.
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
  /** Creates a workspace, or opens the existing one, and takes a baseline if there is none. */
  init(options: InitOptions): Promise<{ readonly workspace: WorkspaceApi; readonly result: InitShape }>;
  open(options: OpenOptions): Promise<WorkspaceApi>;
  /** Begins a workspace without a folder. Throws `REFUSED` if the name is taken. */
  create(options?: CreateOptions): Promise<{ readonly workspace: WorkspaceApi; readonly result: InitShape }>;
  /** Opens a workspace by id, else by name, else by a unique prefix of an id. */
  openById(id: string, options?: OpenByIdOptions): Promise<WorkspaceApi>;
  /**
   * Archives a workspace; with `archived` false, ends that. An archived workspace can only be read: changes throw
   * `READ_ONLY`.
   */
  archive(id: string, archived?: boolean): Promise<WorkspaceShape>;
  workspaces(): Promise<WorkspaceShape[]>;
  /**
   * Removes a workspace's history from the store (not its files). `unforget` restores it within 24 hours; after that,
   * the next `gc` frees it and the contents that only it needed.
   */
  forget(id: string, options?: ForgetOptions): Promise<WorkspaceShape>;
  /** Frees contents that no workspace of the store needs. */
  gc(): Promise<GcShape>;
  /** Returns how much space the store takes. */
  du(): Promise<DuShape>;
  /** Checks the machine, the store and the key, and returns each check with its result. */
  doctor(): Promise<DoctorShape>;
  close(): Promise<void>;
}

/** A notice that recording in a workspace is not signed, and why. */
export interface UnsignedShape {
  workspace: string;
  reason: SigningReason;
  detail: string;
  hint: string;
}

/** `StoreOptions.home` of a store in memory. */
export const MEMORY_STORE = "memory:";

/** Options for opening a store. */
export interface StoreOptions {
  /**
   * The store's folder, absolute, also as a `file:` URL; or `memory:` for a store of this process alone, which begins
   * empty and is gone when it is closed. It has a key of its own, and reads nothing in `configFolder`.
   */
  readonly home: string;
  /** The folder of the key and the signed heads, absolute. */
  readonly configFolder: string;
  /**
   * The user's home folder. Without `force`, neither it nor Desktop, Documents and Downloads in it may become a
   * workspace. Git's settings there (`.gitconfig`, `.config/git`) are respected.
   */
  readonly userHome?: string;
  /** The time to wait for a lock (default 30,000 ms). */
  readonly waitMs?: number;
  /** The actor (default `human`). */
  readonly actor?: string;
  /**
   * Called with a note for people when a change does more than it was asked for, such as ending a transaction whose
   * process is gone.
   */
  readonly onNote?: (note: string) => void;
  /** Called once for each open workspace whose recording is not signed (see `SigningShape`). */
  readonly onUnsigned?: (told: UnsignedShape) => void;
  /** Called after each commit of this store in any of its workspaces, for counting. */
  readonly onCommit?: (commit: { readonly events: number }) => void;
  /** The limits on what is kept. Absent limits come from `config.yaml`, else from the defaults (`docs/library.md`). */
  readonly retention?: Partial<RetentionShape>;
  /** Replaces the built-in defaults, for limits that neither `retention` nor `config.yaml` gives. */
  readonly retentionDefaults?: Partial<RetentionShape>;
  /** The role in every workspace that is opened, and in operations on the whole store (see `OpenOptions.role`). */
  readonly role?: "person" | "agent";
}
