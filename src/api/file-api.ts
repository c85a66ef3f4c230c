import type { ChangeShape, HeadChangeShape, IterationShape, LogEventShape, SkippedShape } from "./shapes.ts";

// This file is the interface for reading and writing files of a workspace, with or without a folder on disk.

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
  /** The nanoseconds of the modification time beyond `mtime_ms`, 1 to 999,999. Absent: 0. */
  mtime_ns?: number;
  iteration: number;
  /** The seq of the event that recorded this state. */
  seq: number;
  /**
   * True if the file is a secret by its name, so that only people may read its bytes; absent otherwise. Only the items
   * of `files` have this field.
   */
  protected?: true;
}

/** A page of paths, sorted component by component in byte order. */
export interface FileListShape {
  /** The event after which the files had these states. */
  seq: number;
  files: FileShape[];
  /** The value of `after` for the next page; `null`: this is the last page. */
  next: string | null;
}

export interface ListFilesOptions {
  /** Only paths beneath this folder (default: all paths). Throws `NOT_FOUND` for a path that is no folder. */
  readonly path?: string;
  /** The maximum depth beneath the folder: 1 for direct children only. Default: everything beneath. */
  readonly depth?: number;
  /** A moment; default: the last recorded state. */
  readonly at?: string;
  /** The maximum number of results. Default: all. */
  readonly limit?: number;
  /**
   * The path after which the page begins: `next` of the previous page. Default: the page begins with the first path.
   */
  readonly after?: string;
}

/**
 * The class of a content. In a client of a server, `class` is always absent, because the server sends only contents
 * that the caller may read.
 */
export interface Classed {
  /** `protected`: a secret by the name of its file. Agents and readers get `FORBIDDEN` instead of its bytes. */
  readonly class?: "protected";
}

/** A file's state and content. The content is read in pieces. */
export interface FileContent extends FileShape, Classed {
  /**
   * Yields the bytes from `start` to `end` (exclusive). Default: all bytes. A read of all bytes throws `BLOB_CORRUPT`
   * before the last byte if the bytes do not match the hash. A read of a range first compares the whole content with
   * its hash. For a large content, a process makes this comparison only once, as long as the stored file does not
   * change.
   */
  pieces(range?: { readonly start: number; readonly end: number }): AsyncIterable<Uint8Array>;
}

/** A content without a path. The content is protected if every path that has or had this content is protected. */
export interface BlobContent extends Classed {
  readonly size: number;
  /** As in `FileContent`. */
  pieces(range?: { readonly start: number; readonly end: number }): AsyncIterable<Uint8Array>;
}

export interface ReadFileOptions {
  /** A moment; default: the last recorded state. */
  readonly at?: string;
  /** The iteration to read. If it is given, `at` is ignored. */
  readonly iteration?: number;
}

/**
 * A precondition of a write. If the precondition does not hold, the write throws `PRECONDITION_FAILED` and changes
 * nothing.
 */
export interface WriteCondition {
  /**
   * The hash that the path must have now. If several hashes are given, the path must have one of them. `*`: the path
   * must exist. `none`: the path must not exist. The hash of a folder is empty. Default: no condition.
   */
  readonly ifMatch?: string | readonly string[];
}

/** The actor of a write, and the id of its request. */
export interface WriteBy {
  /** The actor. Default: the actor with which the workspace was opened. */
  readonly actor?: string;
  readonly session?: string;
  /**
   * An id that identifies the request. If the log of the workspace already has this id, the request is not done again,
   * and gets the same answer as the first time. Throws `USAGE` if the id was used for a different request. At most 200
   * characters; through a client, at most 128 in percent-encoded form.
   */
  readonly requestId?: string;
}

export interface PutFileOptions extends WriteCondition, WriteBy {
  /** The mode bits. Default: the present permissions of the file, or 0o644 for a new file. */
  readonly permissions?: number;
  /** `symlink`: the content is the link's target. Default: `file`. */
  readonly kind?: "file" | "symlink";
}

