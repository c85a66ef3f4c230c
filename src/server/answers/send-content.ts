import type { FastifyReply } from "fastify";
import { contentHeaders } from "../../api/routes/content-headers.ts";
import type { ContentReply } from "../../api/routes/route.ts";
import type { ServerLimits } from "../limits/limits.ts";
import { makeProblem } from "./problem.ts";
import { isKnown } from "./received.ts";
import { type Headers, replyProblem, SAFE_HEADERS } from "./send.ts";
import { writeTo } from "../limits/slow-peer.ts";

/** The maximum size, in bytes, of a content that is sent in one piece. */
const SMALL = 64 * 1024;
const EMPTY = new Uint8Array();

/**
 * Sends a content, or the requested range of it. Sends nothing before the first bytes are read, so that a problem can
 * be sent if the content is unreadable. If reading fails later, the connection is closed before the announced length is
 * reached.
 */
export async function sendContent(reply: FastifyReply, content: ContentReply, limits: ServerLimits): Promise<void> {
  const { headers, method } = reply.request;
  const { hash, size } = content;
  const about = headersOf(content);
  if (isKnown(headers["if-none-match"], hash)) {
    reply.code(304).headers(about).send();
    return;
  }
  // If `If-Range` has a different ETag, the client has parts of a different content. The whole content is then sent
  // (RFC 9110 §13.1.5).
  const isSame = headers["if-range"] === undefined || headers["if-range"] === `"${hash}"`;
  const range = method === "GET" && isSame ? rangeOf(headers.range, size) : undefined;
  if (range === "unsatisfiable") {
    const problem = makeProblem(
      416,
      "USAGE",
      "this range cannot be sent: request a single range that lies within the content",
    );
    return replyProblem(reply, problem, { "content-range": `bytes */${size}` });
  }
  const length = range === undefined ? size : range.end - range.start;
  const head: Headers = {
    ...about,
    "content-length": String(length),
    ...(range === undefined ? {} : { "content-range": `bytes ${range.start}-${range.end - 1}/${size}` }),
  };
  const status = range === undefined ? 200 : 206;
  if (method === "HEAD" || length === 0) {
    reply.code(status).headers(head).send();
    return;
  }
  await sendPieces(reply, { pieces: content.pieces(range), status, head, length, limits });
}

function headersOf({ hash, file }: ContentReply): Headers {
  const named = file === undefined ? {} : { ...contentHeaders(file), "content-disposition": attachment(file.path) };
  return {
    ...SAFE_HEADERS,
    etag: `"${hash}"`,
    "accept-ranges": "bytes",
    // Caches must revalidate by the ETag, because a caller's rights may change.
    "cache-control": "private, no-cache",
    "content-type": file === undefined ? "application/octet-stream" : contentTypeOf(file.path),
    ...named,
  };
}

interface Sending {
  readonly pieces: AsyncIterable<Uint8Array>;
  readonly status: number;
  readonly head: Headers;
  readonly length: number;
  readonly limits: ServerLimits;
}

async function sendPieces(reply: FastifyReply, sending: Sending): Promise<void> {
  const { pieces, status, head, length, limits } = sending;
  // Read all of a small content before sending it, because damage is detected only at the end of the content.
  if (length <= SMALL) return sendWhole(reply, sending);
  let sent = 0;
  for await (const piece of pieces) {
    // Write the pieces here, because Fastify would set no time limit for a slow client.
    if (sent === 0) reply.hijack().raw.writeHead(status, head);
    sent += piece.length;
    if (!(await writeTo(reply.raw, piece, limits.slowMs))) return;
  }
  refuseShort(sent, length);
  reply.raw.end();
}

async function sendWhole(reply: FastifyReply, { pieces, status, head, length }: Sending): Promise<void> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  const [first = EMPTY] = all;
  const bytes = all.length > 1 ? Buffer.concat(all) : first;
  refuseShort(bytes.length, length);
  reply.code(status).headers(head).send(bytes);
}

function refuseShort(sent: number, length: number): void {
  if (sent !== length) throw new Error(`a content of ${length} bytes ended after ${sent}`);
}

/** A range of bytes. `end` is exclusive. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the requested range (RFC 9110 §14). Returns `undefined` if the whole content is to be sent: there is no
 * `Range` header, its unit is not bytes, or its syntax is invalid. Returns `unsatisfiable` if the content has no byte
 * of the range, or if several ranges are requested.
 */
export function rangeOf(header: string | undefined, size: number): ByteRange | "unsatisfiable" | undefined {
  const wanted = /^bytes=(.*)$/i.exec(header ?? "")?.[1];
  if (wanted === undefined) return undefined;
  if (wanted.includes(",")) return "unsatisfiable";
  const [, first = "", last = ""] = /^\s*(\d{0,15})-(\d{0,15})\s*$/.exec(wanted) ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") return suffix(Number(last), size);
  const start = Number(first);
  const end = last === "" ? size : Math.min(Number(last) + 1, size);
  if (last !== "" && Number(last) < start) return undefined;
  return start >= size ? "unsatisfiable" : { start, end };
}

function suffix(length: number, size: number): ByteRange | "unsatisfiable" {
  return length === 0 || size === 0 ? "unsatisfiable" : { start: Math.max(0, size - length), end: size };
}

/**
 * Maps an extension to the media type of files in which a browser runs no code. All other files are sent as plain text
 * or as bytes.
 */
const BY_EXTENSION: ReadonlyMap<string, string> = new Map(
  Object.entries({
    png: "image/png",
    jpg: "image/jpeg",
    jpeg: "image/jpeg",
    gif: "image/gif",
    webp: "image/webp",
    avif: "image/avif",
    ico: "image/x-icon",
    bmp: "image/bmp",
    mp3: "audio/mpeg",
    ogg: "audio/ogg",
    wav: "audio/wav",
    mp4: "video/mp4",
    webm: "video/webm",
    woff: "font/woff",
    woff2: "font/woff2",
  }),
);

const PLAIN = "text/plain; charset=utf-8";
const BYTES = "application/octet-stream";

/**
 * Matches the extensions of files that are sent as plain text. Markup, scripts and styles are among them, so that no
 * browser runs or applies them.
 */
const TEXT =
  /^(bash|bat|c|cc|cfg|clj|conf|cpp|cs|css|csv|dart|diff|ex|exs|go|gradle|graphql|h|hpp|hs|htm|html|ini|java|jl|js|json|jsonc|jsonl|jsx|kt|less|lock|log|lua|m|md|mjs|cjs|mts|cts|ml|nix|patch|php|pl|properties|proto|ps1|py|r|rb|rs|sass|scala|scss|sh|sql|svelte|svg|swift|tex|tf|toml|ts|tsv|tsx|txt|vue|xhtml|xml|yaml|yml|zig|zsh)$/;

/** Returns the `Content-Type` for a path by its extension. Default: `application/octet-stream`. */
export function contentTypeOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const extension = /\.([A-Za-z0-9]{1,12})$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return BY_EXTENSION.get(extension) ?? (TEXT.test(extension) ? PLAIN : BYTES);
}

/** Returns the `Content-Disposition` (RFC 6266, RFC 8187) that makes browsers save the file instead of opening it. */
export function attachment(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1).toWellFormed();
  const plain = name.replaceAll(/[^A-Za-z0-9._ -]/g, "_").slice(0, 100);
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*!]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
