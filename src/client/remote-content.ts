import { fileOfHeaders } from "../api/routes/content-headers.ts";
import { collectedBytes } from "../api/routes/collected-bytes.ts";
import { slicedPieces } from "../api/routes/sliced-pieces.ts";
import type { FileContent } from "../api/file-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { isPassing, pause, type RetryRule, waitOf } from "./retry.ts";
import type { WireReply } from "./transport.ts";

export interface Range {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/** Requests a content that never changes, or a part of it. */
export type OpenContent = (range?: Range) => Promise<WireReply>;

/** Yields the bytes of a content of `size` bytes, or of a part of it. Resumes after a cut connection. */
export async function* contentPieces(
  open: OpenContent,
  { size, range, rule }: { readonly size: number; readonly range: Range | undefined; readonly rule: RetryRule },
): AsyncIterable<Uint8Array> {
  const end = Math.min(range?.end ?? size, size);
  let at = range?.start ?? 0;
  for (let tried = 1; at < end; tried += 1) {
    try {
      for await (const piece of piecesFrom(open, { start: at, end }, size)) {
        at += piece.length;
        tried = 1;
        yield piece;
      }
      if (at < end) throw new ChronicleError("UNAVAILABLE", "the content was cut off");
    } catch (error) {
      if (tried >= rule.tries || !isPassing(error)) throw error;
      await pause(waitOf(tried, rule));
    }
  }
}

async function* piecesFrom(open: OpenContent, range: Range, size: number): AsyncIterable<Uint8Array> {
  const whole = range.start === 0 && range.end === size;
  const reply = await open(whole ? undefined : range);
  // A proxy may not know ranges, and return the whole.
  if (whole || reply.status === 206) yield* reply.body;
  else yield* slicedPieces(reply.body, range);
}

/** A file that was read from a server. */
export interface ReadFile extends FileContent {
  /** The whole content, in memory. */
  bytes(): Promise<Uint8Array>;
  /** The whole content, as text (UTF-8). */
  text(): Promise<string>;
}

/**
 * Contents up to this size are read at once, in bytes. Of larger ones only the headers are; their bytes are read on
 * demand.
 */
const AT_ONCE = 1024 * 1024;

/** Makes a file from a reply. `open` requests the same iteration again. */
export async function readingOf(
  reply: WireReply,
  open: (iteration: number) => OpenContent,
  rule: RetryRule,
): Promise<ReadFile> {
  const file = fileOfHeaders((name) => reply.header(name));
  if (file === undefined) throw new ChronicleError("UNAVAILABLE", "whoever answers is no Chronicle server");
  const { size, iteration } = file;
  const here = size <= AT_ONCE ? await collectedBytes(reply.body, AT_ONCE) : undefined;
  if (here === undefined) await reply.discard();
  const pieces = (range?: Range): AsyncIterable<Uint8Array> =>
    here?.length === size
      ? slicedPieces(oncePiece(here), range)
      : contentPieces(open(iteration), { size, range, rule });
  const bytes = (): Promise<Uint8Array> => collectedBytes(pieces(), Number.POSITIVE_INFINITY);
  return { ...file, pieces, bytes, text: async () => new TextDecoder().decode(await bytes()) };
}

async function* oncePiece(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}
