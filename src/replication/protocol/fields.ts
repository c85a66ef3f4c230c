import * as z from "zod";
import { ChronicleError } from "../../core/values/errors.ts";
import { encodePath } from "../../core/values/file-record.ts";
import { isHash, type Hash } from "../../core/values/hash.ts";
import { displayPath, parsePath, pathFromBytes, pathInRoot, type WorkspacePath } from "../../core/values/path.ts";
import { INVISIBLE } from "../../core/values/invisible.ts";
import { INLINE_BELOW_BYTES } from "./limits.ts";

/** The fields of messages. All are bounded. */

/** Longest name. */
const MAX_NAME = 256;

/** Longest path as text: its bytes in Base64. */
const MAX_PATH_TEXT = 88_000;

export const hash = z.custom<Hash>((value) => typeof value === "string" && isHash(value), "is no SHA-256 in hex");

/** The number of an event, an iteration or a journal's entry; 0 for none. */
export const count = z.int().min(0);

/** A short text. */
export const name = z.string().min(1).max(MAX_NAME);

/**
 * Who does something, or the id of a session, a turn or an action. A terminal must be able to show it, and nobody may take it for another
 * one: see `checkActorName`.
 */
export const plainName = name.refine((text) => isPlain(text), "is empty, or holds invisible or control characters");

function isPlain(text: string): boolean {
  INVISIBLE.lastIndex = 0;
  return text.trim() !== "" && !INVISIBLE.test(text);
}

/** A name as it is sent: what nobody sees is written out. `undefined`: there is none. */
export function plainNameOf(text: string | undefined): string | undefined {
  const shown = text
    ?.replace(INVISIBLE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)
    .slice(0, MAX_NAME);
  return shown === undefined || shown.trim() === "" ? undefined : shown.toWellFormed();
}

export const sandboxId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/);

/** The last event of a chain. Sequence 0 and hash `""` for an empty one. */
export const head = z
  .strictObject({ sequence: count, hash: z.union([hash, z.literal("")]) })
  .refine(({ sequence, hash: last }) => (sequence === 0) === (last === ""), "a head has a sequence and a hash");

/** A byte field. The bytes follow the JSON of a content frame, which has only their length. */
export function bytes(max: number) {
  return z.custom<Uint8Array>((value) => value instanceof Uint8Array && value.length <= max, `is at most ${max} bytes`);
}

const rootId = z.string().max(63);

/** A path in a message: as text, or in Base64 if its bytes are not UTF-8; `root` for a further root. */
export const pathFields = {
  filepath: z.string().max(MAX_PATH_TEXT).optional(),
  filepath_b64: z.string().min(1).max(MAX_PATH_TEXT).optional(),
  root: rootId.optional(),
};

/** Fields that contain a path. */
export interface PathFields {
  readonly filepath?: string | undefined;
  readonly filepath_b64?: string | undefined;
  readonly root?: string | undefined;
}

/** Converts a path to fields of a message. */
export function pathToFields(path: WorkspacePath): PathFields {
  const { path: filepath, path_b64, root } = encodePath(path) as { path?: string; path_b64?: string; root?: string };
  const named = root === undefined ? {} : { root };
  return path_b64 === undefined ? { filepath: filepath ?? "", ...named } : { filepath_b64: path_b64, ...named };
}

/** Absolute paths on Windows. Refused elsewhere too: nobody means such a name, and a later copy may be on Windows. */
const DRIVE = /^[A-Za-z]:[\\/]|^\\\\/;

/**
 * Returns the path in a message; all paths of peers pass through here. Throws `PATH_INVALID` for a path that leaves the
 * workspace, for Windows' absolute paths, for Base64 of valid UTF-8, and unless there is exactly one path.
 */
export function pathFromFields(fields: PathFields): WorkspacePath {
  const path = anyPathFromFields(fields);
  if (DRIVE.test(fields.filepath ?? "")) refuse(`the path ${displayPath(path)} is absolute on Windows`);
  return path;
}

/**
 * Like `pathFromFields`, but accepts names that are absolute on Windows: for requested and listed folders, whose hash
 * depends on them.
 */
export function anyPathFromFields(fields: PathFields): WorkspacePath {
  const { filepath, filepath_b64, root } = fields;
  if ((filepath === undefined) === (filepath_b64 === undefined)) refuse("a message has one path");
  const inner = filepath === undefined ? pathFromBytes(Buffer.from(filepath_b64 ?? "", "base64")) : parsePath(filepath);
  const path = pathInRoot(root, inner);
  if (filepath_b64 !== undefined && pathToFields(path).filepath_b64 !== filepath_b64) {
    refuse("a path stands in Base64 only where its bytes are not UTF-8");
  }
  return path;
}

function refuse(reason: string): never {
  throw new ChronicleError("PATH_INVALID", reason);
}

/** Checks that the path is valid, and not the root. */
export function namesPath(fields: PathFields): boolean {
  return pathFromFields(fields) !== "";
}

/** The state of a path in a message. `absent` is a deletion. */
export const stateFields = {
  ...pathFields,
  kind: z.enum(["file", "symlink", "dir", "absent"]),
  content_hash: hash.nullable(),
  /** Size of the content or the link's target, in bytes. */
  size: z.int().min(0),
  permissions: z.int().min(0).max(0o7777),
  is_deletion: z.boolean(),
  inline_content: bytes(INLINE_BELOW_BYTES - 1).optional(),
};

/** Fields that contain a state. */
export interface StateFields extends PathFields {
  readonly kind: "file" | "symlink" | "dir" | "absent";
  readonly content_hash: Hash | null;
  readonly size: number;
  readonly permissions: number;
  readonly is_deletion: boolean;
  readonly inline_content?: Uint8Array | undefined;
}

/** Checks that the fields of a state agree with each other. */
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
