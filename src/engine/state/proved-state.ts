import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { folderHash, workspaceRoot, type TreeChild } from "../../core/tree/merkle.ts";
import {
  childOf,
  displayPath,
  isRoot,
  nameOf,
  parentOf,
  pathInRoot,
  ROOT,
  type WorkspacePath,
} from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import type { HistoryContext } from "../log/context.ts";
import { disagreeing, IndexDisagrees } from "../log/index-disagrees.ts";
import { iterationsOf } from "../log/project.ts";
import { baseSays, linesSay } from "./row-line.ts";
import { linesBehind, nearestRoot, type ReadTo, type StatedRoot } from "./stated-root.ts";
import { readWholeTree, rootFolders } from "../log/tree.ts";
import { memoKey } from "../log/memo.ts";

// To prove the state after an event, the proof starts from the nearest Merkle root that is written in the log at or
// before this event. Rows of the index are believed only if the root that is computed from them equals this root. The
// events after the root are read from the log, line by line. To prove a path, the folders above the path are read with
// their children. These folders stay in memory until `letGo` drops them.

export type ProofContext = HistoryContext & {
  readonly worktree: { readonly roots: readonly { readonly id: string | undefined }[] };
};

/** The part of an entry that a Merkle tree states. A folder has no hash here. */
type Stated = Pick<Entry, "kind" | "mode" | "hash">;

type Children = ReadonlyMap<string, TreeChild> | undefined;

/** A claim that a path has this state; `undefined` claims that the path does not exist. */
export interface Claim {
  readonly path: WorkspacePath;
  readonly entry: Entry | undefined;
}

/**
 * The maximum distance, in events, between a root and a state that is proved from this root. The proof of a later state
 * begins again at the nearest root.
 */
const MOST_SINCE = 4_000;
/** The total number of children of the read folders above which `letGo` drops all these folders. */
const MOST_KEPT = 200_000;

/**
 * The last proved state of the head. It is kept because most questions are about the head. New events do not make this
 * state wrong, because it is the state after a certain event.
 */
const latest = memoKey<ProvedState>("last proved state");

/** The last proved state that is earlier than the head. It is kept for callers that read such a state page by page. */
const past = memoKey<ProvedState>("last proved earlier state");

/**
 * Returns the proved state after event `seq`. Throws `IndexDisagrees` if the index knows no root at or before the
 * event, and `LOG_DAMAGED` if the log itself is damaged.
 */
export async function provedState(context: ProofContext, seq: number): Promise<ProvedState> {
  return disagreeing(async () => {
    const known = context.memo.get(latest);
    const reached = known === undefined ? undefined : await advanced(known, seq);
    if (reached !== undefined) {
      // While this call was proving its state, another call may have proved a later one.
      if (reached.seq > (context.memo.get(latest)?.seq ?? 0)) context.memo.set(latest, reached);
      return reached;
    }
    const earlier = context.memo.get(past);
    if (earlier?.seq === seq) return earlier;
    const root = await nearestRoot(context, seq);
    if (root === undefined) throw new IndexDisagrees(`the index knows no root at or before event ${seq}`, { seq });
    const state = await ProvedState.at(context, root, seq);
    context.memo.set((await context.index.head()).seq === seq ? latest : past, state);
    return state;
  });
}

/**
 * Continues a known state to event `seq`. Returns `undefined` if the known state is later, or if the event is too far
 * after the root of the known state. Also returns `undefined` if the lines in between cannot be read, for instance
 * because they were compacted away.
 */
async function advanced(known: ProvedState, seq: number): Promise<ProvedState | undefined> {
  try {
    return await known.advancedTo(seq);
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "LOG_DAMAGED") return undefined;
    throw error;
  }
}

/**
 * The iterations that the events after a root recorded. A state and the states that continue it share this object. Each
 * state appends the iterations of the events that it reads.
 */
class IterationsSince {
  readonly #rows = new Map<WorkspacePath, IterationRow[]>();
  #last: number;

