import * as z from "zod";
import * as calls from "../calls/action-calls.ts";
import { collectedBytes } from "../pieces.ts";
import { workspaceRoute, type WorkspaceRoute, withoutUndefined } from "../row.ts";
import { bool, flag, number, paging, path, paths, text, word } from "../fields.ts";
import { pageOf } from "../pages.ts";

const sessions = workspaceRoute(calls.listSessions, {
  tag: "sessions",
  role: "reader",
  namesFolders: true,
  summary: "List sessions and runs, oldest first",
  query: z.strictObject(paging),
  answer: async (on, { query }) => pageOf(await on.sessions(), query, ({ session_id }) => session_id),
});

const session = workspaceRoute(calls.getSession, {
  tag: "sessions",
  role: "reader",
  namesFolders: true,
  summary: "One session",
  answer: (on, { params }) => on.session(params["session"] ?? ""),
});

const startSession = workspaceRoute(calls.startSession, {
  tag: "sessions",
  role: "agent",
  namesFolders: true,
  summary: "Begin an agent's session, or go on with it",
  body: z.strictObject({
    id: word("the agent's own id of it: letters, digits, `.`, `_`, `-` (default: a new one)").optional(),
    actor: word("who acts (default `agent`)").optional(),
    notes: z.array(text("a note", 2_000)).max(100).optional(),
  }),
  answer: (on, { body }) => on.startSession({ ...body, pid: null }),
});

const endSession = workspaceRoute(calls.endSession, {
  tag: "sessions",
  role: "agent",
  namesFolders: true,
  summary: "End a session; its open actions are abandoned",
  answer: (on, { params }) => on.endSession(params["session"] ?? ""),
});

const actions = workspaceRoute(calls.listActions, {
  tag: "actions",
  role: "reader",
  summary: "List actions that have a snapshot, oldest first",
  query: z.strictObject(paging),
  answer: async (on, { query }) => pageOf(await on.list(), query, ({ id }) => id),
});

const action = workspaceRoute(calls.getAction, {
  tag: "actions",
  role: "reader",
  summary: "One action",
  answer: (on, { params }) => on.showAction(params["action"] ?? ""),
});

const begin = workspaceRoute(calls.beginAction, {
  tag: "actions",
  role: "agent",
  summary: "Record what a tool is about to touch, before it does",
  description:
    "When it is answered, a rollback is possible; then the tool may run, and `finish` records what it left. `null` for what " +
    "needs no snapshot, and for what is off the record. A call (`tool_call`) of a session that is open already is answered as it is.",
  body: z.strictObject({
    type: word("`write_file delete_file move_file copy_file run_command` …; for any other word everything is recorded"),
    payload: z
      .strictObject({
        path: path("the file").optional(),
        source: path("the path to move or copy").optional(),
        destination: path("the new path").optional(),
        command: text("a command line", 100_000).optional(),
        cwd: path("the folder in which it runs").optional(),
        paths: paths("everything that the tool will touch").optional(),
      })
      .optional(),
    actor: word("who acts (default `agent`)").optional(),
    session: word("the agent's session").optional(),
    turn: word("its turn").optional(),
    tool_call: word("the id that the agent gave the call").optional(),
    depth: number("how deep in nested agents; 0 at the top", 1_000).optional(),
    transaction: word("the transaction that it belongs to").optional(),
    summary: text("for people", 2_000).optional(),
    on_failure: z
      .enum(["block", "warn"])
      .describe("what to do if no snapshot can be made (default `block`)")
      .optional(),
    otr: bool("off the record: nothing is stored").optional(),
  }),
  answer: (on, { body: { tool_call, on_failure, ...request } }) =>
    on.snapshotAction({ ...request, ...withoutUndefined({ toolCall: tool_call, onFailure: on_failure }), pid: null }),
});

const finish = workspaceRoute(calls.finishAction, {
  tag: "actions",
  role: "agent",
  summary: "Record what an action left",
  body: z.strictObject({
    outcome: z.enum(["done", "failed", "denied"]).optional(),
    reason: text("for people", 10_000).optional(),
    on_failure: z
      .enum(["block", "warn"])
      .describe(
        "what to do if its changes cannot be recorded: `warn` closes it all the same with a note (default `block`)",
      )
      .optional(),
  }),
  answer: (on, { params, body: { on_failure, ...end } }) =>
    on.finishAction(params["action"] ?? "", { ...end, ...withoutUndefined({ onFailure: on_failure }) }),
});

const diff = workspaceRoute(calls.diffAction, {
  tag: "actions",
  role: "reader",
  summary: "The files that an action backed up, beside what is there now",
  answer: (on, { params }) => on.diffAction(params["action"] ?? ""),
});

