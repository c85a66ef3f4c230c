import { ChronicleError } from "../../core/values/errors.ts";
import { displayPath } from "../../core/values/path.ts";
import { coverageOf } from "../../core/records/coverage.ts";
import type { WorkspaceRecord } from "../../core/records/workspace-record.ts";
import type { LimitExcess } from "../../worktree/worktree.ts";
import type { Progress } from "../../api/workspace-api.ts";
import { isAllSettled, readDisk, type Reading, settledPaths } from "./read-disk.ts";
import { withCommit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { keepFilters } from "../log/filters.ts";
import { beginHistory, writeFirstBase, type FirstEntries, type FirstSnapshot } from "../commit/first-base.ts";
import { BASELINE_SEQ } from "../log/history-start.ts";
import { HeldStates } from "./held-states.ts";
import type { ReadTable } from "./read-table.ts";
import { noteRemembered } from "./remember-recorded.ts";
import { noteWhereabouts } from "./unclean-end.ts";

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
    // Another process was faster: its baseline holds.
    if (head.seq > 0) return;
    const base = await writeFirstBase(context, workspace, entriesOf(context, reading.present));
    await beginHistory(context, commit, { workspace, base, snapshot: await baselineRecord(context, reading) });
    context.worktree.remember(settledPaths(reading.present));
    if (isAllSettled(reading)) noteRemembered(context, { from: 0, to: BASELINE_SEQ });
  });
  noteWhereabouts(context);
}

/**
 * Yields all entries that were read, in path order. Each iteration makes them anew: kept as objects they would fill the
 * memory.
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
      hint: `\`chronicle init --exclude NAME\` leaves a folder out, \`chronicle init ${FLAG[limit]} N\` raises the limit (0: none)`,
      data: { limit, allowed, found, heaviest: heaviest.map((one) => ({ ...one, path: displayPath(one.path) })) },
    },
  );
}
