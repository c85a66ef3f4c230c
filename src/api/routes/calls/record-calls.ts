import type { RecordBody } from "../../../core/values/canonical-json.ts";
import type { ImportOptions, RecordPut } from "../../record-api.ts";
import { defineCall, WORKSPACE } from "../row.ts";

// A record's id is in the query and not in the path of a call, because the id may be any text.

export const listRecords = defineCall({
  operation: "listRecords",
  method: "GET",
  path: `${WORKSPACE}/records`,
  reply: { pageOf: "LiveRecordShape" },
  ask: () => ({}),
});

export const getRecord = defineCall({
  operation: "getRecord",
  method: "GET",
  path: `${WORKSPACE}/record`,
  reply: { json: "LiveRecordShape", orNull: true },
  ask: (id: string) => ({ query: { id } }),
});

export const putRecord = defineCall({
  operation: "putRecord",
  method: "PUT",
  path: `${WORKSPACE}/record`,
  reply: { json: "UserRecordEventShape" },
  ask: (id: string, record: RecordBody, { recursionDepth }: RecordPut = {}) => ({
    query: { id, recursion_depth: recursionDepth },
    body: record,
  }),
});

export const deleteRecord = defineCall({
  operation: "deleteRecord",
  method: "DELETE",
  path: `${WORKSPACE}/record`,
  reply: { json: "UserRecordEventShape", orNull: true },
  ask: (id: string, { recursionDepth }: RecordPut = {}) => ({ query: { id, recursion_depth: recursionDepth } }),
});

export const recordEvents = defineCall({
  operation: "recordEvents",
  method: "GET",
  path: `${WORKSPACE}/records/events`,
  reply: { pageOf: "UserRecordEventShape" },
  ask: (from?: number) => ({ query: { from } }),
});

export const verifyRecords = defineCall({
  operation: "verifyRecords",
  method: "GET",
  path: `${WORKSPACE}/records/verify`,
  reply: { json: "RecordVerifyShape" },
  ask: () => ({}),
});

/** The new value of a record, and the earlier value from which it was made. */
export interface RecordRewrite {
  readonly id: string;
  readonly before: RecordBody;
  readonly record: RecordBody;
}

export const migrateRecords = defineCall({
  operation: "migrateRecords",
  method: "POST",
  path: `${WORKSPACE}/records/migrate`,
  reply: { json: "MigratedShape" },
  ask: (records: readonly RecordRewrite[]) => ({ body: { records } }),
});

export const importRecords = defineCall({
  operation: "importRecords",
  method: "POST",
  path: `${WORKSPACE}/records/import`,
  reply: { json: "RecordImportShape" },
  ask: (log: Uint8Array, { roundNumbers, upToTear, checkpoint }: ImportOptions = {}) => ({
    query: { round_numbers: roundNumbers, up_to_tear: upToTear, checkpoint_bytes: checkpoint?.length },
    content: checkpoint === undefined ? log : joined(checkpoint, log),
  }),
});

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
