import { conflictDraft } from "../../core/records/conflict-record.ts";
import type { EventDraft } from "../../core/values/event.ts";
import { fileRecordId, encodeFile } from "../../core/values/file-record.ts";
import { type WorkspacePath, comparePaths } from "../../core/values/path.ts";
import { type IntentRecord, type KeptBeside, idOfText, encodeIntent } from "../../core/records/records.ts";
import type { UpstreamChange, WrittenState } from "../../core/tree/upstream-change.ts";
import type { BlockedPath } from "../../worktree/worktree.ts";
import { optional } from "../../util/optional.ts";
import { sameEntry } from "../../core/values/entry.ts";
import { proposalDraft } from "../../core/records/proposal-record.ts";
import { replicaDraft } from "../../core/records/replica-record.ts";
import type { Context } from "../log/context.ts";

export function opening(id: string, intent: IntentRecord): EventDraft {
  return { op: "upsert", recordId: `intent:${id}`, record: encodeIntent({ ...intent, state: "open" }) };
}

/**
 * Returns the event that closes an intent, in the state that `intent` has (`done` or `abandoned`). The event lacks the
 * fields that were needed only to finish the intent. The event adds the number of paths that were left alone
 * (`skipped`). For an undo, the event also adds these paths to `left`. If the intent belongs to a request with an id
 * and is not a write, the event also keeps `stayed` and `keptAt`, which the answer to the request reports.
 */
export function closing(
  id: string,
  intent: IntentRecord,
  { blocked, conflicts = [] }: { readonly blocked: readonly BlockedPath[]; readonly conflicts?: readonly KeptBeside[] },
): EventDraft {
  const { contents: _1, conflicts: _2, changes: _3, replica: _4, proposals: _5, keepMtime: _6, ...kept } = intent;
  const paths = [...(intent.left ?? []), ...blocked.map((one) => one.path)];
  const left = intent.kind !== "undo" || paths.length === 0 ? {} : { left: paths };
  const isAnswered = intent.request !== undefined && intent.kind !== "write";
  const told = isAnswered ? { stayed: [...(intent.stayed ?? []), ...blocked], keptAt: conflicts } : {};
  const record = encodeIntent({ ...kept, skipped: blocked.length, ...left, ...told });
  return { op: "upsert", recordId: `intent:${id}`, record };
}

interface Done {
  readonly id: string;
  readonly intent: IntentRecord;
  readonly changes: readonly UpstreamChange[];
  readonly applied: readonly WorkspacePath[];
  /** The events that record the operation's changes of git. Default: none. */
  readonly git?: readonly EventDraft[];
}

/**
 * Returns the events that record an intent as carried out, all for one commit. The position of the replica comes first,
 * because other events depend on it. The event that closes the intent comes last.
 */
export async function doneDrafts(
  context: Context,
  done: Done & { readonly blocked: readonly BlockedPath[]; readonly conflicts?: readonly KeptBeside[] },
): Promise<EventDraft[]> {
  const { id, intent, changes, blocked } = done;
  return [
    ...(intent.replica === undefined ? [] : [replicaDraft(intent.replica)]),
    ...conflictDrafts(intent, blocked),
    ...holdDrafts({ intent, changes, blocked, met: new Date(context.now()).toISOString() }),
    ...(await fileDrafts(context, done)),
    ...(await proposalDrafts(context, intent.proposals ?? [])),
    ...(done.git ?? []),
    closing(id, intent, done),
  ];
}

/**
 * Returns the events of the operation's conflicts. Leaves out the conflicts of paths that were left alone, because
 * these paths stay as they are.
 */
function conflictDrafts({ conflicts = [] }: IntentRecord, blocked: readonly BlockedPath[]): EventDraft[] {
  const left = new Set(blocked.map((one) => one.path));
  return conflicts.filter(({ record }) => !left.has(record.path)).map(conflictDraft);
}

async function proposalDrafts(context: Context, paths: readonly WorkspacePath[]): Promise<EventDraft[]> {
  if (paths.length === 0) return [];
  const { seq } = await context.index.head();
  const rows = await context.index.iterationsAt(paths, seq);
  return paths.map((path, i) => proposalDraft({ path, iteration: rows[i]?.iteration ?? 0 }));
}

