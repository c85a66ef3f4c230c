import type { ChangeShape, IterationShape, LogEventShape } from "./shapes.ts";

/** Files of a workspace as programs read and write them: with a folder on disk or without one. */

/** One path as it was at a moment. */
export interface FileShape {
  path: string;
  path_b64?: string;
  kind: "file" | "symlink" | "dir";
  size: number;
  /** Of the content, or of a link's target; empty for a folder. */
  hash: string;
  permissions: number;
  mtime_ms: number;
  iteration: number;
  /** The event that recorded it. */
  seq: number;
  /** In a listing, of a file that is a secret by its name: only people are given its bytes. Left out of all others. */
  protected?: true;
}

/** Paths in their order: by component, by bytes. */
export interface FileListShape {
  /** The moment that is shown: the state after this event. */
  seq: number;
  files: FileShape[];
  /** Give it as `after` for those that follow; `null`: that was all. */
  next: string | null;
}

export interface ListFilesOptions {
  /** Only what is beneath this folder. Default: everything. A path that is no folder then throws `NOT_FOUND`. */
  readonly path?: string;
  /** 1: its direct children; default: all that is beneath. */
  readonly depth?: number;
  /** A moment; default: the last recorded state. */
  readonly at?: string;
  /** At most so many (default: all). */
  readonly limit?: number;
  /** Go on after this path: `next` of the page before. */
  readonly after?: string;
}

/** The class of a content. The client of a server leaves it out: a server gives nothing out that its caller may not see. */
export interface Classed {
  /** A secret by the name of its file: agents and readers get `FORBIDDEN` in place of its bytes. */
  readonly class?: "protected";
}

/** A content that can be read in pieces, whole or in part. */
export interface FileContent extends FileShape, Classed {
  /** The bytes from `start` to `end` (exclusive); default: all. A whole reading is checked against the hash at its end. */
  pieces(range?: { readonly start: number; readonly end: number }): AsyncIterable<Uint8Array>;
}

/** A content without a path: a secret where each path that had it is one. */
export interface BlobContent extends Classed {
  readonly size: number;
  pieces(): AsyncIterable<Uint8Array>;
}

export interface ReadFileOptions {
  /** A moment; default: the last recorded state. */
  readonly at?: string;
  /** This iteration instead. */
  readonly iteration?: number;
}

/** What must be there for a write to be done: else it throws `PRECONDITION_FAILED` and nothing is changed. */
export interface WriteCondition {
  /**
   * The hash that the path must have now, or several of which it must have one; `*`: it must be there; `none`: it must not. For a
   * folder the hash is empty.
   */
  readonly ifMatch?: string | readonly string[];
}

/** Whose work a write is. */
export interface WriteBy {
  /** Who acts (default: as the workspace was opened). */
  readonly actor?: string;
  readonly session?: string;
  /**
   * Names the request: one that was done already (in this workspace, as far as its log reaches) is not done again, and the
   * same answer is given. At most 200 characters.
   */
  readonly requestId?: string;
}

export interface PutFileOptions extends WriteCondition, WriteBy {
  /** Default: as the file has them, or 0o644. */
  readonly permissions?: number;
  /** `symlink`: the content is the target. Default `file`. */
  readonly kind?: "file" | "symlink";
}

/** What a write did. */
export interface FileWriteShape {
  /** The head after it. */
  seq: number;
  /** What is at the path now; `null` after a deletion, and for what nobody recorded. For a move: at the new path. */
  file: FileShape | null;
  /** Empty: it was so already. */
  changes: ChangeShape[];
  /** Give this to `undo`; `null` when nothing was changed. */
  undo_id: string | null;
  /** Somebody wrote to the folder at the last moment: what they wrote is kept there. */
  conflicts?: { path: string; kept_at: string }[];
}

export interface HistoryOptions {
  /** At most so many (default: all). */
  readonly limit?: number;
  /** Only iterations after this one. */
  readonly after?: number;
}

export interface EventsOptions {
  /** Only events after this one (default: those that come from now on). */
  readonly after?: number;
  /** Only events of records whose id begins with this. */
  readonly prefix?: string;
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal;
}

/**
 * Files: list, read, write, follow.
 *
 * Reading shows what is recorded; what somebody has just edited on disk is seen once it was captured (see `follow`,
 * `watch`, `snapshot`, `record`). A write is captured on disk first where there is a folder, is durable when it is
 * answered, and is one operation for `undo`. Folders on the way are made. Writes of many callers at once share their syncs.
 */
export interface FileApi {
  files(options?: ListFilesOptions): Promise<FileListShape>;
  /** Throws `NOT_FOUND` for what is not there at that moment. A folder is answered, without pieces. */
  file(path: string, options?: ReadFileOptions): Promise<FileContent>;
  putFile(
    path: string,
    content: Uint8Array | AsyncIterable<Uint8Array>,
    options?: PutFileOptions,
  ): Promise<FileWriteShape>;
  /** Makes a folder; one that is there stays as it is, and is recorded only as far as the rules take it in (else `file` is `null`). */
  makeFolder(path: string, by?: WriteBy & { readonly permissions?: number }): Promise<FileWriteShape>;
  /** A folder goes with all that is in it. Throws `NOT_FOUND`. */
  deleteFile(path: string, options?: WriteCondition & WriteBy): Promise<FileWriteShape>;
  /**
   * Moves a file, a link, or a folder with all that is in it; `ifMatch` is about the source. Throws `NOT_FOUND`; `REFUSED`
   * where the destination is there already, unless `overwrite` (which takes a file or a link, never a folder).
   */
  moveFile(
    from: string,
    to: string,
    options?: WriteCondition & WriteBy & { readonly overwrite?: boolean },
  ): Promise<FileWriteShape>;
  /** Iterations of a path, oldest first. Throws `NOT_FOUND` with paths of the same name. */
  history(path: string, options?: HistoryOptions): Promise<IterationShape[]>;
  /** A content by its hash, if some path of this workspace has or had it. Throws `NOT_FOUND`, `PRUNED`. */
  blob(hash: string): Promise<BlobContent>;
  /** Events as they are recorded, by whichever process, in their order, each once. Ends with the workspace. */
  events(options?: EventsOptions): AsyncIterable<LogEventShape>;
}
