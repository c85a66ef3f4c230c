import { ChronicleError } from "./errors.ts";
import { withVisible } from "./invisible.ts";

/**
 * A path inside a workspace. `""` is the root. The components of a path are separated by `/`. No component is empty,
 * `.` or `..`. No component contains a NUL, except for the mark of a further root (see below).
 *
 * Bytes that are not UTF-8 are kept exactly. Each such byte is one lone surrogate U+DC80..U+DCFF (as in Python's PEP
 * 383). Therefore, a path is well-formed text exactly if its bytes are UTF-8.
 *
 * A path in a further tracked root begins with a mark: the component `\0<root id>`, which cannot be the name of a file.
 * A path from outside of the program must be converted by `parsePath` (text) or `pathFromBytes` (names from a file
 * system).
 */
export type WorkspacePath = string & { readonly __brand: "WorkspacePath" };

export const ROOT = "" as WorkspacePath;

export const MAX_PATH_BYTES = 65_535;

const ROOT_MARK = "\0";
const ROOT_ID = /^[a-z0-9][a-z0-9-]{0,62}$/;

function refuse(text: string, reason: string): never {
  const shown = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  throw new ChronicleError("PATH_INVALID", `path ${JSON.stringify(shown)} is refused: ${reason}`, {
    hint: "give a path relative to the workspace's root, without . or .. components",
    data: { path: shown, reason },
  });
}

/**
 * Matches an empty component, `.`, `..`, or a NUL. Almost no path matches, so the components of most paths need not be
 * checked one by one.
 */
const SUSPECT = /(?:^|\/)\.{0,2}(?:\/|$)|\0/;

function checkComponents(text: string): void {
  if (!SUSPECT.test(text)) return;
  if (text.startsWith("/")) refuse(text, "it is absolute");
  for (const part of text.split("/")) {
    if (part === "") refuse(text, "it has an empty component");
    if (part === "." || part === "..") refuse(text, `it has a ${part} component`);
    if (part.includes("\0")) refuse(text, "it has a NUL byte");
  }
}

/** Parses a text as a path. `""` is the root. Throws `PATH_INVALID` for a text that is not a path. */
export function parsePath(text: string): WorkspacePath {
  if (text === "") return ROOT;
  if (!text.isWellFormed()) refuse(text, "it is not well-formed text");
  checkComponents(text);
  if (Buffer.byteLength(text) > MAX_PATH_BYTES) refuse(text, `it is longer than ${MAX_PATH_BYTES} bytes`);
  return text as WorkspacePath;
}

/** Parses bytes from a file system or a record as a path. Throws `PATH_INVALID` for an invalid path. */
export function pathFromBytes(bytes: Uint8Array): WorkspacePath {
  const text = decodeName(bytes);
  if (text !== "") checkComponents(text);
  if (bytes.length > MAX_PATH_BYTES) refuse(text, `it is longer than ${MAX_PATH_BYTES} bytes`);
  return text as WorkspacePath;
}

/** Returns the exact bytes of a path. The path must not have the mark of a further root (see `splitRoot`). */
export function pathToBytes(path: string): Buffer {
  if (path.isWellFormed()) return Buffer.from(path);
  const parts: Buffer[] = [];
  // With the flag `u`, the pattern does not match the second half of a surrogate pair.
  for (const run of path.split(/([\uDC80-\uDCFF]+)/u)) {
    if (run === "") continue;
    const code = run.charCodeAt(0);
    const escaped = code >= 0xdc80 && code <= 0xdcff;
    parts.push(escaped ? Buffer.from(Array.from(run, (c) => c.charCodeAt(0) - 0xdc00)) : Buffer.from(run));
  }
  return Buffer.concat(parts);
}

export function isUtf8Path(path: string): boolean {
  return path.isWellFormed();
}

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes the bytes of one name or path. Bytes that are not UTF-8 become lone surrogates. */
export function decodeName(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes);
  } catch {
    return decodeEscaped(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }
}