const abandon = workspaceRoute(calls.abandonActions, {
  tag: "actions",
  role: "agent",
  summary: "Abandon the open actions of a session, or of one of its turns",
  body: z.strictObject({
    session: word("the session"),
    turn: word("only this turn's").optional(),
    reason: text("for people", 2_000).optional(),
    except: z.array(word("the id of an action that stays open")).max(1_000).optional(),
    unsure: bool("the actions may never have run: changes since then name them only as candidates").optional(),
  }),
  answer: async (on, { body }) => ({ actions: await on.abandonActions(body) }),
});

const transactions = workspaceRoute(calls.listTransactions, {
  tag: "transactions",
  role: "reader",
  summary: "List transactions, oldest first",
  query: z.strictObject(paging),
  answer: async (on, { query }) => pageOf(await on.transactions(), query, ({ id }) => id),
});

const beginTransaction = workspaceRoute(calls.beginTransaction, {
  tag: "transactions",
  role: "agent",
  summary: "Begin a transaction, or a savepoint within one",
  description:
    "Actions and writes belong to it. It stays until it is committed or rolled back: no process of the caller's is watched.",
  body: z.strictObject({
    name: word("a name").optional(),
    actor: word("who acts").optional(),
    session: word("only this session's actions belong to it").optional(),
    scope: z
      .enum(["folder", "actions"])
      .describe("`folder`: also changes to the folder meanwhile that no action owns (default: `actions`)")
      .optional(),
  }),
  answer: (on, { body }) => on.beginTransaction({ scope: "actions", ...withoutUndefined(body), pid: null }),
});

const commit = workspaceRoute(calls.commitTransaction, {
  tag: "transactions",
  role: "agent",
  summary: "Commit a transaction and its savepoints",
  answer: (on, { params }) => on.commitTransaction(params["transaction"] ?? ""),
});

const rollback = workspaceRoute(calls.rollbackTransaction, {
  tag: "transactions",
  role: "agent",
  summary: "Take back exactly what a transaction did, merged with later work",
  body: z.strictObject({ force: bool("skip paths that cannot be changed").optional() }),
  answer: (on, { params, body }) => on.rollbackTransaction(params["transaction"] ?? "", body),
});

const conflicts = workspaceRoute(calls.listConflicts, {
  tag: "conflicts",
  role: "reader",
  heavy: "answer",
  heavyWith: "patch",
  summary: "List what did not merge",
  query: z.strictObject({
    all: flag("also settled conflicts").optional(),
    patch: flag("add the changes that the undo's side would make").optional(),
    ...paging,
  }),
  answer: async (on, { query: { all, patch, ...part } }) =>
    pageOf(await on.conflicts(withoutUndefined({ all, patch })), part, ({ id }) => id),
});

/**
 * The maximum size of a merged content, in bytes. The content is held in memory. A person or a model makes the content,
 * so it is small in practice.
 */
const MAX_MERGED = 64 * 1024 * 1024;

const resolve = workspaceRoute(calls.resolveConflict, {
  tag: "conflicts",
  role: "agent",
  summary: "Settle a conflict",
  description: "For `merged` the body is the whole new content.",
  query: z.strictObject({
    conflict: path("its id, the beginning of it, or its path"),
    keep: z.enum(["current", "undo", "merged"]),
  }),
  bytes: { most: MAX_MERGED },
  answer: async (on, { query: { conflict, keep }, content }) =>
    on.resolve(conflict, keep === "merged" ? { keep, content: await collectedBytes(content, MAX_MERGED) } : { keep }),
});

const versions = workspaceRoute(calls.listVersions, {
  tag: "conflicts",
  role: "reader",
  summary: "List what replicas wrote back and lost against others' work",
  query: z.strictObject({ path: path("of this path alone").optional(), ...paging }),
  answer: async (on, { query: { path: of, ...part } }) =>
    pageOf(await on.versions(withoutUndefined({ path: of })), part, ({ id }) => id),
});

const restoreVersion = workspaceRoute(calls.restoreVersion, {
  tag: "conflicts",
  role: "agent",
  summary: "Make such a version the state of its path",
  answer: (on, { params }) => on.restoreVersion(params["version"] ?? ""),
});

export const ACTION_ROWS: readonly WorkspaceRoute[] = [
  sessions,
  session,
  startSession,
  endSession,
  actions,
  action,
  begin,
  finish,
  diff,
  abandon,
  transactions,
  beginTransaction,
  commit,
  rollback,
  conflicts,
  resolve,
  versions,
  restoreVersion,
];
