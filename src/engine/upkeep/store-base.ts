import { encodeBase, type BaseEntry, type BaseRecord } from "../../core/log/base.ts";
import { EMPTY_HASH, type Hash } from "../../core/values/hash.ts";
import { manifestRoot } from "../../core/tree/merkle.ts";
import { pathInRoot, ROOT } from "../../core/values/path.ts";
import { withBatch, type BlobStore } from "../../storage/blob-store.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { optional } from "../../util/optional.ts";

/** A state on which a history can go on. */
export interface BaseState {
  /** The last iteration of each path, in path order; deleted ones too. */
  readonly rows: readonly IterationRow[];
  /** By ascending seq. */
  readonly records: readonly BaseRecord[];
  /** Ids of the tracked roots; `undefined`: the first one. */
  readonly roots: readonly (string | undefined)[];
}

/** A base that is durable in the store. */
export interface StoredBase {
  readonly base: Hash;
  readonly root: Hash;
}

/**
 * Writes a state as a base. `expect` is called with the root before anything is written, and throws if it is not the
 * right one. Hold a lease.
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

/** Writes a state as a base if it is the wanted one; returns whether it is. Hold a lease. */
export async function storeBaseIf(blobs: BlobStore, state: BaseState, wanted: StoredBase): Promise<boolean> {
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
