import { parseLine } from "../core/log/chain.ts";
import { ChronicleError, type ErrorCode } from "../core/values/errors.ts";
import { decodeSentinel, sentinelId } from "../core/records/sentinel.ts";
import { decodeWorkspace, type WorkspaceRecord } from "../core/records/workspace-record.ts";
import type { EventLog } from "../storage/event-log.ts";
import type { WorkspaceLayout } from "../storage/layout.ts";
import { refuseOtherHistory } from "../engine/log/history-start.ts";
import type { Backends } from "./backends.ts";
import { refuseOtherWorkspace } from "./workspace-file.ts";
import { optional } from "../util/optional.ts";

export type HistoryBackends = Pick<Backends, "disk" | "openLog">;

interface LastRecord {
  /** The last sound record, and the `seq` of its event. */
  readonly last?: { readonly record: WorkspaceRecord; readonly seq: number };
  readonly problem?: ChronicleError;
  /** The number of the line with the problem; `undefined` if the problem does not concern a single line. */
  readonly line?: number;
}

const OTHER_FORMAT: ErrorCode = "FORMAT_UNSUPPORTED";
/**
 * The codes of errors that concern only one history. Such an error becomes a `problem`. All other errors are thrown.
 */
const OF_THIS_HISTORY: readonly ErrorCode[] = [OTHER_FORMAT, "LOG_DAMAGED"];

/**
 * Reads the last `workspace:` record in the present log. After a compaction, the sentinel at the start of the log
 * contains that record. If the history is damaged or has another format, the result has a `problem`. Throws all other
 * errors, such as errors of the disk. `last` and `problem` are both missing if the log has no acknowledged event.
 */
export async function lastWorkspaceRecord(
  { disk, openLog }: HistoryBackends,
  { log: file, archive, quarantine, workspaceJson }: WorkspaceLayout,
  id: string,
): Promise<LastRecord> {
  const format = faultOf(() => refuseOtherWorkspace(disk, workspaceJson));
  if (format !== undefined) return { problem: format };
  const log = await openLog({ log: file, archive, quarantine });
  try {
    const found = await readRecords(log, id);
    const isNone = found.last === undefined && found.problem === undefined && log.head.bytes > 0;
    return isNone ? { problem: new ChronicleError("LOG_DAMAGED", "its log has no record of the workspace") } : found;
  } finally {
    await log.close();
  }
}

async function readRecords(log: EventLog, id: string): Promise<LastRecord> {
  const marks = [`workspace:${id}`, sentinelId(id)].map((recordId) => Buffer.from(`"record_id":"${recordId}"`));
  let last: LastRecord["last"];
  let first: Pick<LastRecord, "problem" | "line"> = {};
  for await (const lines of log.read()) {
    for (const { bytes, offset, lineNumber } of lines) {
      if (!marks.some((mark) => bytes.includes(mark))) continue;
      // Damage in a commit without its end is no fault, because the commit may be torn and was never acknowledged. A
      // line of another format is a fault even in such a commit, because another format may end its commits in another
      // way.
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

/** Returns the problem of a history as a text for people, with the number of the line if this number is known. */
export function problemText({ problem, line }: Pick<LastRecord, "problem" | "line">): string | undefined {
  if (problem === undefined) return undefined;
  return line === undefined ? problem.message : `line ${line} of events.wal: ${problem.message}`;
}

/**
 * Throws `FORMAT_UNSUPPORTED` if the history of a workspace has another format. Otherwise, a second history of the same
 * folder could begin, because the folder of such a workspace is unknown.
 */
export async function refuseOtherFormat(backends: HistoryBackends, layout: WorkspaceLayout, id: string): Promise<void> {
  const { problem } = await lastWorkspaceRecord(backends, layout, id);
  if (problem?.code === OTHER_FORMAT) throw problem;
}
