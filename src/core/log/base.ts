/**
 * The base: one blob with all entries of a workspace and its other live records, on which a log starts or continues.
 * `base-format.ts` describes the bytes.
 */
export type { BaseEntry, BaseHeader, BaseRecord } from "./base-format.ts";
export { type BaseBatch, decodeBase } from "./base-reader.ts";
export { decodeRecordRows, encodeRecordRows, recordsOffset } from "./base-records.ts";
export { BaseTreeCheck } from "./base-tree-check.ts";
export { type BaseContent, encodeBase } from "./base-writer.ts";
