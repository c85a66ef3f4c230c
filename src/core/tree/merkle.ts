import { CompactRange } from "../values/compact-range.ts";
import { type Entry, type EntryKind, SYMLINK_MODE } from "../values/entry.ts";
import { ChronicleError } from "../values/errors.ts";
import { EMPTY_HASH, type Hash, hashFromBytes, hashToBytes, sha256 } from "../values/hash.ts";
import { compareNames, isWithin, nameOf, pathToBytes, ROOT, splitRoot, type WorkspacePath } from "../values/path.ts";

/**
 * The Merkle root of a workspace. The hash of a folder is the root of an RFC 6962 §2.1 tree over the folder's children.
 *
 *     leaf(child) = SHA-256( 0x00 ‖ kind byte ‖ mode u32 BE ‖ name length u32 BE ‖ name bytes ‖ 32-byte hash )
 *     inner       = SHA-256( 0x01 ‖ left ‖ right )
 *     folder      = the tree over its children's leaves, sorted by name bytes; no children: SHA-256 of no bytes
 *
 * The 32-byte hash in a leaf is the hash of the content (file), of the target (symlink) or of the folder (dir). The
 * Merkle root of a workspace with one tracked root is the hash of that root's folder. With further tracked roots, the
 * Merkle root is the hash of a virtual folder. The children of this folder are the tracked roots, with kind dir, mode
 * 0, and the root id as the name. The first tracked root has the empty name.
 */

/** One child of a folder. `hash` is the SHA-256 of the content or of the link target, or the folder hash. */
export interface TreeChild {
  readonly name: string;
  readonly kind: EntryKind;
  /** Permission bits, 0..0o7777. */
  readonly mode: number;
  readonly hash: Hash;
}

/** Maps each kind to its byte in a leaf: `f`, `l` (symlink) or `d`. */
export const KIND_BYTES: Readonly<Record<EntryKind, number>> = { file: 0x66, symlink: 0x6c, dir: 0x64 };

const LEAF_FIXED = 1 + 1 + 4 + 4 + 32;

// The buffer is reused for every leaf, because its content is needed only during one call.
const leafScratch = Buffer.alloc(LEAF_FIXED + 1024);

function leafOf(name: string, kind: EntryKind, mode: number, hash: Hash): Hash {
  const size = LEAF_FIXED + name.length * 3;
  const input = size <= leafScratch.length ? leafScratch : Buffer.alloc(size);
  const length = name.isWellFormed() ? input.write(name, 10, "utf8") : pathToBytes(name).copy(input, 10);
  input[0] = 0;
  input[1] = KIND_BYTES[kind];
  input.writeUInt32BE(mode, 2);
  input.writeUInt32BE(length, 6);
  input.write(hash, 10 + length, "hex");
  return sha256(input.subarray(0, LEAF_FIXED + length));
}

/** Returns the leaf of a child of a folder. Throws `INTEGRITY_VIOLATION` for an impossible mode. */
export function childLeaf({ name, kind, mode, hash }: TreeChild): Hash {
  checkMode(kind, mode, name);
  return leafOf(name, kind, mode, hash);
}

/** Returns the 32-byte leaf of one child. `hash32` has the 32 bytes of the child's hash. */
export function entryLeaf(name: string, kind: EntryKind, mode: number, hash32: Buffer): Buffer {
  return hashToBytes(leafOf(name, kind, mode, hashFromBytes(hash32)));
}

/**
 * Returns the root of the tree over these leaves of 32 bytes each. Without leaves, the root is the SHA-256 of no bytes.
 */
export function treeHash(leaves: readonly Buffer[]): Buffer {
  const range = new CompactRange();
  for (const leaf of leaves) range.add(hashFromBytes(leaf));
  return hashToBytes(range.root());
}

function damaged(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", `not a manifest: ${reason}`);
}

function checkMode(kind: EntryKind, mode: number, path: string): void {
  if (!Number.isInteger(mode) || mode < 0 || mode > 0o7777) damaged(`${JSON.stringify(path)} has the mode ${mode}`);
  if (kind === "symlink" && mode !== SYMLINK_MODE) damaged(`the link ${JSON.stringify(path)} has the mode ${mode}`);
}

/**
 * Returns the hash of a folder from its children, which must be sorted by name bytes (`compareNames`). Throws
 * `INTEGRITY_VIOLATION` if the children are out of order, if a name occurs twice, or if a mode is impossible.
 */
export function folderHash(children: readonly TreeChild[]): Hash {
  const range = new CompactRange();
  let previous: string | undefined;
  for (const { name, kind, mode, hash } of children) {
    if (previous !== undefined && compareNames(previous, name) >= 0) damaged(`${JSON.stringify(name)} is out of order`);
    previous = name;
    checkMode(kind, mode, name);
    range.add(leafOf(name, kind, mode, hash));
  }
  return range.root();
}

export interface RootFolder {
  readonly id: string;
  readonly hash: Hash;
}

/**
 * Returns the Merkle root of a workspace. `first` is the folder hash of the first tracked root. `further` may be in any
 * order.
 */
export function workspaceRoot(first: Hash, further: readonly RootFolder[] = []): Hash {
  if (further.length === 0) return first;
  const roots = [{ id: "", hash: first }, ...further].toSorted((a, b) => compareNames(a.id, b.id));
  return folderHash(roots.map(({ id, hash }) => ({ name: id, kind: "dir", mode: 0, hash })));
}

