/** The base of a log. `base-format.ts` describes its bytes. */
export type { BaseEntry, BaseHeader, BaseRecord } from "./base-format.ts";
export { type BaseBatch, decodeBase } from "./base-reader.ts";
export { decodeRecordRows, encodeRecordRows, recordsOffset } from "./base-records.ts";
export { BaseTreeCheck } from "./base-tree-check.ts";
export { type BaseContent, encodeBase } from "./base-writer.ts";
