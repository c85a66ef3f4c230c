import type { BaseRecord } from "../../core/log/base.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { LogEvent } from "../../core/values/event.ts";
import { readOutside } from "../../core/records/outside-record.ts";
import { readRecord } from "../../core/records/read-record.ts";
import { decodeSentinel, sentinelId } from "../../core/records/sentinel.ts";
import { isVerifierKey } from "../../core/log/signed-head.ts";
import { decodeSigner } from "../../core/records/signer-record.ts";
import { iterationsOf } from "../log/project.ts";

/** Records of which a history has only one: their ids name its workspace. */
const OF_WORKSPACE = /^(workspace|signer|coverage|prune|commit|compact):/;

/** Records that may be deleted: those of users, and versions that their replica has resolved. */
const DELETABLE = /^(?:user|version):/;

/** Throws if the record, by itself, is not one that the format allows in this place. */
export function checkRecord(event: LogEvent, workspaceId: string): void {
  const { recordId, record, op, seq } = event;
  if (seq === 1 && recordId !== `workspace:${workspaceId}`) {
    throw new ChronicleError(
      "INTEGRITY_VIOLATION",
      `the log begins with ${recordId}: it is not the log of workspace ${workspaceId}`,
    );
  }
  const kind = OF_WORKSPACE.exec(recordId)?.[1];
  if (kind !== undefined && recordId !== `${kind}:${workspaceId}`) refuse(`${recordId} is about another workspace`);
  if ((op === "compact") !== (recordId === sentinelId(workspaceId))) refuse(`${op} of ${recordId}`);
  if (op === "delete") {
    if (!DELETABLE.test(recordId)) refuse(`${recordId} cannot be deleted`);
  } else if (op === "compact") decodeSentinel(event);
  else if (recordId.startsWith("file")) {
    if (iterationsOf(event).length === 0) refuse(`${recordId} names no path`);
  } else if (recordId.startsWith("outside")) readOutside(recordId, record);
  else if (recordId.startsWith("signer:")) checkSigner(event);
  else readRecord(recordId, record);
}

/** Checks a record that a base holds, which belongs to some event before it. */
export function checkHeldRecord({ recordId, record }: Pick<BaseRecord, "recordId" | "record">): void {
  if (recordId.startsWith("outside")) readOutside(recordId, record);
  else if (recordId.startsWith("signer:")) decodeSigner(record);
  else readRecord(recordId, record);
}

function checkSigner({ recordId, record, seq, prevHash }: LogEvent): void {
  const { since, key, why, accepted } = decodeSigner(record);
  if (since !== seq) refuse(`${recordId} names the signer since event ${since}`);
  if (!isVerifierKey(key)) refuse(`${recordId} names ${JSON.stringify(key.slice(0, 80))}, which is no verifier key`);
  if ((why === "begun") !== (seq === 2)) refuse(`${recordId} is ${why} at event ${seq}`);
  if (accepted !== undefined && (accepted.log.seq !== seq - 1 || accepted.log.hash !== prevHash))
    refuse(`${recordId} accepts event ${accepted.log.seq}, which is not the one before it`);
}

function refuse(detail: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", detail);
}
