import type { Change } from "../../core/values/change.ts";
import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import type { BlockedPath } from "../../worktree/worktree.ts";
import type { Context } from "../log/context.ts";
import { unrecordedChanges } from "../read/diff.ts";
import { type FinishedIntent, openIntents, restOf } from "../capture/operate.ts";
import { shownPath } from "../log/shape.ts";

/**
 * Returns what settling would do now, as far as reading the disk can tell: the changes that are still to be made.
 * Changes nothing.
 */
export async function unfinished(context: Context): Promise<FinishedIntent[]> {
  const open = await openIntents(context);
  if (open.length === 0) return [];
  const { seq } = await context.index.head();
  const pending = new Map((await unrecordedChanges(context)).map((change) => [change.path, change]));
  const found: FinishedIntent[] = [];
  for (const { id, intent } of open) {
    const { changes: plan, state } = await restOf(context, { id, intent });
    const rows = await context.index.iterationsAt(
      plan.map((change) => change.path),
      seq,
    );
    const changes: Change[] = [];
    const blocked: BlockedPath[] = [];
    plan.forEach((change, i) => {
      const seen = pending.get(change.path);
      const present = seen === undefined ? rows[i]?.entry : seen.after;
      const needed = changeBetween(change.path, present, change.after);
      if (needed === undefined) return;
      if (isOnItsWay(present, change)) changes.push(needed);
      else blocked.push({ path: change.path, reason: "changed", detail: "it was edited since" });
    });
    found.push({ id, intent, state, changes, blocked, conflicts: [] });
  }
  return found;
}

/** As it was, in between, or a folder that was opened up to work in it. */
function isOnItsWay(present: Entry | undefined, { before, after }: Change): boolean {
  if (present === undefined || sameEntry(present, before)) return true;
  return present.kind === "dir" && (before?.kind === "dir" || after?.kind === "dir");
}

/** An interrupted operation for people; `verb`: what was done about it, or would be. */
export function interruptedNote({ intent, state, changes, blocked }: FinishedIntent, verb: string): string {
  const left = blocked.map((one) => shownPath(one.path));
  const rest = left.length === 0 ? "" : `; left alone (edited since): ${left.slice(0, 5).join(", ")}`;
  const what = state === "abandoned" ? "taking back the" : "the";
  return `${verb} ${what} interrupted ${intent.summary} (${counted(changes.length)}${rest})`;
}

function counted(paths: number): string {
  return paths === 1 ? "1 path" : `${paths} paths`;
}