/**
 * The Merkle root of a workspace, and the hash of every folder. The folders of the tracked roots have the paths `""`
 * and `\0<root id>`.
 */
export interface ManifestRoot {
  readonly root: Hash;
  readonly folders: ReadonlyMap<WorkspacePath, Hash>;
}

/**
 * Computes the Merkle root of all entries of a workspace, and the hash of every folder. `entries` must be in
 * `comparePaths` order, with each folder directly before its contents. In this order, the entries of further tracked
 * roots come before those of the first root. The folders of the roots have no entries. `furtherRoots` has the ids of
 * further tracked roots, including roots without entries.
 *
 * Throws `INTEGRITY_VIOLATION` for a wrong order, a path that occurs twice, a path whose folder has no entry, an
 * impossible mode, and a missing hash.
 */
export function manifestRoot(entries: Iterable<Entry>, furtherRoots: readonly string[] = []): ManifestRoot {
  const folders = new Map<WorkspacePath, Hash>();
  const hasher = new ManifestHasher((path, hash) => folders.set(path, hash));
  for (const entry of entries) hasher.add(entry);
  return { root: hasher.finish(furtherRoots), folders };
}

interface OpenFolder {
  readonly path: WorkspacePath;
  readonly mode: number;
  readonly range: CompactRange;
  lastName: string | undefined;
}

/**
 * Computes the root of `manifestRoot` from entries that are added one by one. The memory use of the hasher grows only
 * with the depth of the tree. `onFolder` receives the hash of each folder once all entries beneath the folder have been
 * added.
 */
export class ManifestHasher {
  readonly #onFolder: (path: WorkspacePath, hash: Hash) => void;
  readonly #roots = new Map<string, Hash>();
  #open: OpenFolder[] = [];
  #rootId: string | undefined;

  constructor(onFolder: (path: WorkspacePath, hash: Hash) => void = () => undefined) {
    this.#onFolder = onFolder;
  }

  add(entry: Entry): void {
    const { path, kind, mode } = entry;
    if (path === ROOT) damaged("the root has an entry");
    if (this.#open.length === 0 || !isWithin(path, (this.#open[0] as OpenFolder).path)) {
      this.#beginRoot(path);
    }
    const folder = this.#folderOf(path);
    const name = nameOf(path);
    if (folder.lastName !== undefined && compareNames(folder.lastName, name) >= 0) {
      damaged(`${JSON.stringify(path)} is out of order`);
    }
    folder.lastName = name;
    checkMode(kind, mode, path);
    if (kind === "dir") {
      this.#open.push({ path, mode, range: new CompactRange(), lastName: undefined });
    } else if (entry.hash === undefined) {
      damaged(`${JSON.stringify(path)} has no hash`);
    } else {
      folder.range.add(leafOf(name, kind, mode, entry.hash));
    }
  }

  /**
   * Returns the workspace's Merkle root. Must be called after the last entry. `furtherRoots` has the ids of further
   * tracked roots, including roots without entries.
   */
  finish(furtherRoots: readonly string[] = []): Hash {
    this.#closeTo(0);
    for (const id of ["", ...furtherRoots]) {
      if (this.#roots.has(id)) continue;
      this.#roots.set(id, EMPTY_HASH);
      this.#onFolder((id === "" ? ROOT : `\0${id}`) as WorkspacePath, EMPTY_HASH);
    }
    const further = [...this.#roots].filter(([id]) => id !== "").map(([id, hash]) => ({ id, hash }));
    return workspaceRoot(this.#roots.get("") as Hash, further);
  }

  #beginRoot(path: WorkspacePath): void {
    const { root, path: inside } = splitRoot(path);
    const id = root ?? "";
    if (inside === ROOT) damaged("a root has an entry");
    // The paths of the first root come last, because only paths of further roots begin with a NUL, which sorts first.
    const late =
      this.#rootId !== undefined && (this.#rootId === "" || (id !== "" && compareNames(this.#rootId, id) >= 0));
    if (late) damaged(`${JSON.stringify(path)} is out of order`);
    this.#closeTo(0);
    this.#rootId = id;
    const folder = (root === undefined ? ROOT : `\0${root}`) as WorkspacePath;
    this.#open = [{ path: folder, mode: 0, range: new CompactRange(), lastName: undefined }];
  }

  #folderOf(path: WorkspacePath): OpenFolder {
    let keep = this.#open.length;
    while (keep > 1 && !isWithin(path, (this.#open[keep - 1] as OpenFolder).path)) keep -= 1;
    this.#closeTo(keep);
    const folder = this.#open[keep - 1] as OpenFolder;
    const parentLength = Math.max(path.lastIndexOf("/"), 0);
    if (parentLength !== folder.path.length || path === folder.path) {
      damaged(`${JSON.stringify(path)} comes without its folder, or twice`);
    }
    return folder;
  }

  #closeTo(keep: number): void {
    while (this.#open.length > keep) {
      const { path, mode, range } = this.#open.pop() as OpenFolder;
      const hash = range.root();
      const parent = this.#open.at(-1);
      if (parent === undefined) this.#roots.set(this.#rootId as string, hash);
      else parent.range.add(leafOf(nameOf(path), "dir", mode, hash));
      this.#onFolder(path, hash);
    }
  }
}
