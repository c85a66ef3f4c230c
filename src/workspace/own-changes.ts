import type { Change } from "../core/change.ts";
import type { Entry } from "../core/entry.ts";
import type { LogEvent } from "../core/event.ts";
import { decodeFile, pathOfRecordId, type FileRecord } from "../core/file-record.ts";
import { changeBetween, composeChanges } from "../core/plan.ts";
import { comparePaths, type WorkspacePath } from "../core/path.ts";
import type { AttributedChange } from "./attribution.ts";
import type { Context } from "./context.ts";
import { indexedFrom } from "./history-start.ts";
import { readRange } from "./read-events.ts";

/** Events after `fromSeq`, up to `toSeq`. */
export interface SeqSpan {
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** What somebody's own events in a span did to each path: what others did in between is not among it. */
export async function ownChanges(
  context: Context,
  { fromSeq, toSeq }: SeqSpan,
  isOwn: (record: FileRecord, path: WorkspacePath) => boolean,
  onOther?: (event: LogEvent) => void,
): Promise<Change[]> {
  if (toSeq <= fromSeq) return [];
  const first = new Map<WorkspacePath, number>();
  const after = new Map<WorkspacePath, Entry | undefined>();
  // What began before a dropped archive goes on behind it.
  const begins = (await indexedFrom(context)) ?? 1;
  for await (const event of readRange(context, Math.max(fromSeq + 1, begins), toSeq)) {
    const path = event.recordId.startsWith("file") ? pathOfRecordId(event.recordId) : undefined;
    if (path === undefined) {
      onOther?.(event);
      continue;
    }
    const record = decodeFile(path, event.record);
    if (!isOwn(record, path)) continue;
    if (!first.has(path)) first.set(path, event.seq);
    after.set(path, record.entry);
  }
  const changes: Change[] = [];
  for (const [path, seq] of first) {
    const before = await context.index.iterationAt(path, seq - 1);
    const change = changeBetween(path, before?.entry, after.get(path));
    if (change !== undefined) changes.push(change);
  }
  return changes.sort((a, b) => comparePaths(a.path, b.path));
}

/** What somebody did, and the paths that they or somebody else did. */
export interface OwnWork {
  readonly changes: Change[];
  readonly ambiguous: readonly WorkspacePath[];
}

/** What a session did: itself, and by the actions that were begun while it was the one that recorded. */
export async function changesOfSession(context: Context, id: string, span: SeqSpan): Promise<OwnWork> {
  const ambiguous = new Set<WorkspacePath>();
  const actions = new Set<string>();
  const isOwn = (record: FileRecord, path: WorkspacePath): boolean => {
    if (record.candidates?.some((one) => one === id || actions.has(one)) === true) ambiguous.add(path);
    return record.session === id || (record.action !== undefined && actions.has(record.action));
  };
  const changes = await ownChanges(context, span, isOwn, ({ recordId, record }) => {
    if (recordId.startsWith("action:") && record["run"] === id) actions.add(recordId.slice("action:".length));
  });
  return { changes, ambiguous: [...ambiguous] };
}

/** What an action did from its snapshot up to an event, and in the changes that are about to follow it. */
export async function changesOfAction(
  context: Context,
  { id, seq }: { readonly id: string; readonly seq: number },
  toSeq: number,
  next: readonly AttributedChange[] = [],
): Promise<OwnWork> {
  const ambiguous = new Set<WorkspacePath>();
  const recorded = await ownChanges(context, { fromSeq: seq, toSeq }, (record, path) => {
    if (record.candidates?.includes(id) === true) ambiguous.add(path);
    return record.action === id;
  });
  for (const { by, path } of next) if (by.candidates?.includes(id) === true) ambiguous.add(path);
  const mine = next.filter(({ by }) => by.action === id).map(({ path, before, after }) => ({ path, before, after }));
  return { changes: composeChanges(recorded, mine), ambiguous: [...ambiguous].sort(comparePaths) };
}
