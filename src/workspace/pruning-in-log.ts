import { parseLine, readEventFast } from "../core/chain.ts";
import { ChronicleError } from "../core/errors.ts";
import { decodePrune, pruneRecordId, type PruneRecord } from "../core/prune-record.ts";
import type { EventLog } from "../storage/event-log.ts";
import type { Context } from "./context.ts";

/** The pruning in force, read from the lines of the log alone: for those who free or miss contents because of it. */

/** A pruning, and its event. */
export interface LoggedPruning extends PruneRecord {
  readonly seq: number;
}

const PRUNE_LINE = Buffer.from('"record_id":"prune:');

/** The last pruning that a log tells of, read from its lines alone. Throws `LOG_DAMAGED` if that line is no pruning. */
export async function lastPruning(log: EventLog, workspaceId: string): Promise<LoggedPruning | undefined> {
  let line: Buffer | undefined;
  for await (const lines of log.read({ seq: 1, offset: 0 })) {
    // Most lines are not even looked at as JSON; what only looks like one is sorted out below.
    for (const { bytes } of lines)
      if (bytes.includes(PRUNE_LINE) && isPruning(bytes, workspaceId)) line = Buffer.from(bytes);
  }
  if (line === undefined) return undefined;
  const { seq, record } = parseLine(line);
  return { ...decodePrune(record), seq };
}

function isPruning(bytes: Buffer, workspaceId: string): boolean {
  try {
    return readEventFast(bytes).recordId === pruneRecordId(workspaceId);
  } catch {
    // No event at all: whoever reads the log in earnest says so.
    return false;
  }
}

/** The same for verifying: a damaged one gives up nothing, and its line is reported when its turn comes. */
export async function pruningInLog({ log, workspaceId }: Context): Promise<LoggedPruning | undefined> {
  try {
    return await lastPruning(log, workspaceId);
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "LOG_DAMAGED") return undefined;
    throw error;
  }
}

/** What of a history is pruned, for people. */
export function prunedNote({ floorSeq, kept, seq }: LoggedPruning): string {
  const states = kept.length === 1 ? "1 earlier state is" : `${kept.length} earlier states are`;
  return `pruned 1..${floorSeq} by event ${seq}: contents that only those events need may be gone; ${states} kept whole`;
}