/**
 * Returns the events of the changes whose paths are in `applied`, in path order:
 *
 * - A change without `written` gives one event, or none if the index already has its `after` state.
 * - A change with `written` gives one event for each state in `written` that the index does not have yet.
 */
export async function fileDrafts(context: Context, { id, intent, changes, applied }: Done): Promise<EventDraft[]> {
  const wanted = new Set(applied);
  const done = changes.filter((change) => wanted.has(change.path)).sort((a, b) => comparePaths(a.path, b.path));
  const { seq } = await context.index.head();
  const paths = done.map((change) => change.path);
  const rows = await context.index.iterationsAt(paths, seq);
  const isWritten = done.some((change) => change.written !== undefined);
  const before = isWritten ? await context.index.iterationsAt(paths, intent.fromSeq) : [];
  return done.flatMap((change, i): EventDraft[] => {
    const row = rows[i];
    if (change.written !== undefined) {
      const [first, now] = [before[i]?.iteration ?? 0, row?.iteration ?? 0];
      const rest = change.written.slice(now - first);
      return rest.map((one, at) => writtenDraft(change.path, one, now + at + 1));
    }
    // A decided write records its events before its files change. After a crash, the index may therefore have the state
    // already. The change is not recorded twice.
    if (row !== undefined && sameEntry(row.entry, change.after)) return [];
    return [fileDraft({ id, intent }, change, (row?.iteration ?? 0) + 1)];
  });
}

export function writtenDraft(path: WorkspacePath, { entry, by, replica }: WrittenState, iteration: number): EventDraft {
  const record = encodeFile({ entry, iteration, cause: "replica", ...by, replica });
  return { op: "upsert", recordId: fileRecordId(path), record };
}

export function fileDraft(
  { id, intent }: Pick<Done, "id" | "intent">,
  change: UpstreamChange,
  iteration: number,
): EventDraft {
  const { path, after, upstream } = change;
  if (intent.kind === "replica") return upstreamDraft(intent, change, iteration);
  const { kind: cause, actor, session, action, transaction } = intent;
  const record = encodeFile({
    entry: after,
    iteration,
    cause,
    actor,
    ...optional({ session, action, transaction }),
    intent: id,
    // Set only if a person has resolved a conflict of a sync in favour of the origin's state.
    ...optional({ upstream }),
  });
  return { op: "upsert", recordId: fileRecordId(path), record };
}

/**
 * Returns the event of a change that a replica's step made. The event names the author of the change at the origin
 * (`by`). If the author is not known, the event names the actor of the step. The cause of the event is `merge` for a
 * merge of both sides, and `replica` for every other change. The event names no intent, so it belongs to no operation
 * of this history.
 */
function upstreamDraft({ actor }: IntentRecord, change: UpstreamChange, iteration: number): EventDraft {
  const { path, after, cause = "replica", by, upstream } = change;
  const whose = by ?? { actor };
  const record = encodeFile({
    entry: after,
    iteration,
    cause,
    ...whose,
    ...optional({ upstream }),
  });
  return { op: "upsert", recordId: fileRecordId(path), record };
}

// A path is held if the origin's state of the path cannot be written to the folder now. A held path must not count as
// reconciled. If a held path counted as reconciled, a later edit of the file in the folder would look like an edit of
// the origin's state, and would overwrite that state.

/**
 * Returns the id of a held path's conflict. The id depends only on the origin and the path, so a path that is held
 * again gets no second conflict record.
 */
function holdId(origin: string, path: WorkspacePath): string {
  return idOfText(`chronicle hold\0${origin}\0${fileRecordId(path)}`);
}

interface Held {
  readonly intent: IntentRecord;
  readonly changes: readonly UpstreamChange[];
  readonly blocked: readonly BlockedPath[];
  readonly met: string;
}

/**
 * Returns the events of the held paths: one open conflict with the reason `blocked` for each path that a replica's step
 * left alone. Returns no event for any other intent. If the step was to record or settle a conflict of the path, the
 * event has the id of that conflict. That conflict then stays open, with the reason `blocked`.
 */
function holdDrafts({ intent, changes, blocked, met }: Held): EventDraft[] {
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
    // `since` applies only while nothing beneath the path is reconciled. `since` is dropped if the step settles the
    // conflict, because such a step also reconciles everything beneath the path.
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
