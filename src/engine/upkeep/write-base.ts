import { encodeBase, type BaseEntry, type BaseRecord } from "../../core/log/base.ts";
import { EMPTY_HASH, type Hash } from "../../core/values/hash.ts";
import { manifestRoot } from "../../core/tree/merkle.ts";
import { pathInRoot, ROOT } from "../../core/values/path.ts";
import { withBatch, type BlobStore } from "../../storage/blob-store.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { optional } from "../../util/optional.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { checkBase, liveRecords } from "./check-base.ts";
import type { Context, HistoryContext } from "../log/context.ts";
import { readEvent } from "../log/read-events.ts";
import { rootToState } from "../state/root-to-state.ts";

/** The number of paths that are looked up in the index at once. */
const BATCH = 10_000;

/**
 * Writes the state at `seq` (the head) as a base: the last iteration of every path that was ever recorded, and the last
 * event of every other live record. Then reads and verifies the stored base. The caller must hold the lock and a lease.
 */
export async function writeBase(context: Context, seq: number): Promise<StoredBase> {
  const state = await stateAt(context, seq);
  const { base, root } = await storeBase(context.blobs, state, async (computed) => {
    if (computed !== (await rootToState(context, seq))) throw indexWrong(seq);
  });
  const faults = await checkBase(context.blobs, base, { root, against: context.index });
  const [fault] = faults ?? [{ where: base, detail: "it is not in the store" }];
  if (fault !== undefined) {
    throw new ChronicleError("INTEGRITY_VIOLATION", `the base could not be verified: ${fault.where}: ${fault.detail}`, {
      hint: "nothing was changed; run `chronicle verify`",
    });
  }
  return { base, root };
}

function indexWrong(seq: number): ChronicleError {
  return new ChronicleError("INTEGRITY_VIOLATION", `the index does not agree with itself at event ${seq}`, {
    hint: "run `chronicle rebuild`",
  });
}

type Based = HistoryContext & {
  readonly worktree: { readonly roots: readonly { readonly id: string | undefined }[] };
};

/**
 * Writes the state at `seq` (the head) as a base, but only if the result is exactly `wanted`. This is the base that a
 * compaction at the origin names. Returns true if the base was written, and need not be fetched. The caller must hold a
 * lease.
 */
export async function writeBaseIf(context: Based, seq: number, wanted: StoredBase): Promise<boolean> {
  return storeBaseIf(context.blobs, await stateAt(context, seq), wanted);
}

async function stateAt(context: Based, seq: number): Promise<BaseState> {
  const roots = context.worktree.roots.map(({ id }) => id);
  return { rows: await lastIterations(context, seq), records: await lastRecords(context), roots };
}

async function lastIterations(context: Pick<HistoryContext, "index">, seq: number): Promise<IterationRow[]> {
  const paths = await context.index.touched(0, seq);
  const rows: IterationRow[] = [];
  for (let at = 0; at < paths.length; at += BATCH) {
    const batch = await context.index.iterationsAt(paths.slice(at, at + BATCH), seq);
    for (const row of batch) if (row !== undefined) rows.push(row);
  }
  return rows;
}

async function lastRecords(context: HistoryContext): Promise<BaseRecord[]> {
  const records: BaseRecord[] = [];
  for (const row of await liveRecords(context.index)) {
    const { seq, ts, op, recordId } = row;
    const { record, recursionDepth } = await readEvent(context, row);
    records.push({ seq, ts, op, recordId, record, recursionDepth });
  }
  return records;
}

interface BaseState {
  /** The last iteration of each path, in path order. Deleted paths are included. */
  readonly rows: readonly IterationRow[];
  readonly records: readonly BaseRecord[];
  /** The ids of the tracked roots. The first root has none (`undefined`). */
  readonly roots: readonly (string | undefined)[];
}

interface StoredBase {
  readonly base: Hash;
  readonly root: Hash;
}

/**
 * Writes a state as a base. First calls `expect` with the state's Merkle root. `expect` must throw if the root is
 * wrong. The caller must hold a lease.
 */
export async function storeBase(
  blobs: BlobStore,
  { rows, records, roots: ids }: BaseState,
  expect: (root: Hash) => void | Promise<void>,
): Promise<StoredBase> {
  const { root, folders } = treeOf({ rows, records, roots: ids });
  await expect(root);
  const pieces = piecesOf({ rows, records, roots: ids }, { root, folders });
  const { hash } = await withBatch(blobs, (batch) => batch.putStream(pieces));
  return { base: hash, root };
}

/**
 * Writes a state as a base if the state's root and the base's hash are as wanted. Otherwise writes nothing, and returns
 * false. The caller must hold a lease.
 */
async function storeBaseIf(blobs: BlobStore, state: BaseState, wanted: StoredBase): Promise<boolean> {
  const tree = treeOf(state);
  if (tree.root !== wanted.root) return false;
  const batch = await blobs.batch();
  try {
    const { hash } = await batch.putStream(piecesOf(state, tree));
    if (hash === wanted.base) await batch.commit();
    return hash === wanted.base;
  } finally {
    await batch.abandon();
  }
}

type Tree = ReturnType<typeof manifestRoot>;

function treeOf({ rows, roots }: BaseState): Tree {
  return manifestRoot(
    rows.flatMap(({ entry }) => entry ?? []),
    roots.flatMap((id) => id ?? []),
  );
}

function piecesOf({ rows, records, roots: ids }: BaseState, { root, folders }: Tree): Iterable<Buffer> {
  const roots = ids.map((id) => ({ id: id ?? "", hash: folders.get(pathInRoot(id, ROOT)) ?? EMPTY_HASH }));
  const counts = { entries: rows.length, records: records.length };
  return encodeBase({ root, roots, entries: withFolders(rows, folders), records, counts });
}

function* withFolders(rows: readonly IterationRow[], folders: ReadonlyMap<string, Hash>): Generator<BaseEntry> {
  for (const { path, iteration, seq, entry } of rows) {
    const folderHash = entry?.kind === "dir" ? folders.get(path) : undefined;
    yield { path, iteration, seq, entry, ...optional({ folderHash }) };
  }
}
