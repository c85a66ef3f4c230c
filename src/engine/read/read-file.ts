import type { FileApi, FileContent, ReadFileOptions } from "../../api/file-api.ts";
import { contentsOfConflict, decodeConflict } from "../../core/records/conflict-record.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { isHash, type Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { BlobReader, ByteRange } from "../../storage/blob-store.ts";
import type { Context } from "../log/context.ts";
import { fileShape, isPresent, type PresentRow } from "../state/file-shape.ts";
import { parseGivenPath, unknownPath } from "../log/known-paths.ts";
import { type KeptVersion, missingVersion, readVersions } from "../facts/open-conflicts.ts";
import { seqOf } from "./list-files.ts";
import { missingContent } from "../facts/pruning.ts";
import { proveHistory, proveRow, refuseSize } from "../state/proved-content.ts";
import { baseOf } from "../log/project.ts";
import { isProtected, isSecretContent, protectedNames } from "../state/protected.ts";
import { provedState } from "../state/proved-state.ts";
import { readEvents } from "../log/read-events.ts";
import { pathArgument, shownPath } from "../log/shape.ts";
import type { LogEnd } from "../../storage/event-log.ts";
import type { OperationQueue } from "../capture/operation-queue.ts";

/** The class of a content that is not shown to agents and readers. */
const FOR_PEOPLE = { class: "protected" } as const;

/**
 * Opens the content of a path at a moment, or of one iteration of the path. Throws `USAGE` for invalid options,
 * `NOT_FOUND` if the path was absent at the moment or has no such iteration, and the errors of `resolveMoment` and
 * `missingContent`.
 */
export async function openFile(context: Context, given: string, options: ReadFileOptions): Promise<FileContent> {
  const path = parseGivenPath(given);
  const row = await rowFor(context, path, options);
  if (options.iteration === undefined)
    await (await provedState(context, await seqOf(context, options.at))).prove([row]);
  else await proveRow(context, row, { isLast: false });
  const { hash } = row.entry;
  const shape = { ...fileShape(row), ...((await isProtected(context, row)) ? FOR_PEOPLE : {}) };
  if (hash === undefined) return { ...shape, pieces: noPieces };
  const reader = await context.blobs.open(hash);
  if (reader !== undefined) {
    refuseSize(row, reader);
    return { ...shape, pieces: (range) => piecesOf(reader, range) };
  }
  const what = `the content of ${shape.path}@${row.iteration}`;
  throw await missingContent(context, { path, hash, what, iteration: row.iteration });
}

async function rowFor(context: Context, path: WorkspacePath, { at, iteration }: ReadFileOptions): Promise<PresentRow> {
  if (at !== undefined && iteration !== undefined) {
    throw new ChronicleError("USAGE", "a moment and an iteration cannot be given together", {
      hint: "give only the moment, or only the iteration",
    });
  }
  const row =
    iteration === undefined
      ? await context.index.iterationAt(path, await seqOf(context, at))
      : await iterationRow(context, path, iteration);
  if (isPresent(row)) return row;
  await proveHistory(context, path);
  throw await notThere(context, path, { iteration: row?.iteration ?? iteration, isKnown: row !== undefined });
}

async function iterationRow(context: Context, path: WorkspacePath, iteration: number) {
  if (!Number.isSafeInteger(iteration) || iteration < 1) {
    throw new ChronicleError("USAGE", `an iteration is a whole number above 0, not ${iteration}`, {
      hint: "the history of the file lists its iterations",
    });
  }
  const [row] = await context.index.iterations(path, { after: iteration - 1, limit: 1 });
  return row?.iteration === iteration ? row : undefined;
}

/**
 * `iteration`: the iteration that is a deletion or does not exist; `undefined` if the path had no iteration yet.
 * `isKnown`: true if the iteration exists and is a deletion.
 */
interface Missing {
  readonly iteration: number | undefined;
  readonly isKnown: boolean;
}

/** Returns the error for a path that did not exist at a moment, or for an iteration that does not exist. */
export async function notThere(
  context: Context,
  path: WorkspacePath,
  { iteration, isKnown }: Missing,
): Promise<ChronicleError> {
  const shown = JSON.stringify(shownPath(path));
  const [first] = await context.index.iterations(path, { limit: 1 });
  if (first === undefined) return unknownPath(context, path);
  const last = await context.index.iterationAt(path, (await context.index.head()).seq);
  const range = `(it has ${first.iteration}..${last?.iteration ?? first.iteration})`;
  const why =
    iteration === undefined
      ? `${shown} did not exist yet at this moment`
      : `${shown}: ${isKnown ? `iteration ${iteration} is a deletion` : `has no iteration ${iteration}`} ${range}`;
  return new ChronicleError("NOT_FOUND", why, {
    hint: `\`chronicle history ${pathArgument(path)}\` lists its iterations`,
    data: { path: shownPath(path) },
  });
}

