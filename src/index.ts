/** The library. Only the exports of this file are public. */
export { exportArchive, importArchive, open, openRecordStore, openStore, openSyncs, unforget } from "./library.ts";
export {
  type ConflictResolution,
  syncBridge,
  type SyncBridge,
  type SyncBridgeOptions,
  type SyncStatus,
} from "./api/sync-bridge.ts";
export {
  DirectionalFilter,
  type FilterPolicy,
  type FilterSubject,
  type ReplicaDirection,
} from "./core/filter/directional-filter.ts";
export { FilterPattern } from "./core/filter/filter-pattern.ts";
export { SANDBOX_POLICY } from "./core/filter/directional-filter.ts";
export { ChronicleError, type ErrorCode, type ErrorDetails } from "./core/values/errors.ts";
export { parseExpected, verifySignedHead, type ExpectedHead } from "./core/log/signed-head.ts";
export type * from "./api/action-api.ts";
export type * from "./api/action-shapes.ts";
export type * from "./api/archive-api.ts";
export type * from "./api/conflict-shape.ts";
export type * from "./api/file-api.ts";
export type * from "./api/record-api.ts";
export type * from "./api/shapes.ts";
export type * from "./api/store-api.ts";
export type * from "./api/sync-api.ts";
export type * from "./api/recent-api.ts";
export type * from "./api/tick-api.ts";
export type * from "./api/workspace-api.ts";