  constructor(root: StatedRoot) {
    this.#last = root.seq;
  }

  add(rows: readonly IterationRow[], seq: number): void {
    for (const row of rows) {
      if (row.seq <= this.#last) continue;
      const known = this.#rows.get(row.path);
      if (known === undefined) this.#rows.set(row.path, [row]);
      else known.push(row);
    }
    this.#last = Math.max(this.#last, seq);
  }

  last(path: WorkspacePath, seq: number): IterationRow | undefined {
    return this.#rows.get(path)?.findLast((row) => row.seq <= seq);
  }

  *lasts(seq: number): Generator<IterationRow> {
    for (const rows of this.#rows.values()) {
      const row = rows.findLast((one) => one.seq <= seq);
      if (row !== undefined) yield row;
    }
  }
}

/** The proved state of all paths after event `seq`. An instance never changes: `advancedTo` returns a new one. */
export class ProvedState {
  readonly #context: ProofContext;
  readonly #tree: ProvedTree;
  readonly #since: IterationsSince;
  readonly #end: ReadTo;

  private constructor(
    context: ProofContext,
    tree: ProvedTree,
    { since, end }: { since: IterationsSince; end: ReadTo },
  ) {
    this.#context = context;
    this.#tree = tree;
    this.#since = since;
    this.#end = end;
  }

  /** Returns the state after event `seq`, which must not be before the root. Reads the events after the root. */
  static at(context: ProofContext, root: StatedRoot, seq: number): Promise<ProvedState> {
    const since = new IterationsSince(root);
    return new ProvedState(context, new ProvedTree(context, root), { since, end: root }).#readTo(seq);
  }

  get root(): StatedRoot {
    return this.#tree.root;
  }

  get seq(): number {
    return this.#end.seq;
  }

  /**
   * Returns the state after event `seq`; `undefined` if this event is earlier than the state, or too far after the
   * root.
   */
  async advancedTo(seq: number): Promise<ProvedState | undefined> {
    if (seq < this.seq || seq - this.root.seq > MOST_SINCE) return undefined;
    return seq === this.seq ? this : this.#readTo(seq);
  }

  async #readTo(seq: number): Promise<ProvedState> {
    const rows: IterationRow[] = [];
    const end = await linesBehind(this.#context, this.#end, {
      upTo: seq,
      take: (event) => {
        for (const row of iterationsOf(event)) rows.push(row);
      },
    });
    this.#since.add(rows, end.seq);
    return new ProvedState(this.#context, this.#tree, { since: this.#since, end });
  }

  /** The paths that were recorded after the root. */
  get touched(): Iterable<WorkspacePath> {
    return this.#since.lasts(this.seq).map(({ path }) => path);
  }

  /**
   * True if the proved events contradict this iteration. There are two cases:
   *
   * - The path was recorded after the root, and its last iteration differs from this one.
   * - The path was not recorded after the root, but this iteration claims an event after the root.
   */
  knowsOther({ path, seq, iteration }: IterationRow): boolean {
    const since = this.#since.last(path, this.seq);
    if (since === undefined) return seq > this.root.seq;
    return since.seq !== seq || since.iteration !== iteration;
  }

  /** Throws `IndexDisagrees` unless each path has the claimed state. */
  async prove(claims: readonly Claim[]): Promise<void> {
    await disagreeing(async () => {
      for (const claim of claims) {
        const isTrue = await this.#isTrue(claim);
        if (!isTrue)
          throw new IndexDisagrees(`the state of ${displayPath(claim.path)}`, { path: claim.path, seq: this.seq });
      }
    });
  }

