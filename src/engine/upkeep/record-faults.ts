import type { BaseRecord, BaseBatch } from "../../core/log/base.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { LogEvent } from "../../core/values/event.ts";
import { readOutside } from "../../core/records/outside-record.ts";
import { readRecord } from "../../core/records/read-record.ts";
import { decodeSentinel, sentinelId } from "../../core/records/sentinel.ts";
import { isVerifierKey } from "../../core/log/signed-head.ts";
import { decodeSigner } from "../../core/records/signer-record.ts";
import { iterationsOf } from "../log/project.ts";
import type { VerifyProblemShape as Problem } from "../../api/shapes.ts";
import type { HistoryAnchor } from "../../core/log/history-anchor.ts";
import { leafHash } from "../../core/log/log-tree.ts";
import { displayPath } from "../../core/values/path.ts";

/**
 * Matches ids of the records that a history has at most once. Such an id ends with the id of the history's workspace.
 */
const OF_WORKSPACE = /^(workspace|signer|coverage|prune|commit|compact):/;

/** Matches ids of the records that may be deleted: records of users, and versions. A resolved version is deleted. */
const DELETABLE = /^(?:user|version):/;

/**
 * Throws a `ChronicleError`, such as `INTEGRITY_VIOLATION` or `LOG_DAMAGED`, if the format does not allow this event's
 * record. Looks at no other event.
 */
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
  if ((op === "compact") !== (recordId === sentinelId(workspaceId)))
    refuse(`the op ${op} is not allowed for ${recordId}`);
  if (op === "delete") {
    if (!DELETABLE.test(recordId)) refuse(`${recordId} cannot be deleted`);
  } else if (op === "compact") decodeSentinel(event);
  else if (recordId.startsWith("file")) {
    if (iterationsOf(event).length === 0) refuse(`${recordId} names no path`);
  } else if (recordId.startsWith("outside")) readOutside(recordId, record);
  else if (recordId.startsWith("signer:")) checkSigner(event);
  else readRecord(recordId, record);
}

/**
 * Throws a `ChronicleError` if the format does not allow this record of a base. Does not look at the event that wrote
 * the record.
 */
export function checkHeldRecord({ recordId, record }: Pick<BaseRecord, "recordId" | "record">): void {
  if (recordId.startsWith("outside")) readOutside(recordId, record);
  else if (recordId.startsWith("signer:")) decodeSigner(record);
  else readRecord(recordId, record);
}

function checkSigner({ recordId, record, seq, prevHash }: LogEvent): void {
  const { since, key, why, accepted } = decodeSigner(record);
  if (since !== seq) refuse(`the field since of ${recordId} is ${since}, which is not the seq of its event`);
  if (!isVerifierKey(key)) refuse(`${recordId} names ${JSON.stringify(key.slice(0, 80))}, which is no verifier key`);
  if ((why === "begun") !== (seq === 2)) refuse(`${recordId} has the reason ${why}, which event ${seq} cannot have`);
  if (accepted !== undefined && (accepted.log.seq !== seq - 1 || accepted.log.hash !== prevHash))
    refuse(`${recordId} accepts the history up to event ${accepted.log.seq}, which is not the event before the record`);
}

function refuse(detail: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", detail);
}

/** Returns the message of the `ChronicleError` that a check throws; `undefined` if the check throws no error. */
export function faultOf(check: () => void): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof ChronicleError) return error.message;
    throw error;
  }
}

/**
 * Returns the faults of a base that replaces the events before event `seq`: rows of event `seq` or of later events, and
 * unsound records.
 */
export function heldFaults({ entries = [], records = [] }: BaseBatch, at: string, seq: number): Problem[] {
  const kind = "base-wrong";
  const late = entries.find((one) => one.seq >= seq);
  const problems: Problem[] = [];
  if (late !== undefined)
    problems.push({
      kind,
      where: `${at}: ${displayPath(late.path)}`,
      detail: `is in the base as of event ${late.seq}, but the base may only have events before ${seq}`,
    });
  for (const one of records) {
    const where = `${at}: ${one.recordId}`;
    if (one.seq >= seq)
      problems.push({
        kind,
        where,
        detail: `is in the base as of event ${one.seq}, but the base may only have events before ${seq}`,
      });
    const detail = faultOf(() => checkHeldRecord(one));
    if (detail !== undefined) problems.push({ kind, where, detail });
  }
  return problems;
}

/**
 * Returns the contradictions between an anchor and its base. `own` is the record of the anchor's workspace in the base.
 * That record must have the anchor's time. If the anchor's seq is odd, the anchor's frontier must end with the leaf
 * hash of the anchor's event.
 */
export function anchorFaults({ workspace, ts, seq, hash, frontier }: HistoryAnchor, own?: BaseRecord): Problem[] {
  const [kind, where] = ["anchor-wrong", "anchor.json"];
  const problems: Problem[] = [];
  if (own === undefined) problems.push({ kind, where, detail: `its base holds no record of workspace ${workspace}` });
  else if (own.ts !== ts) problems.push({ kind, where, detail: `its ts is ${ts}, but its base has ${own.ts}` });
  if (seq % 2 === 1 && frontier.at(-1) !== leafHash(hash))
    problems.push({ kind, where, detail: `its frontier does not end with event ${seq}` });
  return problems;
}
