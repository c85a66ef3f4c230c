import { type Entry, SYMLINK_MODE, entryTime } from "../../core/values/entry.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { ConfinedFs } from "./confined-fs.ts";
import type { StableRead, StableSink } from "./read-stable.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { sha256, sha256Pieces } from "../../core/values/hash.ts";
import { readStable, SMALL_BYTES } from "./read-stable.ts";

export interface Inspected {
  readonly stat: FileStat;
  readonly entry: Entry;
}

const HASH_ONLY: StableSink = { small: (content) => sha256(content), large: sha256Pieces };

/** Hashes a file. The stat in the result belongs to the hashed content, except if the result is `unstable`. */
export function hashFile(fs: ConfinedFs, inner: WorkspacePath): StableRead {
  return readStable(fs, inner, HASH_ONLY);
}

/**
 * Returns the content of a file of at most `SMALL_BYTES`, or the target of a link. Returns `undefined` for a larger or
 * unreadable file, and for anything else.
 */
export function readPath(fs: ConfinedFs, inner: WorkspacePath): Buffer | undefined {
  const stat = fs.lstat(inner);
  if (stat?.kind === "symlink") return fs.readlink(inner);
  if (stat?.kind !== "file" || stat.size > SMALL_BYTES) return undefined;
  let content: Buffer | undefined;
  const keep = (bytes: Uint8Array): Hash => {
    content = Buffer.from(bytes);
    return sha256(content);
  };
  const read = readStable(fs, inner, { small: keep, large: sha256Pieces });
  return read.kind === "read" ? content : undefined;
}

/** Makes an entry from a stat and a hash. `path` is relative to the workspace, not to a root. */
export function entryOf(path: WorkspacePath, stat: FileStat, hash: Hash | undefined): Entry {
  if (stat.kind === "dir") return { path, kind: "dir", mode: stat.mode, size: 0, mtimeMs: 0, hash: undefined };
  const kind = stat.kind === "symlink" ? "symlink" : "file";
  const mode = kind === "symlink" ? SYMLINK_MODE : stat.mode;
  return { path, kind, mode, size: stat.size, ...entryTime(stat.mtimeNs), hash };
}

/**
 * Returns the entry at a path; `undefined` if the path does not exist or is a special file. `inner`: the path relative
 * to the root. Throws `IO` if a file cannot be read.
 */
export function inspectPath(fs: ConfinedFs, path: WorkspacePath, inner: WorkspacePath): Inspected | undefined {
  const stat = fs.lstat(inner);
  if (stat === undefined || stat.kind === "special") return undefined;
  if (stat.kind === "dir") return { stat, entry: entryOf(path, stat, undefined) };
  if (stat.kind === "symlink") return inspectLink(fs, path, inner);
  const read = hashFile(fs, inner);
  if (read.kind === "read")
    return { stat: read.stat, entry: { ...entryOf(path, read.stat, read.hash), size: read.size } };
  if (read.kind === "gone") return undefined;
  if (read.kind === "other") return inspectPath(fs, path, inner);
  throw new ChronicleError("IO", `cannot read ${JSON.stringify(path)}: ${read.detail}`, {
    data: { errno: read.detail },
  });
}

function inspectLink(fs: ConfinedFs, path: WorkspacePath, inner: WorkspacePath): Inspected | undefined {
  try {
    const target = fs.readlink(inner);
    const stat = fs.lstat(inner);
    if (stat?.kind !== "symlink") return inspectPath(fs, path, inner);
    return { stat, entry: { ...entryOf(path, stat, sha256(target)), size: target.length } };
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === "EINVAL") return inspectPath(fs, path, inner);
    if (errno === "ENOENT" || errno === "ENOTDIR" || errno === "ELOOP") return undefined;
    throw error;
  }
}
