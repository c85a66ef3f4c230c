import type { ActionDiffShape, ActionFileChangeShape } from "../../api/action-shapes.ts";
import { changeType, type Change } from "../../core/values/change.ts";
import type { Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import { comparePaths, type WorkspacePath } from "../../core/values/path.ts";
import { findAction, type LoggedAction } from "../facts/actions.ts";
import type { Context } from "../log/context.ts";
import { indexedFrom } from "../log/history-start.ts";
import { changesOfAction } from "../facts/changes-within.ts";
import { shownPath } from "../log/shape.ts";

/** The files that an action backed up, beside what is there now. Records nothing. */
export async function diffAction(context: Context, id: string): Promise<ActionDiffShape> {
  const action = await findAction(context, id);
  await refuseCompacted(context, action);
  const changes: ActionFileChangeShape[] = [];
  for (const path of await pathsOf(context, action)) {
    const before = (await context.index.iterationAt(path, action.fromSeq))?.entry;
    const change = changeBetween(path, before, await presentAt(context, path));
    if (change !== undefined) changes.push(fileChangeShape(change));
  }
  return { from: action.id, to: "", timestamp: new Date(context.now()).toISOString(), changes };
}

/** The present state of a path. Of one that the rules keep out, not even the hash is told. */
async function presentAt(context: Context, path: WorkspacePath): Promise<Entry | undefined> {
  const recorded = await context.index.iterationAt(path, (await context.index.head()).seq);
  const isTold = recorded?.entry !== undefined || (await context.worktree.explain(path)).tracked;
  return isTold ? context.worktree.inspect(path) : undefined;
}

/** The paths that an action backed up; and, where it could change anything, those that it did. */
async function pathsOf(context: Context, action: LoggedAction): Promise<WorkspacePath[]> {
  const paths = new Set(action.files.map((file) => file.path));
  const { seq } = await context.index.head();
  const toSeq = action.toSeq ?? seq;
  if (action.scope === "workspace")
    for (const { path } of (await changesOfAction(context, action, toSeq)).changes) paths.add(path);
  return [...paths].sort(comparePaths);
}

/** Throws `PRUNED` for an action whose state before it was compacted away. */
export async function refuseCompacted(context: Context, action: LoggedAction): Promise<void> {
  const begins = (await indexedFrom(context)) ?? 1;
  if (action.fromSeq >= begins - 1) return;
  throw new ChronicleError("PRUNED", `what was there before the action ${action.id} was compacted away`, {
    hint: `the history begins at seq:${begins}: that is the earliest state that can be gone back to`,
    data: { action: action.id, seq: begins },
  });
}

function fileChangeShape(change: Change): ActionFileChangeShape {
  return {
    path: shownPath(change.path),
    change_type: changeType(change),
    before_hash: change.before?.hash ?? "",
    after_hash: change.after?.hash ?? "",
    size_bytes: change.after?.size ?? 0,
  };
}
