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

export interface InitOptions
  extends ProgressOptions, Partial<Omit<ConfigShape, "keepAside" | "recordPrompts" | "protectedNames">> {
  /** The absolute paths of the folders or single files to track. The first one becomes the workspace's `path`. */
  readonly roots: readonly string[];
  /**
   * The id of a workspace whose folder was moved or copied to the new folder. The new folder takes over the history of
   * this workspace. Throws `UNSAFE` if the new folder has a history of its own. Without `force`, also throws `UNSAFE`
   * if the old folder still exists.
   */
  readonly adopt?: string;
  /**
   * True to allow as roots `/`, a home folder, and the folders Desktop, Documents and Downloads of a home folder. Also
   * allows `adopt` if the old folder still exists. Default: false.
   */
  readonly force?: boolean;
}

/**
 * Options of `create`, which begins a workspace without a folder. The files of such a workspace are only in its log and
 * in the contents of the store.
 */
export interface CreateOptions extends ProgressOptions {
  /**
   * A name that is unique in the store, such as a session's id. It has 1 to 128 of the characters `A-Z a-z 0-9 . _ : @
   * -`, and begins with a letter, a digit, `_` or `@`. It must not be the id of another workspace. Default: no name.
   */
  readonly name?: string;
  /**
   * The workspace and the moment whose files are the first state of the new workspace (a fork). Both workspaces share
   * the contents of the store. Default: the new workspace has no files.
   */
  readonly from?: { readonly workspace: string; readonly moment?: string };
}

export interface OpenByIdOptions extends ProgressOptions, Pick<OpenOptions, "readOnly" | "role" | "client"> {
  readonly actor?: string;
  /** True to accept only a whole id or an exact name, and no prefix of an id. Default: false. */
  readonly exact?: boolean;
  /** See `OpenOptions.upstream`. */
  readonly upstream?: boolean;
}

export interface ForgetOptions {
  /**
   * True to remove the history at once and for good. Default: false; `unforget` can bring the history back for 24
   * hours. With true, `forget` throws `REFUSED` while a run, a watch, an agent or a transaction is at work in the
   * workspace. Only a store on this machine has this option.
   */
  readonly now?: boolean;
}

/** The result of creating or opening a workspace with `init`, or of creating one with `create`. */
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
   * An absolute folder. Opens the workspace that tracks this folder. If there is no such workspace, opens the workspace
   * that tracks the nearest parent folder.
   */
  readonly folder: string;
  /**
   * The treatment of a folder if no workspace tracks the folder or a parent folder. True: a workspace is begun in the
   * folder, with a baseline. False (default): `open` throws `NOT_FOUND`.
   */
  readonly create?: boolean;
  /** With `create`: see `InitOptions.force`. */
  readonly force?: boolean;
  /**
   * True for commands that only read (default: false). Nothing is recorded, interrupted operations are not finished,
   * and the log is not repaired. Only the index may be updated, because it is derived from the log.
   */
  readonly readOnly?: boolean;
  /**
   * True to open the mirror of a workspace that follows an origin, instead of the workspace itself. The mirror is the
   * workspace's copy of the origin's history. It opens as a read-only workspace with the origin's id and without a
   * folder. Throws `NOT_FOUND` if the workspace follows no origin. Default: false.
   */
  readonly upstream?: boolean;
  /**
   * The role of the caller. An `agent` cannot prune, erase, compact, collect, configure, pin, rebuild, archive, forget,
   * or accept a head. Each attempt throws `FORBIDDEN` and is recorded. In a store that was opened with the role
   * `agent`, `person` has no effect. Default: the role of the store (`StoreOptions.role`).
   */
  readonly role?: "person" | "agent";
  /**
   * The name that the calling program or library gives itself. It is recorded with each write, restore, undo, redo and
   * transaction. Default: no name.
   */
  readonly client?: string;
}

export interface DoctorCheck {
  name: string;
  ok: boolean;
  detail: string;
  hint?: string;
  /** The id of the workspace, for a check of one workspace. */
  workspace?: string;
}

export interface DoctorShape {
  ok: boolean;
  store: string;
  checks: DoctorCheck[];
}

/**
 * A change of a path that a person has marked as looked at. The mark belongs to the contents: the same path with other
 * contents is another change, and is not marked. The fields have the same meaning as in `ChangeShape`.
 */
export interface MarkShape {
  path: string;
  before_hash: string;
  after_hash: string;
  /** Present only if the change has also changed the permissions. */
  after_permissions?: number;
}

/** The marks of one person in one workspace, oldest first. */
export interface MarksShape {
  marks: MarkShape[];
  /** Present if the kept marks are damaged, or were written by another version. They then count as no marks. */
  problem?: string;
}

/** Marks to add and to remove. A mark that is both added and removed is added. */
export interface MarkChanges {
  readonly add?: readonly MarkShape[];
  readonly remove?: readonly MarkShape[];
}

