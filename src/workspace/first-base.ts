import { encodeBase, type BaseEntry } from "../core/base.ts";
import type { Entry } from "../core/entry.ts";
import { EMPTY_HASH, type Hash } from "../core/hash.ts";
import { manifestRoot } from "../core/merkle.ts";
import { pathInRoot, ROOT, type WorkspacePath } from "../core/path.ts";
import { encodeSnapshot, type SnapshotRecord } from "../core/records.ts";
import { encodeWorkspace, type WorkspaceRecord } from "../core/workspace-record.ts";
import type { Commit } from "./commit.ts";
import type { Context } from "./context.ts";

/**
 * How a history begins: two events, the workspace's own record and snapshot 0, whose base is the manifest of what there was.
 * A baseline finds that on disk; a fork takes it from another history; a new hosted workspace begins with nothing.
 */

/** The event that names the base of a new history: the second, after the workspace's own. */
export const FIRST_SEQ = 2;

/** What a history begins with, in path order. May be gone through several times. */
export interface FirstEntries extends Iterable<Entry> {
  readonly size: number;
}

/** A base that is in the store, durable. */
interface FirstBase {
  readonly root: Hash;
  readonly base: Hash;
  readonly entries: Iterable<BaseEntry>;
}

/** The base's rows, made anew each time they are asked for. */
class BaseEntries implements Iterable<BaseEntry> {
  readonly #entries: FirstEntries;
  readonly #folders: ReadonlyMap<WorkspacePath, Hash>;

  constructor(entries: FirstEntries, folders: ReadonlyMap<WorkspacePath, Hash>) {
    this.#entries = entries;
    this.#folders = folders;
  }

  *[Symbol.iterator](): Generator<BaseEntry> {
    for (const entry of this.#entries) {
      const folderHash = this.#folders.get(entry.path);
      const base = { path: entry.path, iteration: 1, seq: FIRST_SEQ, entry };
      yield folderHash === undefined ? base : { ...base, folderHash };
    }
  }
}

/** Writes the base on which a history will begin; each path in it is iteration 1. Hold a lease. */
export async function writeFirstBase(context: Context, first: FirstEntries): Promise<FirstBase> {
  const ids = context.worktree.roots.map(({ id }) => id);
  const further = ids.flatMap((id) => id ?? []);
  const { root, folders } = manifestRoot(first, further);
  const entries = new BaseEntries(first, folders);
  const roots = ids.map((id) => ({ id: id ?? "", hash: folders.get(pathInRoot(id, ROOT)) ?? EMPTY_HASH }));
  const counts = { entries: first.size, records: 0 };
  const batch = await context.blobs.batch();
  try {
    const { hash } = await batch.putStream(encodeBase({ root, roots, entries, records: [], counts }));
    await batch.commit();
    return { root, base: hash, entries };
  } catch (error) {
    await batch.abandon();
    throw error;
  }
}

/** What differs from one beginning to another. */
export type FirstSnapshot = Pick<SnapshotRecord, "coverage" | "filter" | "entries" | "bytes" | "message">;

interface Beginning {
  readonly workspace: WorkspaceRecord;
  readonly base: FirstBase;
  readonly snapshot: FirstSnapshot;
}

/** Appends the first two events. The log must be empty. */
export async function beginHistory(
  context: Context,
  commit: Commit,
  { workspace, base: { root, base, entries }, snapshot }: Beginning,
): Promise<void> {
  const record: SnapshotRecord = {
    number: 0,
    cause: "baseline",
    root,
    parent: null,
    pinned: true,
    name: "baseline",
    actor: context.actor,
    changed: null,
    ...snapshot,
    base,
  };
  await commit.append(
    [
      { op: "upsert", recordId: `workspace:${context.workspaceId}`, record: encodeWorkspace(workspace) },
      { op: "upsert", recordId: `snapshot:${context.newId()}`, record: encodeSnapshot(record) },
    ],
    new Map([[base, entries]]),
  );
}
