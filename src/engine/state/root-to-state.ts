import type { Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { EMPTY_HEAD } from "../../core/values/event.ts";
import { changesOf } from "../../core/values/file-record.ts";
import { EMPTY_HASH, type Hash } from "../../core/values/hash.ts";
import { workspaceRoot } from "../../core/tree/merkle.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { StoredTree } from "../../storage/index-store.ts";
import { refill } from "../log/catch-up.ts";
import { disagreeing, IndexDisagrees, stillDisagrees } from "../log/index-disagrees.ts";
import { baseOf } from "../log/project.ts";
import type { ProofContext } from "./proved-state.ts";
import { ProvedTree } from "./proved-tree.ts";
import { linesBehind, nearestRoot, type ReadTo } from "./stated-root.ts";
import { type PendingChanges, rootAtHead } from "../log/tree.ts";
import { memoKey } from "../log/memo.ts";

// Computes the Merkle roots that are written into the log. Each root is computed from the previous root in the log and
// the lines after that root. The index provides the folders, and is checked against the previous root. Without this
// check, an error of the index would stay in the log for ever.

/**
 * The maximum number of events over which a known tree is continued. If more events follow the tree, a new tree begins
 * at the nearest root that the index knows.
 */
const MOST_SINCE = 4_000;

interface Known {
  readonly tree: ProvedTree;
  readonly end: ReadTo;
}

/** The tree that was proved last. The tree is kept so that its folders need not be read again for the next root. */
const latest = memoKey<Known>("last proved tree");

export interface RootBehind {
  readonly root: Hash;
  readonly tree: StoredTree;
  /** Must be called after the changes are durable, with the last event of the changes. */
  readonly settle: (last: ReadTo) => void;
}

/**
 * Returns the root after changes that follow `seq` (the head). The caller must hold the lock, because an index that
 * contradicts the log is rebuilt.
 */
export async function rootBehind(context: ProofContext, seq: number, pending: PendingChanges): Promise<RootBehind> {
  return rebuilding(context, async (isRebuilt) => {
    const { tree, since } = await treeBefore(context, seq);
    const behind = await tree.behind(new Map([...since, ...pending]), isRebuilt);
    const settle = (last: ReadTo): void => {
      context.memo.set(latest, { tree: behind.at(last.seq), end: last });
    };
    return { root: behind.root, tree: behind.stored, settle };
  });
}

/**
 * Returns the root at `seq` (the head). The caller must hold the lock, because an index that contradicts the log is
 * rebuilt.
 */
export async function rootToState(context: ProofContext, seq: number): Promise<Hash> {
  return rebuilding(context, (isRebuilt) => provedRoot(context, seq, isRebuilt));
}

/**
 * Returns the root at `seq` (the head), and stores the folder hashes that changed. Throws `IndexDisagrees` if the index
 * does not give the previous root. `isRebuilt` is true if the index was just rebuilt from the log.
 */
export async function provedRoot(context: ProofContext, seq: number, isRebuilt = false): Promise<Hash> {
  return disagreeing(async () => {
    const { tree, since, end } = await treeBefore(context, seq);
    const behind = await tree.behind(since, isRebuilt);
    if (behind.stored.hashes.length > 0) await context.index.putTreeHashes(seq, behind.stored);
    context.memo.set(latest, { tree: behind.at(seq), end });
    return behind.root;
  });
}

/**
 * Runs the work. If the index proves wrong, rebuilds the index from the log and runs the work once more. Effects of the
 * first run are not undone.
 */
async function rebuilding<T>(context: ProofContext, work: (isRebuilt: boolean) => Promise<T>): Promise<T> {
  try {
    return await disagreeing(() => work(false));
  } catch (error) {
    if (!(error instanceof IndexDisagrees)) throw error;
    const { damage } = await refill(context);
    if (damage !== undefined) throw damage;
    context.memo.delete(latest);
    return orDamage(() => work(true));
  }
}

async function orDamage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await disagreeing(work);
  } catch (error) {
    throw error instanceof IndexDisagrees ? stillDisagrees(error) : error;
  }
}

interface TreeBefore extends Known {
  readonly since: PendingChanges;
}

/**
 * Returns a proved tree, and the changes after it up to `seq`. Prefers the last known tree. If that tree cannot be
 * continued, takes the tree at the last event up to `seq` whose Merkle root the index knows. If the index knows no
 * root, takes the empty tree before event 1.
 */
async function treeBefore(context: ProofContext, seq: number): Promise<TreeBefore> {
  const { index, memo } = context;
  const known = memo.get(latest);
  const found = known === undefined ? undefined : await continued(context, known, seq);
  if (found !== undefined) return found;
  const root = await nearestRoot(context, seq);
  const first = { ...EMPTY_HEAD, root: emptyRoot(context), next: { seq: 1, offset: 0 } };
  const end = root ?? first;
  // Brings the stored folder hashes up to date. The hashes need no check here, because every folder is proved when it
  // is read.
  if ((await index.treeSeq()) < end.seq) await rootAtHead(context, end.seq);
  return continueTo(context, { tree: new ProvedTree(context, end), end }, seq);
}

function emptyRoot({ worktree }: ProofContext): Hash {
  return workspaceRoot(
    EMPTY_HASH,
    worktree.roots.flatMap(({ id }) => (id === undefined ? [] : [{ id, hash: EMPTY_HASH }])),
  );
}

/**
 * Returns the known tree, and the changes after it up to `seq`. Returns `undefined` if the tree is later than `seq`, or
 * more than `MOST_SINCE` events earlier. Also returns `undefined` if the lines after the tree were compacted away or
 * belong to another history.
 */
async function continued(context: ProofContext, known: Known, seq: number): Promise<TreeBefore | undefined> {
  const { end } = known;
  if (seq < end.seq || seq - end.seq > MOST_SINCE) return undefined;
  if (seq === end.seq && (await context.index.locate(seq))?.hash !== end.hash) return undefined;
  try {
    return await continueTo(context, known, seq);
  } catch (error) {
    const isOther =
      error instanceof IndexDisagrees || (error instanceof ChronicleError && error.code === "LOG_DAMAGED");
    if (!isOther) throw error;
    return undefined;
  }
}

async function continueTo(context: ProofContext, { tree, end: from }: Known, seq: number): Promise<TreeBefore> {
  const since = new Map<WorkspacePath, Entry | undefined>();
  const end = await linesBehind(context, from, {
    upTo: seq,
    take: (event) => {
      // An event with a base states a root, so a new tree must begin there. If a known tree was to be continued,
      // `continued` catches the error below, and `treeBefore` begins a new tree at the nearest root that the index
      // knows. A new tree reaches such an event only if the index does not know the root of the event.
      if (event.op !== "compact" && baseOf(event) !== undefined) {
        throw new IndexDisagrees(`the index does not know the root of event ${event.seq}`, { seq: event.seq });
      }
      for (const { path, file } of changesOf(event)) since.set(path, file.entry);
    },
  });
  return { tree, since, end };
}
