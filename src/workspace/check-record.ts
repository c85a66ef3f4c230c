import { decodeConflict } from "../core/conflict-record.ts";
import { readOutside } from "../core/outside-record.ts";
import { decodeIntent, decodeSession, decodeSnapshot } from "../core/records.ts";
import { decodeWorkspace } from "../core/workspace-record.ts";
import { decodePin } from "../core/pin-record.ts";
import { decodePrune } from "../core/prune-record.ts";
import { decodeRefused } from "../core/refused-record.ts";
import { decodeTransaction } from "../core/transaction-record.ts";
import { ChronicleError } from "../core/errors.ts";
import type { LogEvent } from "../core/event.ts";
import { decodeSentinel } from "../core/sentinel.ts";
import { iterationOf } from "./project.ts";

/** Is the record one that this code would have written? Throws if not. */
export function checkRecord(event: LogEvent, workspaceId: string): void {
  const { recordId, record, op, seq } = event;
  if (seq === 1 && recordId !== `workspace:${workspaceId}`) {
    throw new ChronicleError(
      "INTEGRITY_VIOLATION",
      `the log begins with ${recordId}: it is not the log of workspace ${workspaceId}`,
    );
  }
  if (op === "delete") return;
  if (op === "compact") {
    decodeSentinel(event);
    return;
  }
  if (recordId.startsWith("file")) iterationOf(event);
  else if (recordId.startsWith("outside")) readOutside(recordId, record);
  else if (recordId.startsWith("snapshot:")) decodeSnapshot(record);
  else if (recordId.startsWith("session:")) decodeSession(record);
  else if (recordId.startsWith("intent:")) decodeIntent(record);
  else if (recordId.startsWith("conflict:")) decodeConflict(record);
  else if (recordId.startsWith("transaction:")) decodeTransaction(record);
  else if (recordId.startsWith("workspace:")) decodeWorkspace(record);
  else if (recordId.startsWith("prune:")) decodePrune(record);
  else if (recordId.startsWith("pin:")) decodePin(record);
  else if (recordId.startsWith("refused:")) decodeRefused(record);
}
