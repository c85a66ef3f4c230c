import { isHash, type Hash } from "../../core/values/hash.ts";
import type { EventDraft } from "../../core/values/event.ts";
import type { Entry } from "../../core/values/entry.ts";
import { changesOf } from "../../core/values/file-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { HistoryContext } from "../log/context.ts";
import type { PendingChanges } from "../log/tree.ts";

// The rules for the Merkle roots that the marks of commits state (see `docs/format.md`, "Commits").

/**
 * The number of events without a stated root after which the next commit states the root, whatever the commit contains.
 */
export const ROOT_EVERY = 1_000;

/** True if these drafts end an operation or a session, or contain a snapshot or a compaction. */
export function mustStateRoot(drafts: readonly Pick<EventDraft, "recordId" | "record" | "op">[]): boolean {
  return drafts.some(({ recordId, record, op }) => {
    if (op === "compact" || recordId.startsWith("snapshot:")) return true;
    if (recordId.startsWith("intent:")) return record["state"] !== "open";
    return recordId.startsWith("session:") && record["state"] !== "running";
  });
}

/** True if the last stated root is at least `ROOT_EVERY` events before event `last`. */
export async function isRootDue({ index }: Pick<HistoryContext, "index">, last: number): Promise<boolean> {
  return last - ((await index.rootedCommit(last))?.last ?? 0) >= ROOT_EVERY;
}

/**
 * Returns the root in the last draft, if this draft is a snapshot or a compaction and no draft records a file. Returns
 * `undefined` otherwise.
 */
export function statedRoot(drafts: readonly EventDraft[]): Hash | undefined {
  const last = drafts.at(-1);
  const isAlone = drafts.every(({ recordId }) => !recordId.startsWith("file"));
  if (last === undefined || !isAlone) return undefined;
  const root = last.op === "compact" || last.recordId.startsWith("snapshot:") ? last.record["root"] : undefined;
  return typeof root === "string" && isHash(root) ? root : undefined;
}

/**
 * Returns a map from each path to the last state that the events record for the path; `undefined` for a deleted path.
 */
export function pendingChanges(events: readonly Pick<EventDraft, "recordId" | "record">[]): PendingChanges {
  const pending = new Map<WorkspacePath, Entry | undefined>();
  for (const event of events) for (const { path, file } of changesOf(event)) pending.set(path, file.entry);
  return pending;
}
