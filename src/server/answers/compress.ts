import { brotliCompress, constants, gzip, zstdCompress, type InputType } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";

/** The minimum length of an answer that is compressed, in bytes. A shorter one fits into one packet anyway. */
const SHORTEST = 1_024;

/** Answers with these content types are compressed. */
const COMPRESSED = /^(?:application\/(?:problem\+)?json|text\/)/;

type Done = (error: Error | null, bytes?: unknown) => void;
type Pack = (bytes: InputType, done: (error: Error | null, packed: Buffer) => void) => void;

/**
 * The encodings, the preferred first. `zstd` takes the least time for about the same size. The levels are those at which
 * a higher one costs more time than the saved bytes take on a usual line.
 */
const ENCODINGS: readonly { readonly name: string; readonly pack: Pack }[] = [
  { name: "zstd", pack: (bytes, done) => zstdCompress(bytes, done) },
  {
    name: "br",
    pack: (bytes, done) => brotliCompress(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }, done),
  },
  { name: "gzip", pack: (bytes, done) => gzip(bytes, done) },
];

/** Returns whether the client accepts an encoding. `header` is the header `accept-encoding` (RFC 9110 §12.5.3). */
export function acceptedEncodings(header: string): (name: string) => boolean {
  const weights = new Map(
    header.split(",").map((one) => {
      const [name = "", ...parameters] = one.split(";").map((part) => part.trim().toLowerCase());
      const weight = parameters.find((part) => part.startsWith("q="))?.slice(2) ?? "1";
      return [name, Number(weight)] as const;
    }),
  );
  return (name) => (weights.get(name) ?? weights.get("*") ?? 0) > 0;
}

/** From this size on, an answer is large: its compression takes milliseconds. In bytes. */
const LARGE = 1_048_576;

/**
 * The maximum number of large answers that are compressed at once. The other two threads of Node's pool stay free for
 * the disk, also if clients ask for large answers and leave: a compression that has begun runs to its end.
 */
const MOST_LARGE = 2;

/**
 * Returns a hook `onSend` of Fastify, which compresses an answer before it is sent, if the client accepts that. Leaves
 * short answers as they are, and contents of files, whose `ETag` and ranges are about the bytes as they are. Also leaves
 * a large answer while `MOST_LARGE` others are compressed. Event streams do not pass through this hook. The work is done
 * in a thread of Node's pool. The answer to a HEAD is compressed as well, because its headers must be those of the GET.
 */
export function answerCompression(): (request: FastifyRequest, reply: FastifyReply, body: unknown, done: Done) => void {
  let large = 0;
  return (request, reply, body, done) => {
    if (!isCompressible(reply, body)) return done(null, body);
    const vary = reply.raw.getHeader("vary");
    reply.header("vary", vary === undefined ? "accept-encoding" : `${String(vary)}, accept-encoding`);
    const accepts = acceptedEncodings(String(request.headers["accept-encoding"] ?? ""));
    const encoding = ENCODINGS.find(({ name }) => accepts(name));
    const weight = body.length < LARGE ? 0 : 1;
    if (encoding === undefined || large + weight > MOST_LARGE) return done(null, body);
    large += weight;
    encoding.pack(body, (error, packed) => {
      large -= weight;
      // Meanwhile, a server that ends may have refused the request, or the client may have left.
      if (reply.raw.headersSent || reply.raw.destroyed) return;
      if (error === null) reply.header("content-encoding", encoding.name).removeHeader("content-length");
      done(error, packed);
    });
  };
}

function isCompressible(reply: FastifyReply, body: unknown): body is string | Uint8Array {
  if (typeof body !== "string" && !(body instanceof Uint8Array)) return false;
  if (body.length < SHORTEST) return false;
  if (reply.hasHeader("etag") || reply.hasHeader("content-encoding")) return false;
  return COMPRESSED.test(String(reply.getHeader("content-type") ?? ""));
}
