import { parseLine } from "../core/log/chain.ts";
import { ChronicleError, type ErrorCode } from "../core/values/errors.ts";
import { decodeSentinel, sentinelId } from "../core/records/sentinel.ts";
import { decodeWorkspace, type WorkspaceRecord } from "../core/records/workspace-record.ts";
import type { Disk } from "../disk/disk.ts";
import { FileEventLog } from "../storage/files/file-event-log.ts";
import type { WorkspaceLayout } from "../storage/files/layout.ts";
import { refuseOtherHistory } from "../engine/log/refuse-other-history.ts";
import { refuseOtherWorkspace } from "./workspace-file.ts";
import { optional } from "../util/optional.ts";

/** The record of itself that a workspace's log ends with, as far as it can be read. */
interface LastRecord {
  /** The last one that is sound, and its event. */
  readonly last?: { readonly record: WorkspaceRecord; readonly seq: number };
  /** The first thing that is wrong on the way, and the line where it is. */
  readonly problem?: ChronicleError;
  readonly line?: number;
}

/** What is wrong with one history; anything else is trouble of the reader, and concerns all of them. */
const OTHER_FORMAT: ErrorCode = "FORMAT_UNSUPPORTED";
const OF_THIS_HISTORY: readonly ErrorCode[] = [OTHER_FORMAT, "LOG_DAMAGED"];

/**
 * Reads the last `workspace:` record in the present log; the sentinel on which that begins behind a compaction has one, too. Throws only
 * for trouble of the disk: a damaged history, or one of another format, has a `problem`. Both are missing where nothing was acknowledged.
 */
export async function lastWorkspaceRecord(
  disk: Disk,
  { log: file, archive, quarantine, workspaceJson }: WorkspaceLayout,
  id: string,
): Promise<LastRecord> {
  const format = faultOf(() => refuseOtherWorkspace(disk, workspaceJson));
  if (format !== undefined) return { problem: format };
  const log = new FileEventLog(disk, { log: file, archive, quarantine });
  try {
    const found = await readRecords(log, id);
    const isNone = found.last === undefined && found.problem === undefined && log.head.bytes > 0;
    return isNone ? { problem: new ChronicleError("LOG_DAMAGED", "its log has no record of the workspace") } : found;
  } finally {
    await log.close();
  }
}

async function readRecords(log: FileEventLog, id: string): Promise<LastRecord> {
  const marks = [`workspace:${id}`, sentinelId(id)].map((recordId) => Buffer.from(`"record_id":"${recordId}"`));
  let last: LastRecord["last"];
  let first: Pick<LastRecord, "problem" | "line"> = {};
  for await (const lines of log.read()) {
    for (const { bytes, offset, lineNumber } of lines) {
      if (!marks.some((mark) => bytes.includes(mark))) continue;
      // A commit without its end was never acknowledged, and may be torn; but another format may end its commits otherwise.
      const isSure = offset < log.head.bytes;
      const problem = faultOf(() => {
        const found = recordIn(bytes);
        if (isSure) last = found;
      });
      if (problem === undefined || (!isSure && problem.code !== OTHER_FORMAT)) continue;
      if (first.problem === undefined) first = { problem, line: lineNumber };
    }
  }
  return { ...optional({ last }), ...first };
}

function recordIn(bytes: Uint8Array): LastRecord["last"] {
  const event = parseLine(bytes);
  refuseOtherHistory(event);
  const record = event.op === "compact" ? decodeSentinel(event).workspace : decodeWorkspace(event.record);
  return { record, seq: event.seq };
}

function faultOf(work: () => void): ChronicleError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (!(error instanceof ChronicleError) || !OF_THIS_HISTORY.includes(error.code)) throw error;
    return error;
  }
}

/** In words, with the line where it is. */
export function problemText({ problem, line }: Pick<LastRecord, "problem" | "line">): string | undefined {
  if (problem === undefined) return undefined;
  return line === undefined ? problem.message : `line ${line} of events.wal: ${problem.message}`;
}

/**
 * Throws `FORMAT_UNSUPPORTED` where the record of a workspace has another format: which folder it holds is not known then, and a
 * second history of that is not begun.
 */
export async function refuseOtherFormat(disk: Disk, layout: WorkspaceLayout, id: string): Promise<void> {
  const { problem } = await lastWorkspaceRecord(disk, layout, id);
  if (problem?.code === OTHER_FORMAT) throw problem;
}
