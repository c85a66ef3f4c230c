import type { Entry } from "../../core/values/entry.ts";
import { folderHash, ManifestHasher, workspaceRoot, type TreeChild } from "../../core/tree/merkle.ts";
import { EMPTY_HASH, type Hash } from "../../core/values/hash.ts";
import {
  comparePaths,
  foldersWith,
  nameOf,
  parentOf,
  pathInRoot,
  ROOT,
  type WorkspacePath,
} from "../../core/values/path.ts";
import type { Context } from "./context.ts";

/** Computes the Merkle root at the head. Only folders above a changed path are hashed again. */

export type Hashed = Pick<Context, "index"> & {
  readonly worktree: { readonly roots: readonly { readonly id: string | undefined }[] };
};

/**
 * Brings the stored folder hashes up to `seq`, which is the head, and returns the root of the workspace at `seq`. Does
 * not check the index. The roots that are written into the history are computed in `root-to-state.ts`, which checks the
 * index.
 */
export async function rootAtHead(context: Hashed, seq: number): Promise<Hash> {
  const from = await context.index.treeSeq();
  if (seq > from && (await wasEmpty(context, from))) return wholeTree(context, seq);
  const dirty = dirtyFolders(seq > from ? await touchedFolders(context, from, seq) : new Set());
  for (const root of rootFolders(context)) {
    if ((await context.index.treeHashAt(root, seq)) === undefined) dirty.add(root);
  }
  const fresh = await hashFolders(context, dirty, seq);
  if (seq > from || fresh.size > 0) {
    await context.index.putTreeHashes(seq, { hashes: await worthStoring(context, fresh, seq), after: from });
  }
  return combine(context, seq, fresh);
}

/**
 * Maps each path that has changed after a seq to its new entry; `undefined` if the path was deleted. The index does not
 * have these changes yet.
 */
export type PendingChanges = ReadonlyMap<WorkspacePath, Entry | undefined>;

/** Returns the hashes of these paths at `seq`; `undefined` for each path that is no folder. */
async function hashFolders(
  context: Hashed,
  dirty: ReadonlySet<WorkspacePath>,
  seq: number,
): Promise<Map<WorkspacePath, Hash | undefined>> {
  const roots = rootFolders(context);
  const fresh = new Map<WorkspacePath, Hash | undefined>();
  // Folders are hashed after the folders in them.
  const order = [...dirty].sort((a, b) => comparePaths(b, a));
  for (const folder of order) {
    const isThere = roots.includes(folder) || (await context.index.iterationAt(folder, seq))?.entry?.kind === "dir";
    fresh.set(folder, isThere ? await hashOf(context, folder, { seq, fresh }) : undefined);
  }
  return fresh;
}

/**
 * Returns the hashes to store: those of folders, and `undefined` for paths that were folders and are folders no longer.
 * All other paths, such as files, are left out.
 */
async function worthStoring(
  context: Hashed,
  fresh: ReadonlyMap<WorkspacePath, Hash | undefined>,
  seq: number,
): Promise<(readonly [WorkspacePath, Hash | undefined])[]> {
  const rows: (readonly [WorkspacePath, Hash | undefined])[] = [];
  for (const [path, hash] of fresh) {
    if (hash !== undefined || (await context.index.treeHashAt(path, seq)) !== undefined) rows.push([path, hash]);
  }
  return rows;
}

/** Returns the folders of the tracked roots. A root's folder has no entry of its own. */
export function rootFolders(context: Hashed): WorkspacePath[] {
  return context.worktree.roots.map((root) => pathInRoot(root.id, ROOT));
}

/** Returns true if, at `from`, every root has the stored hash of an empty folder, or has no stored hash. */
async function wasEmpty(context: Hashed, from: number): Promise<boolean> {
  for (const root of rootFolders(context)) {
    const hash = await context.index.treeHashAt(root, from);
    if (hash !== undefined && hash !== EMPTY_HASH) return false;
  }
  return true;
}

/**
 * Hashes the whole tree in one pass, stores the folder hashes, and returns the root. Used if no stored folder hash can
 * be used.
 */
async function wholeTree(context: Hashed, seq: number): Promise<Hash> {
  return (await readWholeTree(context, seq)).store(seq);
}

