import type { Change } from "../core/change.ts";
import { conflictDraft } from "../core/conflict-record.ts";
import { sameEntry } from "../core/entry.ts";
import type { EventDraft } from "../core/event.ts";
import { encodeFile, fileRecordId } from "../core/file-record.ts";
import { comparePaths, type WorkspacePath } from "../core/path.ts";
import { encodeIntent, type IntentRecord } from "../core/records.ts";
import type { BlockedPath } from "../worktree/worktree.ts";
import type { Context } from "./context.ts";

/** The events of an operation. */

/** The beginning of an intent. */
export function opening(id: string, intent: IntentRecord): EventDraft {
  return { op: "upsert", recordId: `intent:${id}`, record: encodeIntent({ ...intent, state: "open" }) };
}

/** The end of an intent: what was only needed to finish it is left out. */
export function closing(id: string, intent: IntentRecord, blocked: readonly BlockedPath[]): EventDraft {
  const { contents: _contents, conflicts: _conflicts, ...kept } = intent;
  const left = intent.selection === undefined || blocked.length === 0 ? {} : { left: blocked.map((one) => one.path) };
  const record = encodeIntent({ ...kept, skipped: blocked.length, ...left });
  return { op: "upsert", recordId: `intent:${id}`, record };
}

/** A path that was left alone is as it was, and so are its conflicts. */
export function conflictDrafts({ conflicts = [] }: IntentRecord, blocked: readonly BlockedPath[]): EventDraft[] {
  const left = new Set(blocked.map((one) => one.path));
  return conflicts.filter(({ record }) => !left.has(record.path)).map(conflictDraft);
}

/** What was done by an intent. */
export interface Done {
  readonly id: string;
  readonly intent: IntentRecord;
  readonly changes: readonly Change[];
  readonly applied: readonly WorkspacePath[];
}

/** One event for each path that was changed; a folder directly before what it holds. */
export async function fileDrafts(context: Context, { id, intent, changes, applied }: Done): Promise<EventDraft[]> {
  const wanted = new Set(applied);
  const done = changes.filter((change) => wanted.has(change.path)).sort((a, b) => comparePaths(a.path, b.path));
  const { seq } = await context.index.head();
  const rows = await context.index.iterationsAt(
    done.map((change) => change.path),
    seq,
  );
  return done.flatMap((change, i): EventDraft[] => {
    const row = rows[i];
    // A torn batch has left its first events: what they say is not said twice.
    if (row !== undefined && sameEntry(row.entry, change.after)) return [];
    return [fileDraft({ id, intent }, change, (row?.iteration ?? 0) + 1)];
  });
}

/** The event that an intent has changed a path. */
export function fileDraft(
  { id, intent }: Pick<Done, "id" | "intent">,
  { path, after }: Change,
  iteration: number,
): EventDraft {
  const { kind: cause, actor, session, action, transaction } = intent;
  const record = encodeFile({
    entry: after,
    iteration,
    cause,
    actor,
    ...(session === undefined ? {} : { session }),
    ...(action === undefined ? {} : { action }),
    ...(transaction === undefined ? {} : { transaction }),
    intent: id,
  });
  return { op: "upsert", recordId: fileRecordId(path), record };
}
