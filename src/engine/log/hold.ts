import { conflictDraft } from "../../core/records/conflict-record.ts";
import type { EventDraft } from "../../core/values/event.ts";
import { fileRecordId } from "../../core/values/file-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { IntentRecord } from "../../core/records/records.ts";
import { idOfText } from "../../core/records/request-intent.ts";
import type { UpstreamChange } from "../../core/tree/upstream-change.ts";
import type { BlockedPath } from "../../worktree/worktree.ts";
import { optional } from "../../util/optional.ts";

/**
 * Holds paths whose origin's state cannot be written to the folder now. The folder goes on without it, so the path must
 * not count as reconciled: an edit of its present content would be taken for an edit of the origin's, and undo it.
 */

/** Returns the id of the conflict that holds a path: always the same one. */
function holdId(origin: string, path: WorkspacePath): string {
  return idOfText(`chronicle hold\0${origin}\0${fileRecordId(path)}`);
}

/** The paths that an intent of a replica left alone. */
export interface Held {
  readonly intent: IntentRecord;
  readonly changes: readonly UpstreamChange[];
  readonly blocked: readonly BlockedPath[];
  /** The time at which that was found. */
  readonly met: string;
}

/**
 * Returns one open conflict for each path that was left alone. If a conflict of the path was about to be settled, it
 * stays open as this one.
 */
export function holdDrafts({ intent, changes, blocked, met }: Held): EventDraft[] {
  const { replica, conflicts = [] } = intent;
  if (replica === undefined || blocked.length === 0) return [];
  const { origin } = replica;
  const wanted = new Map(changes.map((change) => [change.path, change]));
  const known = new Map(conflicts.map((one) => [one.record.path, one]));
  return blocked.flatMap(({ path, reason, detail }): EventDraft[] => {
    const change = wanted.get(path);
    if (change === undefined) return [];
    const { before, after, base, upstream } = change;
    const earlier = known.get(path);
    // The step that settles a conflict also reconciles what lies beneath its path, so `since` no longer applies.
    const since = earlier?.record.state === "open" ? earlier.record.sync?.since : undefined;
    const sync = {
      ...optional({ since }),
      origin,
      baseSeq: base?.seq ?? 0,
      upstreamSeq: upstream?.seq ?? 0,
      detail: `${reason}: ${detail}`,
    };
    const states = { base: base?.entry, current: before, wanted: after };
    const record = { path, state: "open", reason: "blocked", undo: "", sync, met, ...states } as const;
    return [conflictDraft({ id: earlier?.id ?? holdId(origin, path), record })];
  });
}
