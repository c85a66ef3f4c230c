import { ChronicleError } from "../../core/values/errors.ts";
import { encodePath } from "../../core/values/file-record.ts";
import { isHash, type Hash } from "../../core/values/hash.ts";
import { displayPath, parsePath, pathFromBytes, pathInRoot, type WorkspacePath } from "../../core/values/path.ts";
import { INVISIBLE } from "../../core/values/invisible.ts";
import { INLINE_BELOW_BYTES } from "./limits.ts";
import * as z from "zod";

const MAX_NAME = 256;

/** The maximum length of a path as text or in Base64, in characters. */
const MAX_PATH_TEXT = 88_000;

export const hash = z.custom<Hash>((value) => typeof value === "string" && isHash(value), "is no SHA-256 in hex");

/**
 * A count, or the number of an event, an iteration or a journal entry. The number 0 means that there is no such event,
 * iteration or entry.
 */
export const count = z.int().min(0);

/** The nanoseconds of a time beyond its whole milliseconds. The field is omitted if there are none. */
export const restOfTime = z.int().min(1).max(999_999);

export const name = z.string().min(1).max(MAX_NAME);

/**
 * The name of an actor, or the id of a session, a turn or an action. Invisible characters are not allowed, so that no
 * name can look like another name in a terminal. See `checkActorName`.
 */
export const plainName = name.refine((text) => isPlain(text), "is empty, or holds invisible or control characters");

function isPlain(text: string): boolean {
  INVISIBLE.lastIndex = 0;
  return text.trim() !== "" && !INVISIBLE.test(text);
}

/**
 * Returns the name with invisible characters escaped, cut to the maximum length. Returns `undefined` if there is no
 * name, or if the name has only spaces.
 */
export function plainNameOf(text: string | undefined): string | undefined {
  const shown = text
    ?.replace(INVISIBLE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)
    .slice(0, MAX_NAME);
  return shown === undefined || shown.trim() === "" ? undefined : shown.toWellFormed();
}

export const sandboxId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/);

/** The last event of a chain. An empty chain has sequence 0 and hash `""`. */
export const head = z
  .strictObject({ sequence: count, hash: z.union([hash, z.literal("")]) })
  .refine(
    ({ sequence, hash: last }) => (sequence === 0) === (last === ""),
    "a head must have both a sequence and a hash, or neither",
  );

/** A byte field of at most `max` bytes. The frame has the bytes in its body, and their number in its JSON. */
export function bytes(max: number) {
  return z.custom<Uint8Array>((value) => value instanceof Uint8Array && value.length <= max, `is at most ${max} bytes`);
}

const rootId = z.string().max(63);

/**
 * A path in a message: text, or Base64 if its bytes are not UTF-8. `root` is set for a path in a further tracked root.
 */
export const pathFields = {
  filepath: z.string().max(MAX_PATH_TEXT).optional(),
  filepath_b64: z.string().min(1).max(MAX_PATH_TEXT).optional(),
  root: rootId.optional(),
};

export interface PathFields {
  readonly filepath?: string | undefined;
  readonly filepath_b64?: string | undefined;
  readonly root?: string | undefined;
}

export function pathToFields(path: WorkspacePath): PathFields {
  const { path: filepath, path_b64, root } = encodePath(path) as { path?: string; path_b64?: string; root?: string };
  const named = root === undefined ? {} : { root };
  return path_b64 === undefined ? { filepath: filepath ?? "", ...named } : { filepath_b64: path_b64, ...named };
}

/**
 * Matches paths that are absolute on Windows. Such paths are refused on all systems, because the files may be copied to
 * Windows later.
 */
const DRIVE = /^[A-Za-z]:[\\/]|^\\\\/;

/**
 * Returns the path in a message. Throws `PATH_INVALID` in these cases:
 * - the message does not have exactly one path;
 * - the path leaves the workspace, or is absolute on Windows;
 * - the path is in Base64 although its bytes are UTF-8.
 */
export function pathFromFields(fields: PathFields): WorkspacePath {
  const path = anyPathFromFields(fields);
  if (DRIVE.test(fields.filepath ?? "")) refuse(`the path ${displayPath(path)} is absolute on Windows`);
  return path;
}

/**
 * Like `pathFromFields`, but also accepts paths that are absolute on Windows. Requests and listings of folders need
 * such paths, because the Merkle hash of a folder covers the names of all its children.
 */
export function anyPathFromFields(fields: PathFields): WorkspacePath {
  const { filepath, filepath_b64, root } = fields;
  if ((filepath === undefined) === (filepath_b64 === undefined)) refuse("a message must have exactly one path");
  const inner = filepath === undefined ? pathFromBytes(Buffer.from(filepath_b64 ?? "", "base64")) : parsePath(filepath);
  const path = pathInRoot(root, inner);
  if (filepath_b64 !== undefined && pathToFields(path).filepath_b64 !== filepath_b64) {
    refuse("a path is in Base64 only if its bytes are not UTF-8");
  }
  return path;
}

function refuse(reason: string): never {
  throw new ChronicleError("PATH_INVALID", reason);
}

/** True unless the path is the root. Throws as `pathFromFields` does. */
export function namesPath(fields: PathFields): boolean {
  return pathFromFields(fields) !== "";
}

/** The state of a path. The kind of a deleted path is `absent`. */
export const stateFields = {
  ...pathFields,
  kind: z.enum(["file", "symlink", "dir", "absent"]),
  content_hash: hash.nullable(),
  /** The size of the content or of the link's target, in bytes. */
  size: z.int().min(0),
  permissions: z.int().min(0).max(0o7777),
  is_deletion: z.boolean(),
  inline_content: bytes(INLINE_BELOW_BYTES - 1).optional(),
};

export interface StateFields extends PathFields {
  readonly kind: "file" | "symlink" | "dir" | "absent";
  readonly content_hash: Hash | null;
  readonly size: number;
  readonly permissions: number;
  readonly is_deletion: boolean;
  readonly inline_content?: Uint8Array | undefined;
}

/** True if the fields agree with each other. Throws as `pathFromFields` does. */
export function isState(fields: StateFields): boolean {
  const { kind, content_hash, size, is_deletion, inline_content } = fields;
  if (!namesPath(fields) || is_deletion !== (kind === "absent")) return false;
  if (kind === "dir" || kind === "absent") {
    return (
      content_hash === null &&
      size === 0 &&
      inline_content === undefined &&
      (kind === "dir" || fields.permissions === 0)
    );
  }
  return content_hash !== null && (inline_content === undefined || inline_content.length === size);
}