/** Hashes the whole tree at a seq from its entries, without stored folder hashes. */
export async function readWholeTree(context: Hashed, seq: number): Promise<TreeInOrder> {
  const tree = new TreeInOrder(context);
  for await (const rows of context.index.entriesAt(seq)) for (const { entry } of rows) tree.add(entry);
  return tree;
}

/** Computes the folder hashes of entries, which must be added in path order. */
export class TreeInOrder {
  readonly #context: Hashed;
  readonly #folders = new Map<WorkspacePath, Hash>();
  readonly #present: Set<WorkspacePath>;
  readonly #hasher = new ManifestHasher((path, hash) => this.#folders.set(path, hash));

  constructor(context: Hashed) {
    this.#context = context;
    this.#present = new Set(rootFolders(context));
  }

  add(entry: Entry | undefined): void {
    // An entry outside of every root and folder belongs to no tree.
    if (entry === undefined || !this.#present.has(parentOf(entry.path)) || this.#present.has(entry.path)) return;
    if (entry.kind === "dir") this.#present.add(entry.path);
    this.#hasher.add(entry);
  }

  finish(): Hash {
    return this.#hasher.finish(this.#context.worktree.roots.flatMap(({ id }) => id ?? []));
  }

  get folders(): ReadonlyMap<WorkspacePath, Hash> {
    return this.#folders;
  }

  async store(seq: number): Promise<Hash> {
    const root = this.finish();
    await this.#context.index.putTreeHashes(seq, { hashes: [...this.#folders], after: 0 });
    return root;
  }
}

/**
 * Returns the paths from which hashing must begin. For a path that is a file, and was never a folder, this is the
 * folder that contains the file. Any other path is returned as it is, because it is or was a folder, or is gone.
 */
async function touchedFolders({ index }: Hashed, from: number, seq: number): Promise<Set<WorkspacePath>> {
  const touched = await index.touched(from, seq);
  const rows = await index.iterationsAt(touched, seq);
  const folders = new Set<WorkspacePath>();
  for (const [i, path] of touched.entries()) {
    const row = rows[i];
    const isFile = row?.entry !== undefined && row.entry.kind !== "dir";
    const isOnlyFile = isFile && (row.iteration === 1 || (await index.treeHashAt(path, seq)) === undefined);
    folders.add(isOnlyFile ? parentOf(path) : path);
  }
  return folders;
}

/** Returns the touched paths and all folders above them. All of these must be hashed again. */
export function dirtyFolders(touched: ReadonlySet<WorkspacePath>): Set<WorkspacePath> {
  const dirty = new Set<WorkspacePath>();
  for (const path of touched) {
    for (const folder of [path, ...foldersWith(path)]) {
      if (dirty.has(folder)) break;
      dirty.add(folder);
    }
  }
  return dirty;
}

interface HashedSoFar {
  readonly seq: number;
  readonly fresh: ReadonlyMap<WorkspacePath, Hash | undefined>;
}

async function hashOf(context: Hashed, folder: WorkspacePath, { seq, fresh }: HashedSoFar): Promise<Hash> {
  const children: TreeChild[] = [];
  for (const { path, entry } of await context.index.childrenAt(folder, seq)) {
    if (entry === undefined) continue;
    const stored = entry.hash ?? fresh.get(path) ?? (await context.index.treeHashAt(path, seq));
    children.push({ name: nameOf(path), kind: entry.kind, mode: entry.mode, hash: stored ?? EMPTY_HASH });
  }
  return folderHash(children);
}

async function combine(
  context: Hashed,
  seq: number,
  fresh: ReadonlyMap<WorkspacePath, Hash | undefined>,
): Promise<Hash> {
  const hashOf = async (folder: WorkspacePath): Promise<Hash> =>
    fresh.get(folder) ?? (await context.index.treeHashAt(folder, seq)) ?? folderHash([]);
  const first = await hashOf(ROOT);
  const further = [];
  for (const { id } of context.worktree.roots) {
    if (id !== undefined) further.push({ id, hash: await hashOf(pathInRoot(id, ROOT)) });
  }
  return workspaceRoot(first, further);
}
