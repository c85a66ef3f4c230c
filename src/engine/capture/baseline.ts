import { encodeBase, type BaseEntry } from "../../core/log/base.ts";
import type { Entry } from "../../core/values/entry.ts";
import type { SealedEvent, EventDraft } from "../../core/values/event.ts";
import { EMPTY_HASH, type Hash } from "../../core/values/hash.ts";
import { LogTree } from "../../core/log/log-tree.ts";
import { manifestRoot } from "../../core/tree/merkle.ts";
import { pathInRoot, ROOT, type WorkspacePath, displayPath } from "../../core/values/path.ts";
import type { ProtectedNames } from "../../core/filter/protected-names.ts";
import { encodeSnapshot, type SnapshotRecord } from "../../core/records/records.ts";
import { encodeSigner, signerRecordId } from "../../core/records/signer-record.ts";
import { encodeWorkspace, type WorkspaceRecord } from "../../core/records/workspace-record.ts";
import { type Commit, withCommit } from "../commit/commit.ts";
import type { Context, HeadToSign } from "../log/context.ts";
import { BASELINE_SEQ } from "../log/history-start.ts";
import { namesOf } from "../state/protected.ts";
import { withBatch } from "../../storage/blob-store.ts";
import { encodeErase } from "../../core/records/erase-record.ts";
import type { LoggedErasure } from "../../core/records/erasures.ts";
import { keepFilters } from "../log/filters.ts";
import { optional } from "../../util/optional.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { coverageOf } from "../../core/records/coverage.ts";
import type { LimitExcess } from "../../worktree/worktree.ts";
import type { Progress } from "../../api/workspace-api.ts";
import { isAllSettled, readDisk, type Reading, settledPaths, HeldStates } from "./read-disk.ts";
import type { ReadTable } from "./read-table.ts";
import { noteRemembered } from "./remember-recorded.ts";
import { noteWhereabouts } from "./unclean-end.ts";

/**
 * Takes the first capture of a workspace, and begins its history (see `beginHistory`). The base of snapshot 0 is the
 * manifest of everything on disk, with iteration 1 for each path. Records nothing if the history has already begun.
 * Throws `LIMIT_EXCEEDED` if the workspace exceeds a limit.
 */
export async function takeBaseline(
  context: Context,
  workspace: WorkspaceRecord,
  options: { readonly onProgress?: (progress: Progress) => void } = {},
): Promise<void> {
  using _lease = await context.blobs.lease();
  const reading = await readDisk(context, options);
  const excess = reading.report.exceeded[0];
  if (excess !== undefined) throw overLimit(context, excess);
  await withCommit(context, async (commit) => {
    const head = await commit.head();
    // If the log has events, another process has recorded the baseline meanwhile.
    if (head.seq > 0) return;
    const base = await writeFirstBase(context, workspace, entriesOf(context, reading.present));
    await beginHistory(context, commit, { workspace, base, snapshot: await baselineRecord(context, reading) });
    context.worktree.remember(settledPaths(reading.present));
    if (isAllSettled(reading)) noteRemembered(context, { from: 0, to: BASELINE_SEQ });
  });
  noteWhereabouts(context);
}

/**
 * Returns the entries in path order. Each iteration over the result creates the entries anew, because keeping all of
 * them would need too much memory.
 */
function entriesOf(context: Context, present: ReadTable): FirstEntries {
  const rows = present.sortedRows();
  const held = new HeldStates(context.worktree);
  return {
    size: present.size,
    *[Symbol.iterator]() {
      for (const row of rows) yield held.foundFirst(present.entryAt(row));
    },
  };
}

async function baselineRecord(context: Context, reading: Reading): Promise<FirstSnapshot> {
  return {
    coverage: coverageOf(reading.omitted, reading.report.unapplied),
    filter: await keepFilters(context, reading.report.filters),
    entries: reading.report.entries,
    bytes: reading.report.bytes,
  };
}

const FLAG = { maxEntries: "--max-entries", maxBytes: "--max-bytes", maxFileSize: "--max-file-size" } as const;
const UNIT = { maxEntries: "paths", maxBytes: "bytes", maxFileSize: "bytes" } as const;