function sequenceLength(lead: number): number {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return 2;
  if (lead >= 0xe0 && lead <= 0xef) return 3;
  return lead >= 0xf0 && lead <= 0xf4 ? 4 : 0;
}

function decodeEscaped(bytes: Buffer): string {
  let out = "";
  for (let at = 0; at < bytes.length;) {
    const lead = bytes[at] ?? 0;
    const length = sequenceLength(lead);
    const piece = bytes.subarray(at, at + length);
    if (length > 0 && piece.length === length && isValid(piece)) {
      out += piece.toString("utf8");
      at += length;
    } else {
      out += String.fromCharCode(0xdc00 + lead);
      at += 1;
    }
  }
  return out;
}

function isValid(piece: Buffer): boolean {
  try {
    strict.decode(piece);
    return true;
  } catch {
    return false;
  }
}

/**
 * Compares two paths component by component, and two components by their bytes. A folder comes directly before its
 * contents. All sorted lists of paths have this order.
 */
export function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    if (x === 0x2f) return -1;
    if (y === 0x2f) return 1;
    if (x < 0xd800 && y < 0xd800) return x - y;
    return compareBytes(a, b);
  }
  return a.length - b.length;
}

/** Compares two names in one folder by their bytes. */
export function compareNames(a: string, b: string): number {
  return comparePaths(a, b);
}

