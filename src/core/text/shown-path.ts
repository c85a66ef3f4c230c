import { displayPath, pathFromBytes } from "../values/path.ts";

/** How JSON shows the path of a further root. */
const ROOT_SHOWN = /^@[a-z0-9-]+:/;

/** Does a path beneath the first root look as one of a further root does? Then its bytes are given beside it. */
export function looksLikeRoot(inner: string): boolean {
  return ROOT_SHOWN.test(inner);
}

/** A path of Chronicle's JSON as a command takes it: exactly that one. `path_b64`: its bytes, where they are given. */
export function givenOfShown({ path, path_b64: bytes }: { readonly path: string; readonly path_b64?: string }): string {
  const [root = ""] = ROOT_SHOWN.exec(path) ?? [];
  // The dot: a name that begins like a notation is a name all the same.
  if (bytes === undefined) return `${root}./${path.slice(root.length)}`;
  const inner = pathFromBytes(Buffer.from(bytes, "base64"));
  const isOfFirst = path === inner || path === displayPath(inner);
  return `${isOfFirst ? "" : root}base64:${bytes}`;
}