/**
 * Returns the bytes of a range (default: all), in pieces. The range may end beyond the end of the file. Throws `USAGE`
 * for an invalid range.
 */
function piecesOf(reader: BlobReader, range: ByteRange | undefined): AsyncIterable<Uint8Array> {
  if (range === undefined) return reader.pieces();
  const { start, end } = range;
  if (Number.isSafeInteger(start) && Number.isSafeInteger(end) && 0 <= start && start <= end)
    return provedPieces(reader, range);
  throw new ChronicleError("USAGE", `not a range of bytes: ${start} to ${end}`, { hint: "0 <= start <= end" });
}

/** Proves the whole content, and then yields the range, because no hash shows whether a part alone is undamaged. */
async function* provedPieces(reader: BlobReader, range: ByteRange): AsyncIterable<Uint8Array> {
  await reader.prove?.();
  yield* reader.pieces(range);
}

async function* noPieces(): AsyncIterable<Uint8Array> {}

/**
 * Opens a content by its hash, if the workspace has or had this content. Throws `USAGE` if the text is no hash,
 * `NOT_FOUND` if the workspace never had the content, and the errors of `missingContent`.
 */
export async function openBlob(context: Context, given: string): ReturnType<FileApi["blob"]> {
  if (!isHash(given)) {
    throw new ChronicleError("USAGE", `${JSON.stringify(given.slice(0, 100))} is no hash of a content`, {
      hint: "give the SHA-256 as 64 lower-case hex digits",
    });
  }
  const row = await context.index.withContent(given);
  const version = row === undefined ? await versionWith(context, given) : undefined;
  const kept = row === undefined ? (version?.record.path ?? (await pathInConflict(context, given))) : undefined;
  const isNamed = row !== undefined || kept !== undefined;
  if (!isNamed && !(await isOfRecord(context, given))) throw foreign(given);
  // The blob store also has contents of other workspaces. The log must therefore prove that this workspace had the
  // content.
  if (row !== undefined) await proveRow(context, row, { isLast: false });
  const reader = await context.blobs.open(given);
  if (reader !== undefined) {
    const isSecret = row === undefined ? await isSecretName(context, kept) : await isSecretContent(context, row, given);
    return { size: reader.size, ...(isSecret ? FOR_PEOPLE : {}), pieces: (range) => piecesOf(reader, range) };
  }
  if (version !== undefined) throw await missingVersion(context, version, given);
  if (row === undefined) throw foreign(given);
  const { path, iteration } = row;
  throw await missingContent(context, { path, hash: given, what: `a content of ${shownPath(path)}@${iteration}` });
}

/**
 * Returns the error for a content that this workspace never had. The error does not tell whether another workspace has
 * it.
 */
function foreign(hash: Hash): ChronicleError {
  return new ChronicleError("NOT_FOUND", `no path of this workspace has or had the content ${hash}`, {
    hint: "the history of a file lists the hashes of its contents",
    data: { hash },
  });
}

/**
 * Returns a version with this content; `undefined` if there is none. A version did not become the state of its path, so
 * perhaps no path ever had its content.
 */
async function versionWith(context: Context, hash: Hash): Promise<KeptVersion | undefined> {
  return (await readVersions(context)).find(({ record }) => record.entry?.hash === hash);
}

/**
 * True if the content is a base or a filter. No path has such a content, but a client that repairs a copy of this
 * history asks for it.
 */
async function isOfRecord(context: Context, hash: Hash): Promise<boolean> {
  for (const prefix of ["snapshot:", "coverage:", "compact:"]) {
    const events = await readEvents(context, await context.index.records(prefix));
    if (events.some((event) => baseOf(event) === hash || event.record["filter"] === hash)) return true;
  }
  return false;
}

/**
 * Returns the path of a conflict that keeps this content; `undefined` if there is none. A conflict keeps the state that
 * an undo would have made, so perhaps no path ever had its content.
 */
