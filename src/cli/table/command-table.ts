import type { CommandSpec } from "./spec.ts";
import { ACTIONS, ROLLBACK } from "./actions.ts";
import { AGENTS_COMMAND, HOOK } from "./agents.ts";
import { REDO, RESTORE, UNDO } from "./back.ts";
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
} from "./keep.ts";
import { CAT, DIFF, EXPLAIN, HISTORY, LIST, LOG, MANIFEST, SESSIONS, SHOW, STATUS } from "./look.ts";
import { FILES, MV, PUT, RM } from "./files.ts";
import { MCP } from "./mcp.ts";
import { HEAD, VERIFY } from "./prove.ts";
import { INIT, RUN, SNAPSHOT, WATCH } from "./record.ts";
import { IMPORT, RECORD } from "./records.ts";
import { ERASE, PIN, PRUNE, UNERASE, UNPIN } from "./retention.ts";
import { SERVE, TOKEN } from "./serve.ts";
import { REPLICATE, SYNC } from "./sync.ts";
import { TRANSACTION } from "./transaction.ts";
import { CHANGES, CONFLICTS, RESOLVE, VERSIONS } from "./work.ts";

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
