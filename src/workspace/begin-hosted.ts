import type { Entry } from "../core/entry.ts";
import type { WorkspaceRecord } from "../core/workspace-record.ts";
import { withCommit } from "./commit.ts";
import type { Context } from "./context.ts";
import { keepFilters } from "./filters.ts";
import { beginHistory, writeFirstBase } from "./first-base.ts";

/** The files that a hosted workspace begins with: none, or those of a state of another one. */
export interface Seed {
  /** In path order; their contents are in the store. */
  readonly entries: readonly Entry[];
  /** Where they come from, for people. */
  readonly message?: string;
}

/** Begins the history of a workspace without a folder, in an empty log: its record, and snapshot 0 with these files. */
export async function beginHosted(context: Context, workspace: WorkspaceRecord, seed: Seed): Promise<void> {
  using _lease = await context.blobs.lease();
  const { filters } = await context.worktree.scan({}, () => undefined);
  const filter = await keepFilters(context, filters);
  const { entries, message } = seed;
  await withCommit(context, async (commit) => {
    const first = { size: entries.length, [Symbol.iterator]: () => entries.values() };
    const base = await writeFirstBase(context, workspace, first);
    const snapshot = {
      coverage: { complete: true, omitted: [] },
      filter,
      entries: entries.length,
      bytes: entries.reduce((sum, { size }) => sum + size, 0),
      ...(message === undefined ? {} : { message }),
    };
    await beginHistory(context, commit, { workspace, base, snapshot, isAside: true });
  });
}
