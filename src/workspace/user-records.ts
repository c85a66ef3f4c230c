import type { RecordStoreApi } from "../api/record-api.ts";
import type { Context } from "./context.ts";
import { notYet } from "./not-yet.ts";

/** The records of users (`user:<id>`) in a workspace's log. */
export function userRecords(_context: Context): RecordStoreApi {
  return notYet("records");
}
