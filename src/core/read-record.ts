import { decodeConflict } from "./conflict-record.ts";
import { decodeCoverageRecord } from "./coverage-record.ts";
import type { RecordBody } from "./event.ts";
import { decodePin } from "./pin-record.ts";
import { decodeProposal, proposedPath } from "./proposal-record.ts";
import { decodePrune } from "./prune-record.ts";
import { damaged } from "./record-fields.ts";
import { decodeIntent, decodeSession, decodeSnapshot } from "./records.ts";
import { decodeRefused } from "./refused-record.ts";
import { decodeReplica, originOfRecordId } from "./replica-record.ts";
import { decodeTransaction } from "./transaction-record.ts";
import { decodeWorkspace } from "./workspace-record.ts";
import { decodeVersion, decodeWriteBack, versionRecordId } from "./write-back-record.ts";

type Reader = (body: RecordBody, recordId: string) => unknown;

/** How records are read that are neither a path's nor a compaction's. */
const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["snapshot", decodeSnapshot],
  ["session", decodeSession],
  ["intent", decodeIntent],
  ["conflict", decodeConflict],
  ["transaction", decodeTransaction],
  ["workspace", decodeWorkspace],
  ["prune", decodePrune],
  ["pin", decodePin],
  ["coverage", decodeCoverageRecord],
  ["refused", decodeRefused],
  ["replica", replica],
  ["proposal", proposal],
  ["writeback", decodeWriteBack],
  ["version", version],
]);

/** Reads a record as whoever needs it would. Throws `LOG_DAMAGED` if that cannot be done; of unknown ones nothing is said. */
export function readRecord(recordId: string, body: RecordBody): void {
  const colon = recordId.indexOf(":");
  READERS.get(recordId.slice(0, Math.max(0, colon)))?.(body, recordId);
}

function replica(body: RecordBody, recordId: string): void {
  if (decodeReplica(body).origin !== originOfRecordId(recordId)) damaged("it is about another origin than its id says");
}

function proposal(body: RecordBody, recordId: string): void {
  const path = proposedPath(recordId);
  if (path === undefined) return damaged("it is about no path");
  decodeProposal(path, body);
}

function version(body: RecordBody, recordId: string): void {
  if (versionRecordId(decodeVersion(body)) !== recordId) damaged("it is about another entry than its id says");
}
