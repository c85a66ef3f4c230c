import { ChronicleError } from "../core/errors.ts";
import type { LogEvent } from "../core/event.ts";
import { readOutside } from "../core/outside-record.ts";
import { readRecord } from "../core/read-record.ts";
import { decodeSentinel } from "../core/sentinel.ts";
import { decodeSigner, signerRecordId } from "../core/signer-record.ts";
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
  if (op === "compact") decodeSentinel(event);
  else if (recordId.startsWith("file")) iterationOf(event);
  else if (recordId.startsWith("outside")) readOutside(recordId, record);
  else if (recordId.startsWith("signer:")) checkSigner(event, workspaceId);
  else readRecord(recordId, record);
}

function checkSigner({ recordId, record, seq }: LogEvent, workspaceId: string): void {
  const { since } = decodeSigner(record);
  if (recordId === signerRecordId(workspaceId) && since === seq) return;
  throw new ChronicleError("INTEGRITY_VIOLATION", `${recordId} names the signer since event ${since}`);
}
