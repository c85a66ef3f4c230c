import type { CommandSpec } from "./spec.ts";
import { ACTIONS, ROLLBACK } from "./table/actions.ts";
import { AGENTS_COMMAND, HOOK } from "./table/agents.ts";
import { REDO, RESTORE, UNDO } from "./table/back.ts";
import {
  COMPACT,
  COMPLETE,
  COMPLETION,
  CONFIG,
  DOCTOR,
  DU,
  FORGET,
  GC,
  REBUILD,
  UNFORGET,
  WORKSPACES,
} from "./table/keep.ts";
import { CAT, DIFF, EXPLAIN, HISTORY, LIST, LOG, MANIFEST, SESSIONS, SHOW, STATUS } from "./table/look.ts";
import { FILES, MV, PUT, RM } from "./table/files.ts";
import { MCP } from "./table/mcp.ts";
import { HEAD, VERIFY } from "./table/prove.ts";
import { INIT, RUN, SNAPSHOT, WATCH } from "./table/record.ts";
import { IMPORT, RECORD } from "./table/records.ts";
import { ERASE, PIN, PRUNE, UNERASE, UNPIN } from "./table/retention.ts";
import { SERVE, TOKEN } from "./table/serve.ts";
import { REPLICATE, SYNC } from "./table/sync.ts";
import { TRANSACTION } from "./table/transaction.ts";
import { CHANGES, CONFLICTS, RESOLVE, VERSIONS } from "./table/work.ts";

/** Every command, in the order of the help. */
export const COMMANDS: readonly CommandSpec[] = [
  RUN,
  WATCH,
  SNAPSHOT,
  INIT,
  TRANSACTION,
  LIST,
  STATUS,
  DIFF,
  CHANGES,
  ACTIONS,
  HISTORY,
  CAT,
  SHOW,
  SESSIONS,
  LOG,
  MANIFEST,
  EXPLAIN,
  FILES,
  PUT,
  RM,
  MV,
  UNDO,
  REDO,
  ROLLBACK,
  CONFLICTS,
  RESOLVE,
  VERSIONS,
  RESTORE,
  VERIFY,
  HEAD,
  CONFIG,
  DU,
  GC,
  PRUNE,
  ERASE,
  UNERASE,
  PIN,
  UNPIN,
  COMPACT,
  REBUILD,
  DOCTOR,
  WORKSPACES,
  FORGET,
  UNFORGET,
  RECORD,
  IMPORT,
  AGENTS_COMMAND,
  MCP,
  SERVE,
  TOKEN,
  REPLICATE,
  SYNC,
  HOOK,
  COMPLETION,
  COMPLETE,
];
