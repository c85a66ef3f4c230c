import type { LogEvent } from "../../core/values/event.ts";
import { changesOf, type FileRecord } from "../../core/values/file-record.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import { comparePaths, type WorkspacePath } from "../../core/values/path.ts";
import type { Context } from "../log/context.ts";
import { firstEvent, type OwnChange } from "./first-event.ts";
import { indexedFrom } from "../log/history-start.ts";
import type { PathClaim } from "../state/proved-rows.ts";
import { readRange } from "../log/read-events.ts";

/** The events after `fromSeq`, up to `toSeq`. */
export interface SeqSpan {
  readonly fromSeq: number;
  readonly toSeq: number;
}

type OwnFilter = (record: FileRecord, path: WorkspacePath) => boolean;

export interface OwnEvent {
  readonly seq: number;
  readonly record: FileRecord;
}

interface Looking {
  readonly isOwn: OwnFilter;
  /** Called with each event that records no change of a path. */
  readonly onOther?: (event: LogEvent) => void;
  /** Called after all events were read. Returns a function that returns true for own events that are left out. */
  readonly isOut?: () => Promise<(event: OwnEvent, path: WorkspacePath) => boolean>;
}

export interface OwnWork {
  readonly changes: readonly OwnChange[];
  /** The claims about the first own event of each path (see `PathClaim`), including paths without a net change. */
  readonly claims: readonly PathClaim[];
}

/**
 * Returns the net change of each path by the own events in a span. Own events are those for which `isOwn` returns true.
 * The net change leads from the state before the path's first own event to the state after its last own event. Other
 * changes between these two events are included. Earlier and later changes are not.
 */
export async function ownChanges(
  context: Context,
  span: SeqSpan,
  { isOwn, onOther, isOut }: Looking,
): Promise<OwnWork> {
  const { fromSeq, toSeq } = span;
  if (toSeq <= fromSeq) return { changes: [], claims: [] };
  const own = new Map<WorkspacePath, OwnEvent[]>();
  // The first events of the work may have been dropped with an archive. Only later events can be read.
  const begins = (await indexedFrom(context)) ?? 1;
  for await (const event of readRange(context, Math.max(fromSeq + 1, begins), toSeq)) {
    const recorded = changesOf(event);
    if (recorded.length === 0) onOther?.(event);
    for (const { path, file: record } of recorded) {
      if (!isOwn(record, path)) continue;
      const known = own.get(path);
      if (known === undefined) own.set(path, [{ seq: event.seq, record }]);
      else known.push({ seq: event.seq, record });
    }
  }
  const isLeftOut = await isOut?.();
  const changes: OwnChange[] = [];
  const claims: PathClaim[] = [];
  for (const [path, all] of own) {
    const events = isLeftOut === undefined ? all : all.filter((one) => !isLeftOut(one, path));
    const [first] = events;
    if (first === undefined) continue;
    const before = await context.index.iterationAt(path, first.seq - 1);
    claims.push({ path, seq: first.seq, before: { entry: before?.entry } });
    const change = changeBetween(path, before?.entry, events.at(-1)?.record.entry);
    if (change !== undefined) changes.push({ ...change, first: firstEvent(first.record, first.seq) });
  }
  return { changes: changes.sort((a, b) => comparePaths(a.path, b.path)), claims };
}
