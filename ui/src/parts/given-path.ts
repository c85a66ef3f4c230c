interface Told {
  readonly path: string;
  /** The bytes of a path, in Base64. Present if the path is not UTF-8, or begins like the mark of a root. */
  readonly path_b64?: string;
}

/**
 * Returns the path of an answer in the form in which a request names exactly this path. All links and keys of the page
 * have this form. If a name is not UTF-8, the `path` of the answer has escapes, which would name another file.
 */
export function givenPath({ path, path_b64: encoded }: Told): string {
  if (encoded === undefined || isUtf8(bytesOf(encoded))) return path;
  const [root = ""] = /^@[a-z0-9-]+:/.exec(path) ?? [];
  return `${root}base64:${encoded}`;
}

const ENCODED = /^(@[a-z0-9-]+:)?base64:([A-Za-z0-9+/]*={0,2})$/;

/** Returns a path as people read it. Bytes that are not UTF-8 are shown as `\xff`. */
export function readPath(given: string): string {
  const [, root = "", encoded] = ENCODED.exec(given) ?? [];
  return encoded === undefined ? given : root + escaped(bytesOf(encoded));
}

/**
 * Returns the name of a file or folder, as people read it. Leaves out the mark of the root, because a list of one
 * folder does not need it.
 */
export function readName(given: string): string {
  const shown = readPath(given).replace(/^@[a-z0-9-]+:/, "");
  return shown.slice(shown.lastIndexOf("/") + 1);
}

const SLASH = 0x2f;

/** Returns the path of the folder above, as a request names that folder; `""` for the topmost folder. */
export function folderAbove(given: string): string {
  const [, root = "", encoded] = ENCODED.exec(given) ?? [];
  if (encoded === undefined) {
    const [mark = ""] = /^@[a-z0-9-]+:/.exec(given) ?? [];
    return given === mark ? "" : given.slice(0, Math.max(mark.length, given.lastIndexOf("/")));
  }
  const bytes = bytesOf(encoded);
  const above = bytes.subarray(0, Math.max(0, bytes.lastIndexOf(SLASH)));
  const path = textOf(above);
  return root + (path ?? `base64:${btoa(String.fromCharCode(...above))}`);
}

function bytesOf(encoded: string): Uint8Array {
  return Uint8Array.from(atob(encoded), (one) => one.charCodeAt(0));
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function isUtf8(bytes: Uint8Array): boolean {
  return textOf(bytes) !== undefined;
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

function escaped(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length;) {
    const length = [1, 2, 3, 4].find((one) => textOf(bytes.subarray(at, at + one)) !== undefined);
    text +=
      length === undefined ? `\\x${bytes[at]?.toString(16).padStart(2, "0")}` : textOf(bytes.subarray(at, at + length));
    at += length ?? 1;
  }
  return text;
}
