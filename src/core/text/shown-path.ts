import { displayPath, pathFromBytes, textMark } from "../values/path.ts";

/** Matches the mark with which a path of a tracked root after the first begins in JSON, such as `@a:`. */
const ROOT_SHOWN = /^@[a-z0-9-]+:/;

/**
 * Converts a path from a JSON answer to an argument that names exactly this path. `path_b64` has the path's bytes in
 * Base64, if the answer contains them.
 */
export function givenOfShown({ path, path_b64: bytes }: { readonly path: string; readonly path_b64?: string }): string {
  const [root = ""] = ROOT_SHOWN.exec(path) ?? [];
  // Without the prefix `./`, a name such as `base64:x` would be read as an encoded path.
  if (bytes === undefined) return `${root}./${path.slice(root.length)}`;
  const inner = pathFromBytes(Buffer.from(bytes, "base64"));
  // An older server does not put `./` before a path of the first root that begins like a mark, such as `@a:b`.
  // Therefore, the path is also compared with its own bytes.
  const isOfFirst = path === inner || path === textMark(undefined, inner) + inner || path === displayPath(inner);
  return `${isOfFirst ? "" : root}base64:${bytes}`;
}
