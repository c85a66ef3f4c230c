/**
 * The content of a simulated file: the visible content, the durable one, and the changes in between. `bytes` may be
 * longer than `size`. It may be shared with `saved`, whose bytes are never overwritten in place. It may also be shared
 * with the files of a forked disk. Then `bytesOwner` is not this disk.
 */
export interface SimFile {
  bytes: Buffer;
  size: number;
  bytesOwner: object | undefined;
  /** The content that survives every crash. */
  saved: { readonly bytes: Buffer; readonly size: number };
  /** The changes since then, oldest first. Never shared with another record. */
  pending: FileChange[];
}

/**
 * One unsynced change. `lost`: a sync of it failed. No later sync makes it durable, because the kernel has marked it as
 * clean.
 */
export type FileChange =
  | { readonly at: number; readonly bytes: Buffer; readonly lost: boolean }
  | { readonly length: number; readonly lost: boolean };

const NOTHING = Buffer.alloc(0);

/** Makes an empty, durable file. */
export function emptyFile(): SimFile {
  return { bytes: NOTHING, size: 0, bytesOwner: undefined, saved: { bytes: NOTHING, size: 0 }, pending: [] };
}

/** Makes a durable file with this content. */
export function durableFile(content: Uint8Array): SimFile {
  const bytes = Buffer.from(content);
  const saved = { bytes, size: bytes.length };
  return { bytes, size: bytes.length, bytesOwner: undefined, saved, pending: [] };
}

/** Returns the visible content. It is a view: copy it before the file changes. */
export function contentOf(file: SimFile): Buffer {
  return file.bytes.subarray(0, file.size);
}

/** Writes at `at`, filling a gap before it with zeros. */
export function writeBytes(file: SimFile, at: number, bytes: Uint8Array, owner: object): void {
  if (bytes.length === 0) return;
  applyWrite(file, at, bytes, owner);
  file.pending.push({ at, bytes: Buffer.from(bytes), lost: false });
}

/** Truncates the file, or extends it with zeros. */
export function setLength(file: SimFile, length: number, owner: object): void {
  if (length === file.size) return;
  applyLength(file, length, owner);
  file.pending.push({ length, lost: false });
}

/**
 * Makes the first `count` pending changes durable. Default: all, as a sync does. Fewer stand for an interrupted sync.
 * Lost changes stay lost.
 */
export function saveChanges(file: SimFile, count = file.pending.length): void {
  if (count === file.pending.length && !file.pending.some((change) => change.lost)) {
    file.saved = { bytes: file.bytes, size: file.size };
    file.pending = [];
    return;
  }
  const done = file.pending.slice(0, count);
  const result = replay(
    file.saved,
    done.filter(({ lost }) => !lost),
  );
  file.saved = { bytes: result.bytes, size: result.size };
  const lost = done.filter((change, at) => change.lost && !isReplaced(change, done.slice(at + 1)));
  file.pending = [...lost, ...file.pending.slice(count)];
}

/**
 * True if a later saved change replaces this lost one: a page that was written again does not depend on the failed
 * sync.
 */
function isReplaced(change: FileChange, later: readonly FileChange[]): boolean {
  const saved = later.filter(({ lost }) => !lost);
  if ("length" in change) return saved.length > 0;
  const end = change.at + change.bytes.length;
  return saved.some((one) =>
    "length" in one ? one.length <= change.at : one.at <= change.at && one.at + one.bytes.length >= end,
  );
}

/**
 * Marks pending changes as lost after a failed sync. They may or may not reach the disk, and no later sync reports
 * that.
 */
export function loseChanges(file: SimFile): void {
  file.pending = file.pending.map((change) => ({ ...change, lost: true }));
}

/** Gives `target` the content of `source` without copying it, as one unsynced change. */
export function shareContent(source: SimFile, target: SimFile): void {
  source.bytesOwner = undefined;
  target.bytes = source.bytes;
  target.size = source.size;
  target.bytesOwner = undefined;
  if (source.size > 0) target.pending = [{ at: 0, bytes: source.bytes.subarray(0, source.size), lost: false }];
}

/** Applies some changes to the durable content. */
export function replay(saved: SimFile["saved"], changes: readonly FileChange[]): SimFile {
  const owner = {};
  const file: SimFile = { ...saved, bytesOwner: undefined, saved, pending: [] };
  for (const change of changes) {
    if ("length" in change) applyLength(file, change.length, owner);
    else applyWrite(file, change.at, change.bytes, owner);
  }
  return file;
}

function applyWrite(file: SimFile, at: number, bytes: Uint8Array, owner: object): void {
  const end = at + bytes.length;
  makeWritable(file, Math.min(at, file.size), Math.max(end, file.size), owner);
  if (at > file.size) file.bytes.fill(0, file.size, at);
  file.bytes.set(bytes, at);
  file.size = Math.max(file.size, end);
}

function applyLength(file: SimFile, length: number, owner: object): void {
  if (length > file.size) {
    makeWritable(file, file.size, length, owner);
    file.bytes.fill(0, file.size, length);
  }
  file.size = length;
}

/** Ensures that bytes from `from` on can be changed up to `capacity` without affecting any other owner. */
function makeWritable(file: SimFile, from: number, capacity: number, owner: object): void {
  const disturbs = file.bytes === file.saved.bytes && from < file.saved.size;
  if (file.bytesOwner === owner && !disturbs && capacity <= file.bytes.length) return;
  const room = Buffer.allocUnsafe(capacity <= 64 ? 64 : Math.ceil(capacity * 1.5));
  file.bytes.copy(room, 0, 0, file.size);
  file.bytes = room;
  file.bytesOwner = owner;
}
