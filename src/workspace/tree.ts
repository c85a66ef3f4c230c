import type { Entry } from "../core/entry.ts";
import { folderHash, ManifestHasher, workspaceRoot, type TreeChild } from "../core/merkle.ts";
import { EMPTY_HASH, type Hash } from "../core/hash.ts";
import { childOf, comparePaths, nameOf, parentOf, pathInRoot, ROOT, type WorkspacePath } from "../core/path.ts";
import type { IterationRow } from "../storage/index-store.ts";
import type { Context } from "./context.ts";

/**
 * The Merkle root at the head, at the cost of what changed: only folders on the way to a touched path are hashed again.
 */

/** What is hashed: what the index knows of these roots. */
type Hashed = Pick<Context, "index"> & {
  readonly worktree: { readonly roots: readonly { readonly id: string | undefined }[] };
};

/** Brings the stored folder hashes up to `seq` (the head) and returns the workspace's root there. */
export async function rootAtHead(context: Hashed, seq: number): Promise<Hash> {
  const from = await context.index.treeSeq();
  if (seq > from && (await wasEmpty(context, from))) return wholeTree(context, seq);
  const dirty = dirtyFolders(seq > from ? await touchedFolders(context, from, seq) : new Set());
  const roots = rootFolders(context);
  for (const root of roots) if ((await context.index.treeHashAt(root, seq)) === undefined) dirty.add(root);
  const fresh = new Map<WorkspacePath, Hash | undefined>();
  // What lies in a folder before the folder.
  const order = [...dirty].sort((a, b) => comparePaths(b, a));
  for (const folder of order)
    fresh.set(folder, await hashFolder(context, folder, { seq, fresh, isRoot: roots.includes(folder) }));
  if (seq > from || fresh.size > 0) await context.index.putTreeHashes(seq, await worthStoring(context, fresh, seq));
  return combine(context, seq, fresh);
}

/** Folders, and paths that were folders before; not the files among the touched paths. */
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

function rootFolders(context: Hashed): WorkspacePath[] {
  return context.worktree.roots.map((root) => pathInRoot(root.id, ROOT));
}

/** Was there nothing when folder hashes were stored last? */
async function wasEmpty(context: Hashed, from: number): Promise<boolean> {
  for (const root of rootFolders(context)) {
    const hash = await context.index.treeHashAt(root, from);
    if (hash !== undefined && hash !== EMPTY_HASH) return false;
  }
  return true;
}

/** Hashes all there is, in one pass, where no earlier hash is of use. */
async function wholeTree(context: Hashed, seq: number): Promise<Hash> {
  const tree = new TreeInOrder(context);
  for await (const rows of context.index.entriesAt(seq)) for (const { entry } of rows) tree.add(entry);
  return tree.store(seq);
}

/**
 * Stores the folder hashes as of `seq` of a history that had no entry before: these, in path order, are all that it has by
 * then. They need not be read back for the next root.
 */
export async function keepFirstTree(context: Hashed, entries: Iterable<Entry>, seq: number): Promise<void> {
  const tree = new TreeInOrder(context);
  for (const entry of entries) tree.add(entry);
  await tree.store(seq);
}

/** The folder hashes of entries that come in path order. */
class TreeInOrder {
  readonly #context: Hashed;
  readonly #folders = new Map<WorkspacePath, Hash>();
  readonly #present: Set<WorkspacePath>;
  readonly #hasher = new ManifestHasher((path, hash) => this.#folders.set(path, hash));

  constructor(context: Hashed) {
    this.#context = context;
    this.#present = new Set(rootFolders(context));
  }

  add(entry: Entry | undefined): void {
    // What lies in no folder, or in no root, is in no tree.
    if (entry === undefined || !this.#present.has(parentOf(entry.path)) || this.#present.has(entry.path)) return;
    if (entry.kind === "dir") this.#present.add(entry.path);
    this.#hasher.add(entry);
  }

  /** The root; the hashes are stored. */
  async store(seq: number): Promise<Hash> {
    const { index, worktree } = this.#context;
    const root = this.#hasher.finish(worktree.roots.flatMap(({ id }) => id ?? []));
    await index.putTreeHashes(seq, [...this.#folders]);
    return root;
  }
}

/** The folders that hold a touched path, and the touched paths that are folders, or were: few of many are. */
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

function dirtyFolders(touched: ReadonlySet<WorkspacePath>): Set<WorkspacePath> {
  const dirty = new Set<WorkspacePath>();
  for (const path of touched) {
    for (let folder = path; !dirty.has(folder); folder = parentOf(folder)) {
      dirty.add(folder);
      if (folder === ROOT) break;
    }
  }
  return dirty;
}

interface Hashing {
  readonly seq: number;
  readonly fresh: ReadonlyMap<WorkspacePath, Hash | undefined>;
  readonly isRoot: boolean;
}

async function hashFolder(
  context: Hashed,
  folder: WorkspacePath,
  { seq, fresh, isRoot }: Hashing,
): Promise<Hash | undefined> {
  if (!isRoot) {
    const own = await context.index.iterationAt(folder, seq);
    if (own?.entry?.kind !== "dir") return undefined;
  }
  const children: TreeChild[] = [];
  for (const row of await context.index.childrenAt(folder, seq)) {
    const child = await treeChild(context, row, { folder, seq, fresh });
    if (child !== undefined) children.push(child);
  }
  return folderHash(children);
}

interface ChildPlace {
  readonly folder: WorkspacePath;
  readonly seq: number;
  readonly fresh: ReadonlyMap<WorkspacePath, Hash | undefined>;
}

async function treeChild(
  context: Hashed,
  row: IterationRow,
  { folder, seq, fresh }: ChildPlace,
): Promise<TreeChild | undefined> {
  const { entry } = row;
  if (entry === undefined) return undefined;
  const name = nameOf(row.path);
  if (entry.hash !== undefined) return { name, kind: entry.kind, mode: entry.mode, hash: entry.hash };
  const path = childOf(folder, name);
  const hash = fresh.get(path) ?? (await context.index.treeHashAt(path, seq)) ?? folderHash([]);
  return { name, kind: entry.kind, mode: entry.mode, hash };
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
