import type { Entry } from "../../core/values/entry.ts";
import { encodeErase } from "../../core/records/erase-record.ts";
import type { LoggedErasure } from "../../core/records/erasures.ts";
import type { EventDraft } from "../../core/values/event.ts";
import type { WorkspaceRecord } from "../../core/records/workspace-record.ts";
import { withCommit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { keepFilters } from "../log/filters.ts";
import { beginHistory, writeFirstBase } from "../commit/first-base.ts";
import { optional } from "../../util/optional.ts";

/** The files that a hosted workspace begins with: none, or those of a state of another one. */
export interface Seed {
  /** In path order; their contents are in the store, but for those that are erased. */
  readonly entries: readonly Entry[];
  /** The erasures of contents of these files. Default: none. */
  readonly erasures?: readonly LoggedErasure[];
  /** Says where the files come from, for people. */
  readonly message?: string;
}

/** Begins the history of a workspace without a folder, in an empty log: its record, snapshot 0 with these files, and what is erased of them. */
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
    // The erasures follow the base: an erasure concerns the contents that events before it name.
    const drafts = erasures.map((one): EventDraft => ({
      op: "upsert",
      recordId: one.recordId,
      record: encodeErase(one),
    }));
    if (drafts.length > 0) await commit.append(drafts);
  });
}
