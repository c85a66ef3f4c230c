import * as z from "zod";
import * as calls from "../calls/action-calls.ts";
import { collectedBytes } from "../pieces.ts";
import { workspaceRoute, type WorkspaceRoute, withoutUndefined } from "../row.ts";
import { bool, flag, number, paging, path, paths, text, word } from "../fields.ts";
import { PAGE, pageOf, pageWithMore } from "../pages.ts";

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
  summary: "Begin an agent's session, or continue it",
  body: z.strictObject({
    id: word("the agent's own id of the session: letters, digits, `.`, `_`, `-` (default: a new one)").optional(),
    actor: word("the actor (default `agent`)").optional(),
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

const startTurn = workspaceRoute(calls.startTurn, {
  tag: "sessions",
  role: "agent",
  summary: "Begin a turn of an agent's session, and keep the person's message",
  description:
    "The changes on disk are recorded first, so that the state before the turn is known. At most 16 KiB of the message are kept, for " +
    "thirty days, with secrets masked. They are shown only to persons.",
  body: z.strictObject({
    session: word("the agent's own id of the session: letters, digits, `.`, `_`, `-`"),
    turn: word("the agent's own id of the turn, of the same characters"),
    actor: word("the actor (default `agent`)").optional(),
    prompt: text("the person's message to the agent", 1_000_000).optional(),
    transcript: path("the file in which the agent keeps the conversation").optional(),
    message: word("the agent's own id of the message").optional(),
  }),
  answer: (on, { body }) => on.startTurn(body),
});

const turns = workspaceRoute(calls.listTurns, {
  tag: "sessions",
  role: "reader",
  heavy: "answer",
  summary: "List the turns of agents, newest first",
  description: "Only a person's token gets the messages. For all others, `prompt_state` is `hidden`.",
  query: z.strictObject({
    session: word("only turns of the session with this id, or with an id that begins with this text").optional(),
    actor: word("only turns of this actor").optional(),
    before: word(
      "only turns that began before this one: the id of a turn, the beginning of the id, or `<session>:<turn>`",
    ).optional(),
    ...paging,
  }),
  answer: async (on, { query: { limit = PAGE, cursor, before, ...options } }) => {
    const from = cursor ?? before;
    const found = await on.turns({ ...options, ...withoutUndefined({ before: from }), limit: limit + 1 });
    return pageWithMore(found, limit, ({ session: of, turn }) => `${of ?? ""}:${turn}`);
  },
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
  summary: "Begin an action: record the paths that a tool is about to touch, before the tool runs",
  description:
    "Once this request is answered, the tool may run, because its action can be rolled back. After the tool, `finishAction` records " +
    "what the tool has changed. The answer is `null` if the action needs no snapshot, or is off the record. If the session has an open " +
    "action with the same `tool_call`, the answer is that action, and no new action begins.",
  body: z.strictObject({
    type: word(
      "`write_file`, `delete_file`, `move_file`, `copy_file`, `create_directory`, `delete_directory` or `move_directory`: only the " +
        "paths of the payload are recorded; `read_file`, `list_directory` or `search_files`: no snapshot is made; `run_command` or " +
        "any other word: the whole workspace is recorded",
    ),
    payload: z
      .strictObject({
        path: path("the path of the file or folder").optional(),
        source: path("the path to move or copy").optional(),
        destination: path("the new path").optional(),
        command: text("the command line", 100_000).optional(),
        cwd: path("the folder in which the command runs").optional(),
        paths: paths("all paths that the tool will touch").optional(),
      })
      .optional(),
    actor: word("the actor (default `agent`)").optional(),
    session: word("the id of the agent's session").optional(),
    turn: word("the id of the turn of the session").optional(),
    tool_call: word("the agent's own id of the tool call").optional(),
    depth: number("the depth of the agent in nested agents: 0 for the top agent", 1_000).optional(),
    transaction: word("the id of the transaction to which the action belongs").optional(),
    summary: text("a summary of the action, for people", 2_000).optional(),
    on_failure: z
      .enum(["block", "warn"])
      .describe(
        "what to do if the state before the action cannot be kept. `block` (default): the request fails; `warn`: the action begins " +
          "nevertheless, and its coverage lists what is not kept",
      )
      .optional(),
    otr: bool("true: the action is off the record, and nothing about it is stored").optional(),
  }),
  answer: (on, { body: { tool_call, on_failure, ...request } }) =>
    on.snapshotAction({ ...request, ...withoutUndefined({ toolCall: tool_call, onFailure: on_failure }), pid: null }),
});

const finish = workspaceRoute(calls.finishAction, {
  tag: "actions",
  role: "agent",
  summary: "End an action, and record what it has changed",
  body: z.strictObject({
    outcome: z.enum(["done", "failed", "denied"]).optional(),
    reason: text("the reason for the outcome, for people", 10_000).optional(),
    on_failure: z
      .enum(["block", "warn"])
      .describe(
        "what to do if the changes of the action cannot be recorded. `block` (default): the request fails, and the action stays open; " +
          "`warn`: the action is closed, and its coverage lists what was not recorded",
      )
      .optional(),
  }),
  answer: (on, { params, body: { on_failure, ...end } }) =>
    on.finishAction(params["action"] ?? "", { ...end, ...withoutUndefined({ onFailure: on_failure }) }),
});

const diff = workspaceRoute(calls.diffAction, {
  tag: "actions",
  role: "reader",
  summary: "Compare the files that an action backed up with their present states",
  answer: (on, { params }) => on.diffAction(params["action"] ?? ""),
});

const abandon = workspaceRoute(calls.abandonActions, {
  tag: "actions",
  role: "agent",
  summary: "Abandon the open actions of a session, or of one of its turns",
  body: z.strictObject({
    session: word("the id of the session"),
    turn: word("abandon only the actions of this turn").optional(),
    reason: text("the reason, for people", 2_000).optional(),
    except: z.array(word("the id of an action that stays open")).max(1_000).optional(),
    unsure: bool(
      "true: the actions may never have run. A change that would otherwise belong to such an action then names it only as a candidate",
    ).optional(),
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
    "The actions and writes that follow belong to the transaction. It stays open until it is committed or rolled back: the server does " +
    "not watch any process of the caller.",
  body: z.strictObject({
    name: word("a name for the transaction").optional(),
    actor: word("the actor").optional(),
    session: word("only the actions and writes of this session belong to the transaction").optional(),
    scope: z
      .enum(["folder", "actions"])
      .describe(
        "`actions` (default): only the changes of actions and writes belong to the transaction, and the restores, undos and redos of the client that " +
          "began it. `folder`: without `session`, changes of the folder that belong to no action also belong to the transaction",
      )
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
  summary: "Take back exactly what a transaction did; later work stays, and is merged",
  body: z.strictObject({ force: bool("skip paths that cannot be changed").optional() }),
  answer: (on, { params, body }) => on.rollbackTransaction(params["transaction"] ?? "", body),
});

const conflicts = workspaceRoute(calls.listConflicts, {
  tag: "conflicts",
  role: "reader",
  heavy: "answer",
  heavyWith: ["patch"],
  summary: "List conflicts: changes that did not merge with later work",
  query: z.strictObject({
    all: flag("list settled conflicts, too").optional(),
    patch: flag(
      "add to each conflict the patch from the present content to the content that the undo wanted",
    ).optional(),
    after: word("only the conflicts after the one with this id").optional(),
    ...paging,
  }),
  answer: async (on, { query: { limit = PAGE, cursor, after, ...options } }) => {
    const from = withoutUndefined({ ...options, after: cursor ?? after });
    return pageWithMore(await on.conflicts({ ...from, limit: limit + 1 }), limit, ({ id }) => id);
  },
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
  description: "With `keep=merged`, the body is the whole new content of the file.",
  query: z.strictObject({
    conflict: path("the id of the conflict, the path that the conflict is about, or the beginning of the id"),
    keep: z.enum(["current", "undo", "merged"]),
    seen: z
      .string()
      .regex(/^([0-9a-f]{64})?$/)
      .optional()
      .describe(
        "the SHA-256, in hex, of the present content of the path as it was shown; empty: the path did not exist, or was a folder. " +
          "If the path has another content now, the request is refused",
      ),
  }),
  bytes: { most: MAX_MERGED },
  answer: async (on, { query: { conflict, keep, seen }, content }) =>
    on.resolve(conflict, {
      keep,
      ...(keep === "merged" ? { content: await collectedBytes(content, MAX_MERGED) } : {}),
      ...(seen === undefined ? {} : { seen: seen === "" ? null : seen }),
    }),
});

const versions = workspaceRoute(calls.listVersions, {
  tag: "conflicts",
  role: "reader",
  summary: "List versions: states that replicas wrote back, and that did not become the states of their paths",
  query: z.strictObject({ path: path("list only the versions of this path").optional(), ...paging }),
  answer: async (on, { query: { path: of, ...part } }) =>
    pageOf(await on.versions(withoutUndefined({ path: of })), part, ({ id }) => id),
});

const restoreVersion = workspaceRoute(calls.restoreVersion, {
  tag: "conflicts",
  role: "agent",
  summary: "Make a version the state of its path",
  answer: (on, { params }) => on.restoreVersion(params["version"] ?? ""),
});

export const ACTION_ROWS: readonly WorkspaceRoute[] = [
  sessions,
  session,
  startSession,
  endSession,
  startTurn,
  turns,
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
