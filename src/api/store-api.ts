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

/** What begins a workspace. */
export interface InitOptions extends ProgressOptions, Partial<Omit<ConfigShape, "keepAside" | "protectedNames">> {
  /** Folders or single files to track, absolute. The first is the workspace's own. */
  readonly roots: readonly string[];
  /**
   * Take over this workspace's history for a folder that was moved or copied. Throws `UNSAFE` for a folder that has a
   * history of its own, and, without `force`, while the old folder still exists.
   */
  readonly adopt?: string;
  /** Allow `/`, a home folder and Desktop, Documents, Downloads in it, and to adopt the history of a folder that still exists. */
  readonly force?: boolean;
}

/** What begins a workspace without a folder: its files are only in its log and the contents. */
export interface CreateOptions extends ProgressOptions {
  /**
   * A name, unique in the store: 1 to 128 of `A-Z a-z 0-9 . _ : @ -`, the first a letter, a digit, `_` or `@`; not the id of
   * another workspace. A session's id, for example.
   */
  readonly name?: string;
  /** Begin with the files that a workspace had at a moment; contents are shared. */
  readonly from?: { readonly workspace: string; readonly moment?: string };
}

/** How a workspace is opened by its id or name. */
export interface OpenByIdOptions extends ProgressOptions, Pick<OpenOptions, "readOnly" | "role" | "client"> {
  readonly actor?: string;
  /** Only the whole id or the exact name, no beginning of an id. */
  readonly exact?: boolean;
  /** As `OpenOptions.upstream`. */
  readonly upstream?: boolean;
}

/** How a history is forgotten. */
export interface ForgetOptions {
  /**
   * Give it up at once: nothing brings it back. Throws `REFUSED` while a run, a watch, an agent or a transaction is at work in it. Only
   * with a store of this machine.
   */
  readonly now?: boolean;
}

export interface InitShape {
  workspace: string;
  path: string;
  /** False: it was there already and goes on. */
  created: boolean;
  snapshot: SnapshotShape;
  /** The files that are secrets by their names. */
  protected: ProtectedShape;
}

export interface OpenOptions extends ProgressOptions {
  /** An absolute folder; the nearest enclosing workspace is used. */
  readonly folder: string;
  /** Where there is none: begin one here (takes the baseline) instead of throwing `NOT_FOUND`. */
  readonly create?: boolean;
  readonly force?: boolean;
  /** Never settle, recover or write: for commands that only read. */
  readonly readOnly?: boolean;
  /**
   * What this workspace holds of the history that it follows, instead of its own: a workspace of the origin's id, without a
   * folder, and only read. Throws `NOT_FOUND` where it follows none.
   */
  readonly upstream?: boolean;
  /**
   * `agent`: cannot prune, compact, collect, configure or pin; each attempt throws `FORBIDDEN` and is recorded. Default:
   * `person`.
   */
  readonly role?: "person" | "agent";
  /** For an agent: the program on whose behalf it asks, as that calls itself. Kept with whatever it takes back. */
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
  /** Begins a workspace, or goes on with the one that stands there, and takes a baseline where there is none. */
  init(options: InitOptions): Promise<{ readonly workspace: WorkspaceApi; readonly result: InitShape }>;
  open(options: OpenOptions): Promise<WorkspaceApi>;
  /** Begins a workspace without a folder. A name that is taken throws `REFUSED`. */
  create(options?: CreateOptions): Promise<{ readonly workspace: WorkspaceApi; readonly result: InitShape }>;
  /** By id, else by name, else by the unique beginning of an id. */
  openById(id: string, options?: OpenByIdOptions): Promise<WorkspaceApi>;
  /**
   * Archives a workspace, or takes it up again: an archived one is only read; what would change it throws `READ_ONLY`.
   */
  archive(id: string, archived?: boolean): Promise<WorkspaceShape>;
  workspaces(): Promise<WorkspaceShape[]>;
  /**
   * Takes a workspace's history out of the store (not its files). For 24 hours `unforget` brings it back; then the next `gc` frees
   * it, and contents that only it needed.
   */
  forget(id: string, options?: ForgetOptions): Promise<WorkspaceShape>;
  /** Frees contents that no workspace of the store needs. */
  gc(): Promise<GcShape>;
  /** How much space the store takes. */
  du(): Promise<DuShape>;
  /** Looks at the machine, the store and the key, and says what is wrong. */
  doctor(): Promise<DoctorShape>;
  close(): Promise<void>;
}

/** That what is recorded in a workspace is not signed, and why. */
export interface UnsignedShape {
  workspace: string;
  reason: SigningReason;
  detail: string;
  hint: string;
}

/** How a store is opened. */
export interface StoreOptions {
  /** The store's folder, absolute. */
  readonly home: string;
  /** Where the key and the signed heads are kept, absolute. */
  readonly configFolder: string;
  /**
   * The user's home folder: refused as a workspace without `force`, as Desktop, Documents and Downloads in it are. What git is told
   * there (`.gitconfig`, `.config/git`) is respected.
   */
  readonly userHome?: string;
  /** How long to wait for a lock (default 30,000 ms). */
  readonly waitMs?: number;
  /** Who acts (default `human`). */
  readonly actor?: string;
  /** Is told what a change does beyond what it was asked for, for people: a transaction whose process is gone is ended. */
  readonly onNote?: (note: string) => void;
  /** Told, once for each workspace that is open, that what is recorded there is not signed (see `SigningShape`). */
  readonly onUnsigned?: (told: UnsignedShape) => void;
  /** Told of each commit that this store has made in any of its workspaces, for counting. */
  readonly onCommit?: (commit: { readonly events: number }) => void;
  /** How much is kept; what is not given: as `config.yaml` says, else the defaults (`docs/library.md`). */
  readonly retention?: Partial<RetentionShape>;
  /** What holds instead of the built-in defaults where neither that nor `config.yaml` says anything. */
  readonly retentionDefaults?: Partial<RetentionShape>;
  /** The role of every workspace that is opened, and of what concerns the whole store (see `OpenOptions.role`). */
  readonly role?: "person" | "agent";
}