export interface MarkOptions {
  /**
   * The person whose marks are meant: any text. Default: the owner of the store. A server chooses the person by the
   * caller's token.
   */
  readonly person?: string;
}

/** One store (`CHRONICLE_HOME`) and the workspaces in it. */
export interface StoreApi {
  readonly home: string;
  /** Creates a workspace or opens the existing one. Captures a baseline if the workspace has none. */
  init(options: InitOptions): Promise<{ readonly workspace: WorkspaceApi; readonly result: InitShape }>;
  /**
   * Opens the workspace of a folder. Without `create`, throws `NOT_FOUND` if no workspace tracks the folder or a parent
   * folder.
   */
  open(options: OpenOptions): Promise<WorkspaceApi>;
  /** Begins a workspace without a folder. Throws `REFUSED` if the name is taken. */
  create(options?: CreateOptions): Promise<{ readonly workspace: WorkspaceApi; readonly result: InitShape }>;
  /**
   * Opens a workspace by its id, its name, or a unique prefix of its id. An id has precedence over a name, and a name
   * over a prefix.
   */
  openById(id: string, options?: OpenByIdOptions): Promise<WorkspaceApi>;
  /**
   * Archives a workspace (`archived`: true, the default), or unarchives it (`archived`: false). An archived workspace
   * can only be read: changes throw `READ_ONLY`.
   */
  archive(id: string, archived?: boolean): Promise<WorkspaceShape>;
  workspaces(): Promise<WorkspaceShape[]>;
  /**
   * Returns the changes in a workspace that a person has marked as looked at. `id` is the whole id or the exact name of
   * the workspace. An agent has marks of its own.
   */
  marks(id: string, options?: MarkOptions): Promise<MarksShape>;
  /**
   * Marks changes in a workspace as looked at, or removes such marks. Marks are kept beside the history, and are no
   * part of it. At most 5,000 marks (1 MiB) of each person are kept. Beyond this limit, the oldest marks are removed.
   */
  mark(id: string, changes: MarkChanges, options?: MarkOptions): Promise<void>;
  /**
   * Removes a workspace's history from the store; the workspace's files stay. Within 24 hours, `unforget` brings the
   * history back. After that, the next `gc` frees the history and the contents that nothing else needs.
   */
  forget(id: string, options?: ForgetOptions): Promise<WorkspaceShape>;
  /** Frees contents that no workspace of the store needs, and forgotten histories whose 24 hours are over. */
  gc(): Promise<GcShape>;
  /**
   * Returns the disk usage of the store. With `kept: false`, leaves out `kept_beside`, and need not read all logs.
   * Default: true.
   */
  du(options?: { readonly kept?: boolean }): Promise<DuShape>;
  /** Checks the machine, the store and the key, and returns each check with its result. */
  doctor(): Promise<DoctorShape>;
  close(): Promise<void>;
}

/**
 * A notice that the history of a workspace is recorded without signatures. `reason`: a code for programs. `detail`: the
 * reason in words. `hint`: the next step for a person.
 */
export interface UnsignedShape {
  workspace: string;
  reason: SigningReason;
  detail: string;
  hint: string;
}

/** The value of `StoreOptions.home` for a store in memory. */
export const MEMORY_STORE = "memory:";

export interface StoreOptions {
  /**
   * The address of the store: the absolute path of its folder, a `file:` URL, or `memory:` for a store in the memory of
   * this process. A store in memory begins empty, is gone when it is closed, has a key of its own, and reads nothing in
   * `configFolder`.
   */
  readonly home: string;
  /** The absolute folder of the key and the signed heads. */
  readonly configFolder: string;
  /**
   * The user's home folder. Without `force`, neither the home folder nor Desktop, Documents or Downloads in it can
   * become a workspace. Git's settings in the home folder (`.gitconfig`, `.config/git`) are respected.
   */
  readonly userHome?: string;
  /** The maximum time to wait for a lock, in ms (default 30,000). */
  readonly waitMs?: number;
  /** The actor (default `human`). */
  readonly actor?: string;
  /**
   * Called with a note for people when a method does more than was requested. For example, a method may end a
   * transaction whose owner has ended.
   */
  readonly onNote?: (note: string) => void;
  /** Called once for each open workspace whose history is not signed (see `SigningShape`). */
  readonly onUnsigned?: (told: UnsignedShape) => void;
  /** Called after each commit that this store object makes in any workspace, with the number of events. */
  readonly onCommit?: (commit: { readonly events: number }) => void;
  /**
   * The limits on the history that is kept. A limit that is absent here is taken from `config.yaml` or, if
   * `config.yaml` does not set it, from the defaults (`docs/library.md`).
   */
  readonly retention?: Partial<RetentionShape>;
  /** Defaults that replace the built-in ones. They apply to limits that neither `retention` nor `config.yaml` sets. */
  readonly retentionDefaults?: Partial<RetentionShape>;
  /**
   * The role in every workspace that is opened, and in operations on the whole store (see `OpenOptions.role`). Default:
   * `person`.
   */
  readonly role?: "person" | "agent";
}
