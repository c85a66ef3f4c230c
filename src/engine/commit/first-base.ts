import { encodeBase, type BaseEntry } from "../../core/log/base.ts";
import type { Entry } from "../../core/values/entry.ts";
import type { SealedEvent } from "../../core/values/event.ts";
import { EMPTY_HASH, type Hash } from "../../core/values/hash.ts";
import { LogTree } from "../../core/log/log-tree.ts";
import { manifestRoot } from "../../core/tree/merkle.ts";
import { pathInRoot, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { ProtectedNames } from "../../core/filter/protected-names.ts";
import { encodeSnapshot, type SnapshotRecord } from "../../core/records/records.ts";
import { encodeSigner, signerRecordId } from "../../core/records/signer-record.ts";
import { encodeWorkspace, type WorkspaceRecord } from "../../core/records/workspace-record.ts";
import type { Commit } from "./commit.ts";
import type { Context, HeadToSign } from "../log/context.ts";
import { BASELINE_SEQ } from "../log/history-start.ts";
import { namesOf } from "../state/protected.ts";
import { withBatch } from "../../storage/blob-store.ts";

/**
 * Begins a history: with the workspace's own record, the signer of its heads, and snapshot 0, whose base is the
 * manifest of the first entries. A baseline finds these on disk; a fork takes them from another history; a new hosted
 * workspace begins with none.
 */

/** The seq of the event that names the signer of a new history: the second, after the workspace's own. */
const SIGNER_SEQ = 2;

/** The entries with which a history begins, in path order. They can be iterated several times. */
export interface FirstEntries extends Iterable<Entry> {
  readonly size: number;
}

/** A base that is durable in the store. */
interface FirstBase {
  readonly root: Hash;
  readonly base: Hash;
  readonly entries: Iterable<BaseEntry>;
}

/** The rows of the base, built on each iteration. */
class BaseEntries implements Iterable<BaseEntry> {
  readonly #entries: FirstEntries;
  readonly #folders: ReadonlyMap<WorkspacePath, Hash>;
  readonly #names: ProtectedNames;

  constructor(entries: FirstEntries, folders: ReadonlyMap<WorkspacePath, Hash>, names: ProtectedNames) {
    this.#entries = entries;
    this.#folders = folders;
    this.#names = names;
  }

  *[Symbol.iterator](): Generator<BaseEntry> {
    for (const given of this.#entries) {
      const entry = this.#names.classed(given);
      const folderHash = this.#folders.get(entry.path);
      const base = { path: entry.path, iteration: 1, seq: BASELINE_SEQ, entry };
      yield folderHash === undefined ? base : { ...base, folderHash };
    }
  }
}

/** Writes the base on which a history will begin; each path in it is iteration 1. Hold a lease. */
export async function writeFirstBase(
  context: Context,
  workspace: WorkspaceRecord,
  first: FirstEntries,
): Promise<FirstBase> {
  const ids = context.worktree.roots.map(({ id }) => id);
  const further = ids.flatMap((id) => id ?? []);
  const { root, folders } = manifestRoot(first, further);
  const entries = new BaseEntries(first, folders, namesOf(workspace));
  const roots = ids.map((id) => ({ id: id ?? "", hash: folders.get(pathInRoot(id, ROOT)) ?? EMPTY_HASH }));
  const counts = { entries: first.size, records: 0 };
  const { hash } = await withBatch(context.blobs, (batch) =>
    batch.putStream(encodeBase({ root, roots, entries, records: [], counts })),
  );
  return { root, base: hash, entries };
}

/** The parts of the first snapshot that differ from one beginning to another. */
export type FirstSnapshot = Pick<SnapshotRecord, "coverage" | "filter" | "entries" | "bytes" | "message">;

interface Beginning {
  readonly workspace: WorkspaceRecord;
  readonly base: FirstBase;
  readonly snapshot: FirstSnapshot;
  /**
   * Set if the history is made aside: nobody finds it before it is put into its place. If that never happens, its head
   * says nothing.
   */
  readonly isAside?: true;
}

/**
 * Appends the first events; the log must be empty. Their head is signed before they are written: a process that is
 * killed right after that still leaves a history that can be signed.
 */
export async function beginHistory(
  context: Context,
  commit: Commit,
  { workspace, base: { root, base, entries }, snapshot, isAside }: Beginning,
): Promise<void> {
  const record: SnapshotRecord = {
    number: 0,
    cause: "baseline",
    root,
    parent: null,
    pinned: true,
    name: "baseline",
    actor: context.caller.actor,
    changed: null,
    ...snapshot,
    base,
  };
  const { heads, workspaceId, caller } = context;
  const signer = { key: heads.makeKey(), since: SIGNER_SEQ, why: "begun", actor: caller.actor } as const;
  await commit.append(
    [
      { op: "upsert", recordId: `workspace:${workspaceId}`, record: encodeWorkspace(workspace) },
      { op: "upsert", recordId: signerRecordId(workspaceId), record: encodeSigner(signer) },
      { op: "upsert", recordId: `snapshot:${context.newId()}`, record: encodeSnapshot(record) },
    ],
    {
      atHand: new Map([[base, entries]]),
      onSealed: (sealed) => {
        const head = { workspaceId, root, ...headOf(sealed) };
        if (isAside === true) heads.replace(head);
        else heads.signFirst(head);
      },
    },
  );
}

/** Returns the head behind the first events of a log. */
function headOf(sealed: readonly SealedEvent[]): Pick<HeadToSign, "seq" | "hash" | "logRoot"> {
  const tree = new LogTree();
  for (const { hash } of sealed) tree.append(hash);
  return { seq: sealed.length, hash: sealed.at(-1)?.hash ?? EMPTY_HASH, logRoot: tree.root() };
}
