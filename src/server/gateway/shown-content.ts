import { isUtf8 } from "node:buffer";
import type { FileContent } from "../../api/file-api.ts";
import { givenOfShown } from "../../core/text/shown-path.ts";

/** Largest content in one message, in bytes; more is read over HTTP. */
export const MOST_CONTENT = 512 * 1024;

/** A content in JSON: text as it is, else base64. */
export interface ShownContent {
  readonly encoding: "utf8" | "base64";
  readonly content: string;
  /** Absent if this is the whole content. Else the rest, to be fetched with this `Range`. */
  readonly rest?: { readonly url: string; readonly range: string };
}

/** The content, or its beginning. A whole one is checked against its hash. */
export async function shownContent(workspace: string, file: FileContent): Promise<ShownContent> {
  const isWhole = file.size <= MOST_CONTENT;
  const pieces: Uint8Array[] = [];
  for await (const piece of isWhole ? file.pieces() : file.pieces({ start: 0, end: MOST_CONTENT })) pieces.push(piece);
  const bytes = Buffer.concat(pieces);
  if (isWhole) return shown(bytes);
  const text = wholeCharacters(bytes);
  const given = isUtf8(text) ? text : bytes;
  const url = `/v1/workspaces/${workspace}/files/${urlPath(file)}/at/${file.iteration}?as=iteration`;
  return { ...shown(given), rest: { url, range: `bytes=${given.length}-` } };
}

function shown(bytes: Buffer): ShownContent {
  return isUtf8(bytes)
    ? { encoding: "utf8", content: bytes.toString("utf8") }
    : { encoding: "base64", content: bytes.toString("base64") };
}

/** Drops a character that is cut in two at the end: UTF-8 has at most three bytes behind a leading one. */
function wholeCharacters(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte < 0x80 ? 1 : byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return needed > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}

function urlPath({ path, path_b64: exact }: FileContent): string {
  if (exact === undefined) return path.split("/").map(encodeURIComponent).join("/");
  const given = givenOfShown({ path, path_b64: exact });
  return encodeURIComponent(given.replaceAll("+", "-").replaceAll("/", "_"));
}