  /**
   * Yields the existing paths, unordered: those of the tree, and those recorded after the root. `descends` decides
   * whether a folder of the tree is read.
   */
  async *paths(descends: (folder: WorkspacePath) => boolean = () => true): AsyncGenerator<WorkspacePath> {
    for (const { path, entry } of this.#since.lasts(this.seq)) if (entry !== undefined) yield path;
    const pending = [...rootFolders(this.#context)];
    for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
      for (const { name, kind } of (await this.childrenOf(folder))?.values() ?? []) {
        const path = childOf(folder, name);
        if (this.#since.last(path, this.seq) === undefined) yield path;
        if (kind === "dir" && descends(path)) pending.push(path);
      }
    }
  }

  /**
   * Returns the state of a path; `undefined` if the path does not exist. Also returns `undefined` for a path in no
   * folder of the tree, unless the path was recorded after the root.
   */
  async at(path: WorkspacePath): Promise<Stated | undefined> {
    const since = this.#since.last(path, this.seq);
    if (since !== undefined) return since.entry;
    return statedOf(await this.#childAt(path));
  }

  async #isTrue({ path, entry }: Claim): Promise<boolean> {
    const since = this.#since.last(path, this.seq);
    if (since !== undefined) return sameEntry(since.entry, entry);
    const children = await this.childrenOf(parentOf(path));
    if (children !== undefined) return sameStated(statedOf(children.get(nameOf(path))), entry);
    // If the folder of a path has no entry, the path is in no tree. Then only the path's own line in the log can prove
    // the claim.
    return entry === undefined || this.#isInLog(path, entry);
  }

  async #isInLog(path: WorkspacePath, entry: Entry): Promise<boolean> {
    const row = await this.#context.index.iterationAt(path, this.root.seq);
    if (row === undefined || !sameEntry(row.entry, entry)) return false;
    const [said] = await linesSay(this.#context, [row]);
    return said === "in-base" ? baseSays(this.#context, row) : said === "same";
  }

  async #childAt(path: WorkspacePath): Promise<TreeChild | undefined> {
    return (await this.childrenOf(parentOf(path)))?.get(nameOf(path));
  }

  /** Returns the proved children that a folder had at the Merkle root; `undefined` if there was no such folder. */
  childrenOf(folder: WorkspacePath): Promise<Children> {
    return this.#tree.childrenOf(folder);
  }

  /**
   * Drops the folders that were read, if they take much memory. Dropped folders are read again when they are needed.
   */
  letGo(): void {
    this.#tree.letGo();
  }
}

/** The tree at a Merkle root. Its folders are read and proved when they are first needed. */
class ProvedTree {
  readonly root: StatedRoot;
  readonly #context: ProofContext;
  readonly #folders = new Map<WorkspacePath, Children>();
  #kept = 0;
  /**
   * The hashes of all folders at the root. These hashes are computed only if the hashes in the index do not give the
   * root.
   */
  #computed: ReadonlyMap<WorkspacePath, Hash> | undefined;

  constructor(context: ProofContext, root: StatedRoot) {
    this.#context = context;
    this.root = root;
  }

  /**
   * Returns the proved children of a folder; `undefined` if there was no such folder. Throws `IndexDisagrees` if the
   * entries in the index do not give the Merkle root.
   */
  async childrenOf(folder: WorkspacePath): Promise<Children> {
    if (this.#folders.size === 0) await this.#begin();
    const known = this.#folders.get(folder);
    if (known !== undefined || this.#folders.has(folder)) return known;
    // The folders are proved from the highest unproved one down to the requested one.
    const pending: WorkspacePath[] = [];
    for (let at = folder; !this.#folders.has(at); at = parentOf(at)) {
      // The path lies in no tracked root, so it has no proved state.
      if (isRoot(at)) return undefined;
      pending.push(at);
    }
    for (const at of pending.reverse()) {
      const own = this.#folders.get(parentOf(at))?.get(nameOf(at));
      if (own?.kind !== "dir") this.#keep(at, undefined);
      else if (!(await this.#proveFolder(at, own.hash))) return this.#again(folder);
    }
    return this.#folders.get(folder);
  }

  /**
   * Computes all folder hashes from the entries, because the stored hashes may be missing or wrong. Then returns
   * `childrenOf` of the folder.
   */
  async #again(folder: WorkspacePath): Promise<Children> {
    await this.#compute();
    return this.childrenOf(folder);
  }

  /** Reads a folder. If the folder has this hash, keeps the folder and returns true. */
  async #proveFolder(folder: WorkspacePath, hash: Hash): Promise<boolean> {
    const children = await this.#read(folder);
    if (folderHash([...children.values()]) !== hash) return false;
    this.#keep(folder, children);
    return true;
  }

  #keep(folder: WorkspacePath, children: Children): void {
    this.#folders.set(folder, children);
    this.#kept += children?.size ?? 1;
  }

  /** Reads and proves the tracked roots. Throws `IndexDisagrees` if their children do not give the Merkle root. */
  async #begin(): Promise<void> {
    this.#kept = 0;
    if (await this.#proveRoots()) return;
    await this.#compute();
    if (!(await this.#proveRoots())) throw this.#disagrees();
  }

  async #proveRoots(): Promise<boolean> {
    const found: (readonly [WorkspacePath, ReadonlyMap<string, TreeChild>, Hash])[] = [];
    for (const folder of rootFolders(this.#context)) {
      const children = await this.#read(folder);
      found.push([folder, children, folderHash([...children.values()])]);
    }
    const hashes = new Map(found.map(([folder, , hash]) => [folder, hash]));
    const further = this.#context.worktree.roots.flatMap(({ id }) => {
      const hash = id === undefined ? undefined : hashes.get(pathInRoot(id, ROOT));
      return id === undefined || hash === undefined ? [] : [{ id, hash }];
    });
    if (workspaceRoot(hashes.get(ROOT) ?? folderHash([]), further) !== this.root.root) return false;
    for (const [folder, children] of found) this.#keep(folder, children);
    return true;
  }

  /**
   * Computes and stores the hashes of all folders, and drops the folders that were read. Throws `IndexDisagrees` if the
   * entries do not give the Merkle root, or if the hashes were already computed.
   */
  async #compute(): Promise<void> {
    if (this.#computed !== undefined) throw this.#disagrees();
    this.#folders.clear();
    const tree = await readWholeTree(this.#context, this.root.seq);
    if (tree.finish() !== this.root.root) throw this.#disagrees();
    this.#computed = tree.folders;
    await this.#context.index.putTreeHashes(this.root.seq, { hashes: [...tree.folders], after: 0 });
  }

  #disagrees(): IndexDisagrees {
    const { seq, root } = this.root;
    return new IndexDisagrees(`the files in the index have another Merkle root than event ${seq} says`, { seq, root });
  }

  async #read(folder: WorkspacePath): Promise<ReadonlyMap<string, TreeChild>> {
    const { index } = this.#context;
    const children = new Map<string, TreeChild>();
    for (const { path, entry } of await index.childrenAt(folder, this.root.seq)) {
      if (entry === undefined) continue;
      const name = nameOf(path);
      const { kind, mode } = entry;
      const hash = entry.hash ?? (await this.#hashOf(childOf(folder, name)));
      children.set(name, { name, kind, mode, hash });
    }
    return children;
  }

  async #hashOf(folder: WorkspacePath): Promise<Hash> {
    const known = this.#computed?.get(folder) ?? (await this.#context.index.treeHashAt(folder, this.root.seq));
    return known ?? folderHash([]);
  }

  /** Drops all folders that were read, if they have more than `MOST_KEPT` children in total. */
  letGo(): void {
    if (this.#kept <= MOST_KEPT) return;
    this.#folders.clear();
    this.#computed = undefined;
  }
}

function statedOf(child: TreeChild | undefined): Stated | undefined {
  if (child === undefined) return undefined;
  const { kind, mode, hash } = child;
  return { kind, mode, hash: kind === "dir" ? undefined : hash };
}

export function sameStated(a: Stated | undefined, b: Stated | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.kind === b.kind && a.mode === b.mode && a.hash === b.hash;
}