function compareBytes(a: string, b: string): number {
  const left = a.split("/");
  const right = b.split("/");
  const length = Math.min(left.length, right.length);
  for (let i = 0; i < length; i += 1) {
    const order = Buffer.compare(pathToBytes(left[i] ?? ""), pathToBytes(right[i] ?? ""));
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** Returns true for the folder of a tracked root: `""` for the first root, or the mark of a further root. */
export function isRoot(path: string): boolean {
  return path === "" || (path.startsWith(ROOT_MARK) && !path.includes("/"));
}

/**
 * Returns the folder that contains the path, in the same tracked root. A root is its own parent, as `/..` is `/`.
 * `foldersAbove` yields all folders above a path.
 */
export function parentOf(path: WorkspacePath): WorkspacePath {
  const slash = path.lastIndexOf("/");
  if (slash >= 0) return path.slice(0, slash) as WorkspacePath;
  return path.startsWith(ROOT_MARK) ? path : ROOT;
}

/** Yields the folders above a path in its tracked root, the nearest first, without the root itself. */
export function* foldersAbove(path: WorkspacePath): Generator<WorkspacePath> {
  for (let folder = parentOf(path); !isRoot(folder); folder = parentOf(folder)) yield folder;
}

/** Yields the folders of `foldersAbove`, and then the folder of the tracked root. */
export function* foldersWith(path: WorkspacePath): Generator<WorkspacePath> {
  yield* foldersAbove(path);
  yield rootFolderOf(path);
}

export function rootFolderOf(path: WorkspacePath): WorkspacePath {
  if (!path.startsWith(ROOT_MARK)) return ROOT;
  const slash = path.indexOf("/");
  return (slash < 0 ? path : path.slice(0, slash)) as WorkspacePath;
}

/**
 * Returns the parent of a path in a tree that has the further roots as children of the first root. Returns `undefined`
 * for the first root. Only an index or a cache with such a tree may use this function. Everywhere else, a further root
 * is not a child of the first root.
 */
export function nodeAbove(path: WorkspacePath): WorkspacePath | undefined {
  if (path === ROOT) return undefined;
  const slash = path.lastIndexOf("/");
  return (slash < 0 ? "" : path.slice(0, slash)) as WorkspacePath;
}

/**
 * Returns true for a name that stands for a further root in the tree of `nodeAbove`. Such a name begins with a NUL,
 * unlike any file name.
 */
export function isRootName(name: string): boolean {
  return name.startsWith(ROOT_MARK);
}

export function nameOf(path: WorkspacePath): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/**
 * Returns the path of a name in a folder. The name must come from a file system or from a path, because this function
 * does not check the name.
 */
export function childOf(folder: WorkspacePath, name: string): WorkspacePath {
  return (folder === "" ? name : `${folder}/${name}`) as WorkspacePath;
}

/**
 * Returns true if a path is the folder or is beneath it. A root contains only its own paths, not those of another root.
 */
export function isWithin(path: WorkspacePath, folder: WorkspacePath): boolean {
  if (folder === ROOT) return !path.startsWith(ROOT_MARK);
  return path === folder || (path.startsWith(folder) && path.charCodeAt(folder.length) === 0x2f);
}

/**
 * Returns true if a tracked root contains the path `inner`, which is relative to the root. If the root is a single
 * file, `only` is the path of this file, and the root contains only this path. If a folder has replaced the file, the
 * root also contains the paths beneath the folder.
 */
export function isHeldBy({ only }: { readonly only?: string | undefined }, inner: WorkspacePath): boolean {
  return only === undefined || isWithin(inner, only as WorkspacePath);
}

export function isRootId(id: string): boolean {
  return ROOT_ID.test(id);
}

/**
 * Returns the workspace's path for a path within a tracked root. `root` is the id of the root, `undefined` for the
 * first root. Throws `PATH_INVALID` for an invalid id.
 */
export function pathInRoot(root: string | undefined, path: WorkspacePath): WorkspacePath {
  if (root === undefined) return path;
  if (!ROOT_ID.test(root)) throw new ChronicleError("PATH_INVALID", `not a root id: ${JSON.stringify(root)}`);
  return childOf(`${ROOT_MARK}${root}` as WorkspacePath, path === "" ? "" : path).replace(/\/$/, "") as WorkspacePath;
}

/** Returns the root id (`undefined` for the first root) and the path within that root. */
export function splitRoot(path: WorkspacePath): { readonly root: string | undefined; readonly path: WorkspacePath } {
  if (!path.startsWith(ROOT_MARK)) return { root: undefined, path };
  const slash = path.indexOf("/");
  if (slash < 0) return { root: path.slice(1), path: ROOT };
  return { root: path.slice(1, slash), path: path.slice(slash + 1) as WorkspacePath };
}

/** Matches `@<root id>:`, the prefix that stands for a further root in the text form of a path. */
const ROOT_TEXT = /^@[a-z0-9-]+:/;
/** The prefix of the base64 text form, which a path has if its bytes are not UTF-8. */
const BYTES_TEXT = "base64:";

export function isInFurtherRoot(text: string): boolean {
  return ROOT_TEXT.test(text);
}

/**
 * Returns true if the path `inner` within a root begins with `base64:`. Also returns true if a path in the first root
 * begins with `@<root id>:`. Without the prefix `./` (see `textMark`), the text of such a path would be read as another
 * path.
 */
export function beginsLikeMark(root: string | undefined, inner: string): boolean {
  return inner.startsWith(BYTES_TEXT) || (root === undefined && ROOT_TEXT.test(inner));
}

/**
 * Returns the prefix of a path's text form: `@<root id>:` for a further root, followed by `./` if the path itself
 * begins like a prefix (`beginsLikeMark`).
 */
export function textMark(root: string | undefined, inner: string): string {
  return (root === undefined ? "" : `@${root}:`) + (beginsLikeMark(root, inner) ? "./" : "");
}

/**
 * Formats a path for people. The text begins with the prefix from `textMark`. Backslashes, invisible characters,
 * direction marks and bytes that are not UTF-8 are escaped.
 */
export function displayPath(path: WorkspacePath): string {
  const { root, path: inner } = splitRoot(path);
  const shown = withVisible(inner.replaceAll("\\", "\\\\"), (c) => {
    const code = c.codePointAt(0) ?? 0;
    if (c === "\n") return "\\n";
    if (c === "\t") return "\\t";
    if (code >= 0xdc80 && code <= 0xdcff) return `\\x${(code - 0xdc00).toString(16)}`;
    return `\\u{${code.toString(16)}}`;
  });
  return textMark(root, inner) + shown;
}
