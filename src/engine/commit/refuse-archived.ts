import { ChronicleError } from "../../core/values/errors.ts";
import { decodeWorkspace } from "../../core/records/workspace-record.ts";
import type { HistoryContext } from "../log/context.ts";
import { readEvent } from "../log/read-events.ts";
import { memoKey } from "../log/memo.ts";

/** The time since which a workspace is archived, as of an event. */
interface Known {
  readonly seq: number;
  readonly since: string | undefined;
}

const known = memoKey<Known>("archived since");

/**
 * Returns since when the workspace is archived, as far as the index knows; `undefined` if it is not. The record is read
 * once.
 */
export async function archivedSince(context: HistoryContext): Promise<string | undefined> {
  const { index, memo, workspaceId } = context;
  const row = await index.record(`workspace:${workspaceId}`);
  if (row === undefined) return undefined;
  const last = memo.get(known);
  if (last?.seq === row.seq) return last.since;
  const { archived } = decodeWorkspace((await readEvent(context, row)).record);
  memo.set(known, { seq: row.seq, since: archived });
  return archived;
}

/** Throws `READ_ONLY` for an archived workspace. */
export async function refuseArchived(context: HistoryContext): Promise<void> {
  const since = await archivedSince(context);
  if (since === undefined) return;
  throw new ChronicleError("READ_ONLY", `this workspace is archived since ${since}: it is only read`, {
    hint: `take it up again: \`chronicle workspaces unarchive ${context.workspaceId}\``,
    data: { workspace: context.workspaceId, archived: since },
  });
}