/** The result of a write. */
export interface FileWriteShape {
  /** The seq of the head after the write. */
  seq: number;
  /**
   * The state of the path after the write; for a move, the state of the new path. `null` after a deletion, and for a
   * path that is not recorded.
   */
  file: FileShape | null;
  /** The changes that the write made. Empty if nothing had to change. */
  changes: ChangeShape[];
  /** The operation id for `undo`; `null` if nothing was changed. */
  undo_id: string | null;
  /**
   * Files that somebody else wrote during this write. `kept_at` is the path at which the content of the other write is
   * kept. Absent if there are none.
   */
  conflicts?: { path: string; kept_at: string }[];
  /**
   * Folders that a move or a deletion could not remove, because they contain files that are not recorded. Absent if
   * there are none.
   */
  skipped?: SkippedShape[];
}

export interface HistoryOptions {
  /** The maximum number of results (default: all). */
  readonly limit?: number;
  /** Only iterations with a greater number than this. */
  readonly after?: number;
  /** Only the newest iterations, at most this many. Default: all. */
  readonly last?: number;
  /** True to add what each iteration changed, as a patch (default: false). */
  readonly patch?: boolean;
}

export interface BlameOptions {
  /** A moment. Default: the present content, with edits on disk that are not recorded yet. */
  readonly at?: string;
  /** The first and the last line of the answer, counted from 1. Default: all lines. */
  readonly fromLine?: number;
  readonly toLine?: number;
}

/**
 * The origin of some lines of a file:
 * - `recorded`: an iteration that somebody made. `actor` names who.
 * - `nobody`: a change that was found on disk, and that belongs to no recorded work.
 * - `baseline`: the content with which the history of the workspace began.
 * - `earlier`: the lines are older than `iteration`, and the contents before it are no longer kept.
 * - `between`: one of the iterations `first_iteration` to `iteration`. The contents between them are no longer kept.
 * - `unrecorded`: an edit on disk that is not recorded yet.
 */
export type BlameKind = "recorded" | "nobody" | "baseline" | "earlier" | "between" | "unrecorded";

/** The origin of some lines of a file: their author and time. Absent fields are not known. */
export interface BlameOriginShape {
  kind: BlameKind;
  /** The path at that time. It differs from the path of the answer if the file was renamed since. */
  path: string;
  path_b64?: string;
  /** `null` for an edit that is not recorded yet. */
  iteration: number | null;
  /** Only for `between`. */
  first_iteration?: number;
  seq: number | null;
  /** Epoch milliseconds; `null` for an edit that is not recorded yet. */
  timestamp: number | null;
  /** Empty for an edit that is not recorded yet. */
  cause: string;
  /** Empty unless `kind` is `recorded`. */
  actor: string;
  session?: string;
  action?: string;
  turn?: string;
  /** The id of the operation for `undo`, if the change was made by an operation of its own, such as a write. */
  operation?: string;
  /** The action's summary, or the command of the run. Secrets are masked. */
  title?: string;
  /** The replica that wrote the change back. */
  replica?: string;
}

export interface BlameLineShape {
  /** From 1. */
  line: number;
  /** The index of the line's origin in `origins`. */
  origin: number;
  /** The line without its end. Bytes that are not UTF-8 are replaced, and `text_b64` has the exact bytes. */
  text: string;
  text_b64?: string;
}

/** The lines of a file, each with its origin. */
export interface BlameShape extends Classed {
  path: string;
  path_b64?: string;
  /** The iteration whose lines these are; `null` if edits on disk that are not recorded yet are among them. */
  iteration: number | null;
  /** The number of all lines of the content. */
  total_lines: number;
  /** True if the path was deleted at the requested moment. The lines are then those of its last content. */
  deleted?: true;
  origins: BlameOriginShape[];
  lines: BlameLineShape[];
  /** Notes for people: why some lines have no exact origin. */
  notes: string[];
}

export interface TextHistoryOptions {
  /** Only this file, or files beneath this folder. Default: all. */
  readonly path?: string;
  /** The maximum number of changes. If there are more, only the newest are returned. Default: 100. */
  readonly limit?: number;
}

/** An iteration that changed how often a text occurs in a file. `kind` is never `unrecorded` or `earlier`. */
export interface TextChangeShape extends BlameOriginShape {
  /** The numbers of occurrences before and after the iteration. A file that does not exist has none. */
  before: number;
  after: number;
}

