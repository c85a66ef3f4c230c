import type { FileContent } from "../../api/file-api.ts";
import type { LogEnd } from "../../storage/event-log.ts";
import type { Context } from "../log/context.ts";
import { openFile, piecesOf } from "./read-file.ts";
import type { OperationQueue } from "../capture/operation-queue.ts";

/** Contents of up to this size are cached. */
const SMALL_BYTES = 64 * 1024;
/** The most bytes that are cached for one workspace. */
const MOST_BYTES = 512 * 1024;
/** The most paths that are cached for one workspace. */
const MOST_PATHS = 1_000;

/** A path that was asked for once, or what was read of it. */
type Known = FileContent | "once";

/**
 * Reads of the last recorded state. What many ask for again and again is answered without the index and the blob store for
 * as long as the log is what it was: the state is a prefix of the log, so nothing can have changed; and each read looks
 * whether the log has grown, also by another process. Nothing of a history with damage is kept.
 */
export class FileReads {
  readonly #context: Context;
  readonly #queue: OperationQueue;
  /** The end of the log when all of this was read. */
  #end: LogEnd | undefined;
  readonly #known = new Map<string, Known>();
  #bytes = 0;

  constructor(context: Context, queue: OperationQueue) {
    this.#context = context;
    this.#queue = queue;
  }

  /** As `openFile`, of the last state. */
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
    // True if the content belongs to the very state that was found: the log did not grow meanwhile.
    const isOf = (): boolean => read.isSound && this.#context.log.head === end && this.#end === end;
    if (!isOf()) return read.content;
    // A client that walks through all files asks for each once, so only contents that are asked for again are cached.
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

/** Returns the same with its bytes in memory, read and checked; `undefined` if it is not small, or cannot be read. */
async function atHand(content: FileContent): Promise<FileContent | undefined> {
  if (content.kind === "dir" || content.size > SMALL_BYTES) return undefined;
  const bytes = await wholeOf(content);
  if (bytes?.length !== content.size) return undefined;
  // A copy for each: it is theirs to change.
  const pieces = async function* (range?: { readonly start: number; readonly end: number }) {
    const wanted = bytes.subarray(range?.start, range?.end);
    if (wanted.length > 0) yield Buffer.from(wanted);
  };
  return { ...content, pieces: (range) => piecesOf({ size: bytes.length, pieces }, range) };
}

/** Returns all bytes in a buffer of their own; `undefined` if they cannot be read: their reader will learn why. */
async function wholeOf(content: FileContent): Promise<Buffer | undefined> {
  try {
    const pieces: Uint8Array[] = [];
    for await (const piece of content.pieces()) pieces.push(piece);
    return Buffer.concat(pieces);
  } catch {
    return undefined;
  }
}