async function pathInConflict(context: Context, hash: Hash): Promise<WorkspacePath | undefined> {
  const events = await readEvents(context, await context.index.records("conflict:"));
  const conflicts = events.map(({ record }) => decodeConflict(record));
  return conflicts.find((one) => contentsOfConflict(one).includes(hash))?.path;
}

/**
 * True if a content that no path ever had is a secret. Such a content has no class of its own. The content is a secret
 * if the path for which it was kept has the name of a secret.
 */
async function isSecretName(context: Context, path: WorkspacePath | undefined): Promise<boolean> {
  return path !== undefined && (await protectedNames(context)).holds(path);
}

/** The maximum size, in bytes, of a content that is cached. */
const SMALL_BYTES = 64 * 1024;
/** The maximum number of bytes that are cached for one workspace. */
const MOST_BYTES = 512 * 1024;
/** The maximum number of paths that are remembered for one workspace, with or without a cached content. */
const MOST_PATHS = 1_000;

/** The cached content of a path, or `once` if the path was asked for only once. */
type Known = FileContent | "once";

/**
 * Reads contents of the last recorded state, and caches small contents that are asked for repeatedly. The cache is
 * valid until the log grows. Each read checks the end of the log, because another process may have written. Contents of
 * a damaged history are not cached.
 */
export class FileReads {
  readonly #context: Context;
  readonly #queue: OperationQueue;
  /** The end of the log when the cache was filled. */
  #end: LogEnd | undefined;
  readonly #known = new Map<string, Known>();
  #bytes = 0;

  constructor(context: Context, queue: OperationQueue) {
    this.#context = context;
    this.#queue = queue;
  }

  open(given: string): Promise<FileContent> {
    return this.#queue.whileOpen(async () => {
      const end = await this.#context.log.refresh();
      if (end !== this.#end) this.#beginAnew(end);
      const known = this.#known.get(given);
      return typeof known === "object" ? known : this.#read(given, { end, again: known === "once" });
    });
  }

  async #read(given: string, { end, again }: { readonly end: LogEnd; readonly again: boolean }): Promise<FileContent> {
    const read = await this.#queue.read(async ({ damage }) => {
      const content = await openFile(this.#context, given, {});
      return { content, isSound: damage === undefined };
    });
    // True if the history is sound, and the log did not grow during the read. The content then belongs to the state at
    // `end`.
    const isOf = (): boolean => read.isSound && this.#context.log.head === end && this.#end === end;
    if (!isOf()) return read.content;
    // A client that reads all files asks for each path once, so only contents that are asked for again are cached.
    const kept = again ? await atHand(read.content) : "once";
    if (kept !== undefined && isOf()) this.#keep(given, kept);
    return kept === undefined || kept === "once" ? read.content : kept;
  }

  #keep(given: string, known: Known): void {
    const size = sizeOf(known);
    if (this.#known.size >= MOST_PATHS || this.#bytes + size > MOST_BYTES) this.#beginAnew(this.#end);
    this.#bytes += size - sizeOf(this.#known.get(given));
    this.#known.set(given, known);
  }

  #beginAnew(end: LogEnd | undefined): void {
    this.#end = end;
    this.#known.clear();
    this.#bytes = 0;
  }
}

function sizeOf(known: Known | undefined): number {
  return typeof known === "object" ? known.size : 0;
}

/** Returns the content with its bytes in memory; `undefined` if the content is large or cannot be read. */
async function atHand(content: FileContent): Promise<FileContent | undefined> {
  if (content.kind === "dir" || content.size > SMALL_BYTES) return undefined;
  const bytes = await wholeOf(content);
  if (bytes?.length !== content.size) return undefined;
  // Each read yields a copy, because the caller may change the bytes.
  const pieces = async function* (range?: { readonly start: number; readonly end: number }) {
    const wanted = bytes.subarray(range?.start, range?.end);
    if (wanted.length > 0) yield Buffer.from(wanted);
  };
  return { ...content, pieces: (range) => piecesOf({ size: bytes.length, pieces }, range) };
}

/**
 * Returns all bytes of a content; `undefined` if they cannot be read. The caller then returns `content` itself, and
 * whoever reads it gets the error.
 */
async function wholeOf(content: FileContent): Promise<Buffer | undefined> {
  try {
    const pieces: Uint8Array[] = [];
    for await (const piece of content.pieces()) pieces.push(piece);
    return Buffer.concat(pieces);
  } catch {
    return undefined;
  }
}
