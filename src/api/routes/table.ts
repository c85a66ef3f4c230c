import type { Route } from "./row.ts";
import { ACTION_ROWS } from "./rows/action-rows.ts";
import { FILE_ROWS } from "./rows/file-rows.ts";
import { HISTORY_ROWS } from "./rows/history-rows.ts";
import { RECORD_ROWS } from "./rows/record-rows.ts";
import { STORE_ROWS } from "./rows/store-rows.ts";
import { SYNC_ROWS } from "./rows/sync-rows.ts";
import { UPKEEP_ROWS } from "./rows/upkeep-rows.ts";

/**
 * All routes. No two routes match the same request, except for the GET routes under `files/{path}` (see
 * `meant-by-path.ts`).
 */
export const ROUTES: readonly Route[] = [
  ...STORE_ROWS,
  ...FILE_ROWS,
  ...HISTORY_ROWS,
  ...ACTION_ROWS,
  ...RECORD_ROWS,
  ...UPKEEP_ROWS,
  ...SYNC_ROWS,
];
