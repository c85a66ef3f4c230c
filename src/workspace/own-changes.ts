import type { Change } from "../core/change.ts";
import type { Entry } from "../core/entry.ts";
import { decodeFile, pathOfRecordId, type FileRecord } from "../core/file-record.ts";
import { changeBetween } from "../core/plan.ts";
import { comparePaths, type WorkspacePath } from "../core/path.ts";
import type { Context } from "./context.ts";
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
): Promise<Change[]> {
  const first = new Map<WorkspacePath, number>();
  const after = new Map<WorkspacePath, Entry | undefined>();
  for await (const event of readRange(context, fromSeq + 1, toSeq)) {
    if (!event.recordId.startsWith("file")) continue;
    const path = pathOfRecordId(event.recordId);
    if (path === undefined) continue;
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

/** What a session did, and the paths that it or another one did. */
export async function changesOfSession(
  context: Context,
  id: string,
  span: SeqSpan,
): Promise<{ readonly changes: Change[]; readonly ambiguous: readonly WorkspacePath[] }> {
  const ambiguous = new Set<WorkspacePath>();
  const changes = await ownChanges(context, span, (record, path) => {
    if (record.candidates?.includes(id) === true) ambiguous.add(path);
    return record.session === id;
  });
  return { changes, ambiguous: [...ambiguous] };
}