export function overLimit(context: Context, { limit, allowed, found, heaviest }: LimitExcess): ChronicleError {
  const folders = heaviest
    .slice(0, 5)
    .map((one) => `${displayPath(one.path)} (${one.entries} paths, ${one.bytes} bytes)`)
    .join(", ");
  const roots = context.worktree.roots.map(({ folder, only }) => (only === undefined ? folder : `${folder}/${only}`));
  const where = folders === "" ? `all directly in ${roots.join(", ")}` : `the largest folders: ${folders}`;
  return new ChronicleError(
    "LIMIT_EXCEEDED",
    `there are more than ${allowed} ${UNIT[limit]} to track (${found} so far); ${where}`,
    {
      hint: `\`chronicle init --exclude NAME\` leaves a folder out, \`chronicle init ${FLAG[limit]} N\` raises the limit (0: no limit)`,
      data: { limit, allowed, found, heaviest: heaviest.map((one) => ({ ...one, path: displayPath(one.path) })) },
    },
  );
}

/** The files that a hosted workspace begins with: none, or those of another workspace at some moment. */
export interface Seed {
  /** The files, in path order. All their contents are in the store, except for erased ones. */
  readonly entries: readonly Entry[];
  /** The erasures of contents of these files. Default: none. */
  readonly erasures?: readonly LoggedErasure[];
  /** A text for people that says where the files come from. */
  readonly message?: string;
}

/**
 * Begins the history of a hosted workspace, whose log must be empty. Appends the first events, with the files of `seed`
 * in snapshot 0, and then the erasures of contents of these files.
 */
export async function beginHosted(context: Context, workspace: WorkspaceRecord, seed: Seed): Promise<void> {
  using _lease = await context.blobs.lease();
  const { filters } = await context.worktree.scan({}, () => undefined);
  const filter = await keepFilters(context, filters);
  const { entries, erasures = [], message } = seed;
  await withCommit(context, async (commit) => {
    const first = { size: entries.length, [Symbol.iterator]: () => entries.values() };
    const base = await writeFirstBase(context, workspace, first);
    const snapshot = {
      coverage: { complete: true, omitted: [] },
      filter,
      entries: entries.length,
      bytes: entries.reduce((sum, { size }) => sum + size, 0),
      ...optional({ message }),
    };
    await beginHistory(context, commit, { workspace, base, snapshot, isAside: true });
    // The erasures follow the base, because an erasure concerns the contents that events before it name.
    const drafts = erasures.map((one): EventDraft => ({
      op: "upsert",
      recordId: one.recordId,
      record: encodeErase(one),
    }));
    if (drafts.length > 0) await commit.append(drafts);
  });
}

// A history begins with three events: the workspace's own record, the signer of its heads, and snapshot 0. The base of
// snapshot 0 is the manifest of the first entries. A baseline finds these entries on disk, a fork takes them from
// another history, and a new hosted workspace has none.

/** The seq of the event that names the signer of a new history. Event 1 is the workspace's own record. */
const SIGNER_SEQ = 2;

/** The entries with which a history begins, in path order. A caller can iterate over the entries several times. */
interface FirstEntries extends Iterable<Entry> {
  readonly size: number;
}

interface FirstBase {
  readonly root: Hash;
  readonly base: Hash;
  readonly entries: Iterable<BaseEntry>;
}

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

/**
 * Writes the base on which a history will begin, with iteration 1 for each path. The caller must hold a lease of the
 * blob store, which protects new contents from the collector.
 */
async function writeFirstBase(context: Context, workspace: WorkspaceRecord, first: FirstEntries): Promise<FirstBase> {
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

/** The fields of snapshot 0 that a baseline, a fork and a new hosted workspace set differently. */
type FirstSnapshot = Pick<SnapshotRecord, "coverage" | "filter" | "entries" | "bytes" | "message">;

interface Beginning {
  readonly workspace: WorkspaceRecord;
  readonly base: FirstBase;
  readonly snapshot: FirstSnapshot;
  /**
   * True if the history is made in a temporary place, and moved into its own place when it is complete. A head that is
   * already kept for the workspace stems from an earlier attempt whose history was never moved. Such a head is
   * replaced.
   */
  readonly isAside?: true;
}

/**
 * Appends the first events to the log, which must be empty. Signs the head before the events are written, so that the
 * history is signed even if the process is killed right after the write.
 */
async function beginHistory(
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

function headOf(sealed: readonly SealedEvent[]): Pick<HeadToSign, "seq" | "hash" | "logRoot"> {
  const tree = new LogTree();
  for (const { hash } of sealed) tree.append(hash);
  return { seq: sealed.length, hash: sealed.at(-1)?.hash ?? EMPTY_HASH, logRoot: tree.root() };
}