/**
 * The result of a search. `class` is `protected` if files that are secrets by their names were searched, too. Such files
 * are searched only for people.
 */
export interface TextHistoryShape extends Classed {
  /** Newest first. */
  changes: TextChangeShape[];
  /** The number of all changes that were found. */
  total_changes: number;
  /** Notes for people: which contents were not searched. */
  notes: string[];
}

export interface GrepOptions {
  /** Only these files, and files beneath these folders. Default: all. */
  readonly paths?: readonly string[];
  /** The moment whose contents are searched. Default: the last recorded state. */
  readonly at?: string;
  /** True to search all kept contents of any time (default: false). Cannot be combined with `at`. */
  readonly history?: boolean;
  /** True to treat upper and lower case alike (default: false). */
  readonly ignoreCase?: boolean;
  /** True to take the pattern as plain text, and not as a regular expression (default: false). */
  readonly fixed?: boolean;
  /** True to return each file once, without its lines (default: false). */
  readonly filesOnly?: boolean;
  /** The maximum number of matches. Default: 1,000. */
  readonly limit?: number;
}

/** A matching line. For a binary file, or if only files were requested: a matching file. */
export interface GrepMatchShape {
  path: string;
  path_b64?: string;
  /** The iteration that was searched; with `history`, the last one that has the line. */
  iteration: number;
  /** From 1; `null` for a file as a whole. */
  line: number | null;
  /**
   * The line without its end; empty for a file as a whole. Bytes that are not UTF-8 are replaced. If the line is longer
   * than 4,000 characters, `text` has only the part around the first match, and `cut` is true.
   */
  text: string;
  cut?: true;
  /** The start and the end (exclusive) of the first 100 matches in `text`, in UTF-16 code units. */
  spans: number[][];
  /** True for a binary file, which has no lines. */
  binary?: true;
  /** Only with `history`: the change that brought the line. */
  from?: BlameOriginShape;
  /** Only with `history`: the change after which the line was gone; `null` if the line is still there, or unknown. */
  until?: BlameOriginShape | null;
  /**
   * Only with `history`: true if the line may be gone, because the contents of the path after `iteration` were not
   * searched, or are not kept any more.
   */
  until_unknown?: true;
}

/** A content that was not searched, or not to its end, although it may match. */
export interface UnsearchedShape {
  path: string;
  path_b64?: string;
  iteration: number;
  /**
   * - `slow`: the pattern took too long, or too much memory, for this content.
   * - `too-large`: the content has more than 32 MiB.
   * - `time`: the whole search took too long before this content.
   * - `not-kept`: the content is not kept any more. With `history`, `notes` counts such contents instead.
   */
  reason: "slow" | "too-large" | "time" | "not-kept";
}

/**
 * The result of a search. `class` is `protected` if files that are secrets by their names were searched, too. Such files
 * are searched only for people.
 */
export interface GrepShape extends Classed {
  /** In path order; with `history`, the newest lines first. */
  matches: GrepMatchShape[];
  /** The number of all matches that were found. */
  total_matches: number;
  /** `contents`: the number of different contents that were searched. `bytes`: their size in bytes. */
  contents: number;
  bytes: number;
  /** False if contents that may match were not searched. */
  complete: boolean;
  /** The first 100 contents that were not searched, although they may match. */
  unsearched: UnsearchedShape[];
  total_unsearched: number;
  /** Notes for people. */
  notes: string[];
}

export interface EventsOptions {
  /** Only events after this seq (default: only events from now on). */
  readonly after?: number;
  /** Only events of records whose id begins with this prefix. */
  readonly prefix?: string;
  /** When this signal aborts, the stream of events ends without an error. */
  readonly signal?: AbortSignal;
}

/**
 * The operations that list, read, write and follow files.
 *
 * Reads show the recorded state. A read shows an edit on disk once the edit is captured (see `follow`, `watch`,
 * `snapshot`, `record`).
 *
 * In a workspace with a folder, a write first captures the present state of its path. Missing parent folders are
 * created. A write is durable when its promise resolves, and is one operation for `undo`. Concurrent writes of several
 * callers are made durable together.
 *
 * Until the promise of a write resolves, the caller must not change the array that it passed as the content. The reason
 * is that an array of more than 1 MiB is not copied.
 */
