import { encodeBase, type BaseEntry } from "../core/base.ts";
import type { Entry } from "../core/entry.ts";
import { ChronicleError } from "../core/errors.ts";
import { EMPTY_HASH, type Hash } from "../core/hash.ts";
import { manifestRoot } from "../core/merkle.ts";
import { displayPath, pathInRoot, ROOT, type WorkspacePath } from "../core/path.ts";
import { coverageOf } from "../core/coverage.ts";
import { encodeSnapshot, encodeWorkspace, type SnapshotRecord, type WorkspaceRecord } from "../core/records.ts";
import type { LimitExcess } from "../worktree/worktree.ts";
import type { Progress } from "../api/workspace-api.ts";
import { isAllSettled, readDisk, settledPaths, type Reading } from "./capture.ts";
import { withCommit } from "./commit.ts";
import type { Context } from "./context.ts";
import { keepFilters } from "./filters.ts";
import type { ReadTable } from "./read-table.ts";
import { noteRemembered } from "./remember-recorded.ts";

/** The event that names the base of a new history: the second, after the workspace's own. */
const BASE_SEQ = 2;

/**
 * The first capture of a workspace: one snapshot event, number 0, whose base is the manifest of everything on disk;
 * each path in it is iteration 1.
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
    // Somebody else was faster: theirs is the baseline.
    if (head.seq > 0) return;
    const { root, base, entries } = await writeBase(context, reading.present);
    const snapshot = await baselineRecord(context, reading, { root, base });
    await commit.append(
      [
        { op: "upsert", recordId: `workspace:${context.workspaceId}`, record: encodeWorkspace(workspace) },
        { op: "upsert", recordId: `snapshot:${context.newId()}`, record: encodeSnapshot(snapshot) },
      ],
      new Map([[base, entries]]),
    );
    context.worktree.remember(settledPaths(reading.present));
    if (isAllSettled(reading)) noteRemembered(context, { from: 0, to: BASE_SEQ });
  });
}

/** The base's entries in path order, made anew each time they are asked for: as objects they would fill the memory. */
class BaseEntries implements Iterable<BaseEntry> {
  readonly #present: ReadTable;
  readonly #rows: Uint32Array;
  folders: ReadonlyMap<WorkspacePath, Hash> = new Map();

  constructor(present: ReadTable) {
    this.#present = present;
    this.#rows = present.sortedRows();
  }

  *entries(): Generator<Entry> {
    for (const row of this.#rows) yield this.#present.entryAt(row);
  }

  *[Symbol.iterator](): Generator<BaseEntry> {
    for (const entry of this.entries()) {
      const folderHash = this.folders.get(entry.path);
      const base = { path: entry.path, iteration: 1, seq: BASE_SEQ, entry };
      yield folderHash === undefined ? base : { ...base, folderHash };
    }
  }
}

async function writeBase(
  context: Context,
  present: ReadTable,
): Promise<{ readonly root: Hash; readonly base: Hash; readonly entries: Iterable<BaseEntry> }> {
  const ids = context.worktree.roots.map(({ id }) => id);
  const entries = new BaseEntries(present);
  const further = ids.flatMap((id) => id ?? []);
  const { root, folders } = manifestRoot(entries.entries(), further);
  entries.folders = folders;
  const roots = ids.map((id) => ({ id: id ?? "", hash: folders.get(pathInRoot(id, ROOT)) ?? EMPTY_HASH }));
  const counts = { entries: present.size, records: 0 };
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

async function baselineRecord(
  context: Context,
  reading: Reading,
  { root, base }: { readonly root: Hash; readonly base: Hash },
): Promise<SnapshotRecord> {
  return {
    number: 0,
    cause: "baseline",
    root,
    parent: null,
    pinned: true,
    name: "baseline",
    actor: context.actor,
    changed: null,
    coverage: coverageOf(reading.omitted),
    filter: await keepFilters(context, reading.report.filters),
    entries: reading.report.entries,
    bytes: reading.report.bytes,
    base,
  };
}

const FLAG = { maxEntries: "--max-entries", maxBytes: "--max-bytes", maxFileSize: "--max-file-size" } as const;
const UNIT = { maxEntries: "paths", maxBytes: "bytes", maxFileSize: "bytes" } as const;

/** The error for a workspace that is over a limit before anything was done. */
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
      hint: `exclude a folder with --exclude NAME, or raise the limit with ${FLAG[limit]} N (0 = none)`,
      data: { limit, allowed, found, heaviest: heaviest.map((one) => ({ ...one, path: displayPath(one.path) })) },
    },
  );
}
