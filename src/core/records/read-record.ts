import { decodeAction } from "./action-record.ts";
import { decodeConflict } from "./conflict-record.ts";
import { decodeCoverageRecord } from "./coverage.ts";
import { decodeErase } from "./erase-record.ts";
import type { RecordBody } from "../values/event.ts";
import { decodeGitRecord } from "./git-record.ts";
import { decodePin } from "./pin-record.ts";
import { decodeProposal, proposedPath } from "./proposal-record.ts";
import { decodePrune } from "./prune-record.ts";
import { damaged, hashOf, list, object, text, texts, whole } from "../values/record-fields.ts";
import { decodeIntent, decodeSession, decodeSnapshot } from "./records.ts";
import { decodeRefused } from "./refused-record.ts";
import { decodeReplica, originOfRecordId } from "./replica-record.ts";
import { decodeTransaction } from "./transaction-record.ts";
import { decodeTurn, turnRecordId } from "./turn-record.ts";
import { decodeWorkspace } from "./workspace-record.ts";
import { decodeVersion, decodeWriteBack, versionRecordId } from "./write-back.ts";

type Reader = (body: RecordBody, recordId: string) => unknown;

/**
 * Maps the kind of a record to the decoder that `readRecord` uses. Records of files, outside paths, compactions and
 * signers are decoded elsewhere. The content of a user's record is not checked.
 */
const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["snapshot", decodeSnapshot],
  ["action", decodeAction],
  ["erase", decodeErase],
  ["recovery", recovery],
  ["import", imported],
  ["commit", commitOnly],
  ["session", decodeSession],
  ["intent", decodeIntent],
  ["conflict", decodeConflict],
  ["transaction", decodeTransaction],
  ["turn", turn],
  ["workspace", decodeWorkspace],
  ["prune", decodePrune],
  ["pin", decodePin],
  ["git", decodeGitRecord],
  ["coverage", decodeCoverageRecord],
  ["refused", decodeRefused],
  ["replica", replica],
  ["proposal", proposal],
  ["writeback", decodeWriteBack],
  ["version", version],
]);

/** The maximum length, in bytes, of a user's own id, which follows `user:` in the record id. */
const MAX_USER_ID_BYTES = 1024;

/**
 * Checks a record by decoding it. For a user's record, checks only the id. Throws `FORMAT_UNSUPPORTED` for a workspace
 * record of another format. Throws `LOG_DAMAGED` for any other invalid record, and for an id whose kind is not in
 * `READERS`.
 */
export function readRecord(recordId: string, body: RecordBody): void {
  const [kind = "", ...rest] = recordId.split(":");
  if (kind === "user" && rest.length > 0) return checkUserId(rest.join(":"));
  const read = READERS.get(kind);
  // A replica learns the id of the origin's workspace when it first reaches the origin. Until then, the replica's
  // record has the id `replica:`.
  const isNamed = rest.join(":") !== "" || recordId === "replica:";
  if (read === undefined || !isNamed) return damaged(`${JSON.stringify(recordId)} is no id of a record`);
  read(body, recordId);
}

function checkUserId(id: string): void {
  const bytes = Buffer.byteLength(id);
  if (bytes < 1 || bytes > MAX_USER_ID_BYTES)
    damaged(`the user's id has ${bytes} bytes, not 1 to ${MAX_USER_ID_BYTES}`);
}

function commitOnly(body: RecordBody): void {
  if (Object.keys(body).join() !== "commit") damaged("its only field must be commit");
}

/** Checks the record of a recovery, in which a damaged or incomplete end of the log was cut off and kept elsewhere. */
function recovery(body: RecordBody): void {
  for (const key of ["cut_from_seq", "cut_from_byte"]) whole(body, key);
  for (const key of ["reason", "kept_as"]) text(body, key);
  if (body["bytes"] === undefined && body["sha256"] === undefined) return;
  whole(body, "bytes");
  hashOf(body, "sha256");
}

/**
 * Checks the record of an import. The record has the facts of the imported log that do not fit into the fields of this
 * log's events.
 */
function imported(body: RecordBody): void {
  for (const key of ["source", "head_hash"]) text(body, key);
  for (const key of ["events", "head_seq", "rounded"]) whole(body, key);
  hashOf(body, "file_sha256");
  const [seqs, times] = [list(body, "seqs"), texts(body, "times")];
  if (!seqs.every((one) => Number.isSafeInteger(one))) damaged("seqs holds something else than whole numbers");
  const { events } = body;
  if (seqs.length !== events || times.length !== events) damaged("seqs and times are not those of its events");
  if (body["unverified"] !== undefined) unverifiedImport(object(body["unverified"], "unverified"));
}

function unverifiedImport({ checkpoint, tear }: RecordBody): void {
  if (checkpoint !== undefined) {
    const taken = object(checkpoint, "a checkpoint");
    hashOf(taken, "file_sha256");
    for (const key of ["seq", "records"]) whole(taken, key);
  }
  if (tear === undefined) return;
  const torn = object(tear, "a tear");
  for (const key of ["line", "byte", "bytes", "lines"]) whole(torn, key);
  text(torn, "reason");
}

function replica(body: RecordBody, recordId: string): void {
  if (decodeReplica(body).origin !== originOfRecordId(recordId)) damaged("it is about another origin than its id says");
}

function proposal(body: RecordBody, recordId: string): void {
  const path = proposedPath(recordId);
  if (path === undefined) return damaged("it is about no path");
  decodeProposal(path, body);
}

function turn(body: RecordBody, recordId: string): void {
  if (turnRecordId(decodeTurn(body)) !== recordId) damaged("it is about another turn than its id says");
}

function version(body: RecordBody, recordId: string): void {
  if (versionRecordId(decodeVersion(body)) !== recordId) damaged("it is about another entry than its id says");
}
