import type { ChangeShape, IterationShape, LogEventShape, SkippedShape } from "./shapes.ts";

/** Reading and writing files of a workspace, with or without a folder on disk. */

/** The state of one path at a moment. */
export interface FileShape {
  path: string;
  path_b64?: string;
  kind: "file" | "symlink" | "dir";
  size: number;
  /** The hash of the content or of a link's target; empty for a folder. */
  hash: string;
  permissions: number;
  mtime_ms: number;
  /** The nanoseconds of the time after `mtime_ms`, 1 to 999,999. Absent: 0. */
  mtime_ns?: number;
  iteration: number;
  /** The event that recorded it. */
  seq: number;
  /** Only in a listing: the file is a secret by its name, and only people get its bytes. Absent for other files. */
  protected?: true;
}

/** Paths, sorted by component and bytes. */
export interface FileListShape {
  /** The event after which the files had these states. */
  seq: number;
  files: FileShape[];
  /** The value of `after` for the next page; `null`: this is the last page. */
  next: string | null;
}

export interface ListFilesOptions {
  /** Only paths beneath this folder (default: all). Throws `NOT_FOUND` for a path that is no folder. */
  readonly path?: string;
  /** 1: only direct children; default: everything beneath. */
  readonly depth?: number;
  /** A moment; default: the last recorded state. */
  readonly at?: string;
  /** The maximum number of results (default: all). */
  readonly limit?: number;
  /** Continues after this path, which is `next` of the page before. */
  readonly after?: string;
}

/** The class of a content. A client of a server has none: a server sends nothing that its caller may not see. */
export interface Classed {
  /** `protected`: a secret by the name of its file. Agents and readers get `FORBIDDEN` instead of its bytes. */
  readonly class?: "protected";
}

/** A content that can be read in pieces, whole or in part. */
export interface FileContent extends FileShape, Classed {
  /**
   * Yields the bytes from `start` to `end` (exclusive); default: all. A full read is checked against the hash at its
   * end.
   */
  pieces(range?: { readonly start: number; readonly end: number }): AsyncIterable<Uint8Array>;
}

/** A content without a path. It is protected if every path that had it is protected. */
export interface BlobContent extends Classed {
  readonly size: number;
  pieces(): AsyncIterable<Uint8Array>;
}

export interface ReadFileOptions {
  /** A moment; default: the last recorded state. */
  readonly at?: string;
  /** Reads this iteration instead of a moment. */
  readonly iteration?: number;
}

/** A precondition of a write. If it does not hold, the write throws `PRECONDITION_FAILED` and changes nothing. */
export interface WriteCondition {
  /**
   * The hash that the path must have now, or several of which it must have one. `*`: the path must exist; `none`: it
   * must not. A folder's hash is empty.
   */
  readonly ifMatch?: string | readonly string[];
}

/** The author of a write. */
export interface WriteBy {
  /** The actor (default: as the workspace was opened). */
  readonly actor?: string;
  readonly session?: string;
  /**
   * Identifies the request. If a request with this id was done already (in this workspace, as far as its log reaches),
   * it is not done again and the same answer is returned. At most 200 characters.
   */
  readonly requestId?: string;
}

export interface PutFileOptions extends WriteCondition, WriteBy {
  /** Default: the file's present permissions, or 0o644. */
  readonly permissions?: number;
  /** `symlink`: the content is the target. Default `file`. */
  readonly kind?: "file" | "symlink";
}

/** The result of a write. */
export interface FileWriteShape {
  /** The seq of the head after the write. */
  seq: number;
  /**
   * The present state of the path (for a move: of the new path). `null` after a deletion, and for a path that is not
   * recorded.
   */
  file: FileShape | null;
  /** Empty if nothing had to change. */
  changes: ChangeShape[];
  /** The operation id for `undo`; `null` if nothing was changed. */
  undo_id: string | null;
  /** Files that somebody else wrote at the last moment, and where their content is kept. */
  conflicts?: { path: string; kept_at: string }[];
  /** Folders that stay after a move or a deletion, since they hold files that are not recorded. */
  skipped?: SkippedShape[];
}

export interface HistoryOptions {
  /** The maximum number of results (default: all). */
  readonly limit?: number;
  /** Only iterations after this number. */
  readonly after?: number;
}

export interface EventsOptions {
  /** Only events after this seq (default: those from now on). */
  readonly after?: number;
  /** Only events of records whose id begins with this prefix. */
  readonly prefix?: string;
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal;
}

/**
 * Listing, reading, writing and following files.
 *
 * Reads show the recorded state. An edit on disk is visible once it is captured (see `follow`, `watch`, `snapshot`,
 * `record`). In a workspace with a folder, the path is captured before a write. A write is durable when it resolves,
 * and is one operation for `undo`. Missing parent folders are created. Concurrent writes of many callers share their
 * syncs to disk.
 */
export interface FileApi {
  files(options?: ListFilesOptions): Promise<FileListShape>;
  /**
   * Returns a path's state and content. Throws `NOT_FOUND` if it did not exist at that moment. A folder is returned
   * without pieces.
   */
  file(path: string, options?: ReadFileOptions): Promise<FileContent>;
  putFile(
    path: string,
    content: Uint8Array | AsyncIterable<Uint8Array>,
    options?: PutFileOptions,
  ): Promise<FileWriteShape>;
  /**
   * Creates a folder; an existing folder stays as it is. The folder is recorded only if the rules include it (else
   * `file` is `null`).
   */
  makeFolder(path: string, by?: WriteBy & { readonly permissions?: number }): Promise<FileWriteShape>;
  /** Deletes a path; a folder with everything in it. Throws `NOT_FOUND`. */
  deleteFile(path: string, options?: WriteCondition & WriteBy): Promise<FileWriteShape>;
  /**
   * Moves a file, a link, or a folder with everything in it; `ifMatch` applies to the source. Throws `NOT_FOUND`, and
   * `REFUSED` if the destination exists, unless `overwrite` is set (which replaces a file or a link, never a folder).
   */
  moveFile(
    from: string,
    to: string,
    options?: WriteCondition & WriteBy & { readonly overwrite?: boolean },
  ): Promise<FileWriteShape>;
  /**
   * Returns the iterations of a path, oldest first. Throws `NOT_FOUND` for a path that was never recorded; the error
   * names recorded paths with the same file name.
   */
  history(path: string, options?: HistoryOptions): Promise<IterationShape[]>;
  /** Returns a content by its hash, if this workspace has or had it. Throws `NOT_FOUND`, `PRUNED`, `ERASED`. */
  blob(hash: string): Promise<BlobContent>;
  /**
   * Yields events as they are recorded by any process, in order, each once. Ends with `signal`, or when the workspace
   * is closed.
   */
  events(options?: EventsOptions): AsyncIterable<LogEventShape>;
}
