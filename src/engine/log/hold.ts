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
 * What of an origin cannot be brought into the folder now. The folder goes on without it, so the path must not count as
 * reconciled: an edit of what is still there would be taken for one of what the origin has, and undo it.
 */

/** The conflict by which a path is held: always the same one. */
function holdId(origin: string, path: WorkspacePath): string {
  return idOfText(`chronicle hold\0${origin}\0${fileRecordId(path)}`);
}

/** What an intent of a replica left alone. */
export interface Held {
  readonly intent: IntentRecord;
  readonly changes: readonly UpstreamChange[];
  readonly blocked: readonly BlockedPath[];
  /** When that was found. */
  readonly met: string;
}

/** One open conflict for each path that was left alone; a conflict of the path that was about to be settled stays, as this. */
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
    // The step that settles a conflict reconciles what lies beneath its path: that stands on nothing older any more.
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