export interface FileApi {
  /** Returns a page of the paths that existed at a moment, with their states. */
  files(options?: ListFilesOptions): Promise<FileListShape>;
  /**
   * Returns a path's state and content. Throws `NOT_FOUND` if the path did not exist at that moment. For a folder,
   * `pieces` yields nothing.
   */
  file(path: string, options?: ReadFileOptions): Promise<FileContent>;
  /**
   * Writes a file or a link: creates it, or replaces its content. Throws `PRECONDITION_FAILED` if a condition does not
   * hold.
   */
  putFile(
    path: string,
    content: Uint8Array | AsyncIterable<Uint8Array>,
    options?: PutFileOptions,
  ): Promise<FileWriteShape>;
  /**
   * Creates a folder; an existing folder stays as it is. If the rules leave the folder out, the folder is not recorded
   * and `file` is `null`.
   */
  makeFolder(path: string, by?: WriteBy & { readonly permissions?: number }): Promise<FileWriteShape>;
  /** Deletes a file or link, or a folder with everything in it. Throws `NOT_FOUND` if the path does not exist. */
  deleteFile(path: string, options?: WriteCondition & WriteBy): Promise<FileWriteShape>;
  /**
   * Moves a file, a link, or a folder with everything in it; `ifMatch` applies to the source. Throws `NOT_FOUND` if the
   * source does not exist, and `REFUSED` if the destination exists. With `overwrite`, an existing file or link at the
   * destination is replaced, but never a folder.
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
  /**
   * Returns the lines of a file, each with the iteration that wrote the line, and with the actor of this iteration.
   * Follows a renamed file to its earlier paths. Lines that an undo or a restore brought back belong to whoever wrote
   * them first. For a path that was deleted at the moment, returns the lines of its last content. Throws `NOT_FOUND` if
   * the path was never recorded, or not yet at the moment. Throws `REFUSED` for a folder, a link and a binary file, and
   * `LIMIT_EXCEEDED` for a content of more than 32 MiB. Throws `PRUNED`, `ERASED` or `BLOB_MISSING` if the content is
   * gone.
   */
  blame(path: string, options?: BlameOptions): Promise<BlameShape>;
  /**
   * Returns the iterations that changed how often a text occurs in a file. The text is not a pattern. For agents and
   * readers, files that are secrets by their names are not searched. Contents of more than 32 MiB are not searched.
   */
  textHistory(text: string, options?: TextHistoryOptions): Promise<TextHistoryShape>;
  /**
   * Returns the lines that match a JavaScript regular expression. Searches the contents of a recorded state or, with
   * `history`, all kept contents of any time. Each line is searched by itself. A pattern with `\p{`, `\u{` or a
   * character beyond U+FFFF, such as an emoji, is read with the flag `u`. With `history`, a line that is in several
   * consecutive iterations is one match. For agents and readers, files that are secrets by their names are not
   * searched. If the search of a content takes too long, the content is skipped, and `complete` is false. Throws
   * `USAGE` for an invalid pattern or option, `NOT_FOUND` for a path that was never recorded, and `LIMIT_EXCEEDED` if
   * more lines match than can be held in memory.
   */
  grep(pattern: string, options?: GrepOptions): Promise<GrepShape>;
  /**
   * Returns a content by its hash. Throws `NOT_FOUND` if this workspace never had the content (for a path, a version, a
   * conflict, a base or a filter), `PRUNED` if it was pruned, and `ERASED` if it was erased.
   */
  blob(hash: string): Promise<BlobContent>;
  /**
   * Yields the events of the log in order, each once, including events that other processes record. Ends without an
   * error when `signal` aborts or the workspace is closed.
   */
  events(options?: EventsOptions): AsyncIterable<LogEventShape>;
  /**
   * Yields how far the history has grown: at once, and then soon after each change, including changes that other
   * processes record. Events in quick succession are one change. The more callers follow, the longer is the time
   * between two changes, up to one second. A page can use this to reload what it shows. To get every event, use
   * `events`.
   */
  followHead(options?: Pick<EventsOptions, "signal">): AsyncIterable<HeadChangeShape>;
}
