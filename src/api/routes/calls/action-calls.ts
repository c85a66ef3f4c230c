import type {
  ActionEnd,
  ActionRequest,
  ActionsOf,
  ConflictsOptions,
  ResolveOptions,
  SessionStart,
  TransactionOptions,
  TurnsOptions,
  TurnStart,
  VersionsOptions,
} from "../../action-api.ts";
import { defineCall, elsewhere, WORKSPACE } from "../row.ts";
import { optional } from "../../../util/optional.ts";

// A server does not watch the processes of its clients. Therefore, the end of a process never ends a session, action or
// transaction that a client has begun.

/** Throws `USAGE` if the caller gives a process id, because the process may not be on the server's machine. */
function refuseProcess(pid: number | null | undefined): void {
  if (typeof pid === "number") throw elsewhere("binding work to a process (`pid`)");
}

export const listSessions = defineCall({
  operation: "listSessions",
  method: "GET",
  path: `${WORKSPACE}/sessions`,
  reply: { pageOf: "SessionShape" },
  ask: () => ({}),
});

export const getSession = defineCall({
  operation: "getSession",
  method: "GET",
  path: `${WORKSPACE}/sessions/{session}`,
  reply: { json: "SessionShape" },
  ask: (session: string) => ({ params: { session } }),
});

export const startSession = defineCall({
  operation: "startSession",
  method: "POST",
  path: `${WORKSPACE}/sessions`,
  reply: { json: "SessionShape", status: 201 },
  ask: ({ id, actor, notes, pid }: SessionStart = {}) => {
    refuseProcess(pid);
    return { body: { id, actor, notes } };
  },
});

export const endSession = defineCall({
  operation: "endSession",
  method: "POST",
  path: `${WORKSPACE}/sessions/{session}/end`,
  reply: { json: "SessionShape" },
  ask: (session: string) => ({ params: { session } }),
});

export const startTurn = defineCall({
  operation: "startTurn",
  method: "POST",
  path: `${WORKSPACE}/turns`,
  reply: { json: "TurnStartShape", status: 201 },
  ask: ({ session, turn, actor, prompt, transcript, message }: TurnStart) => ({
    body: { session, turn, actor, prompt, transcript, message },
  }),
});

export const listTurns = defineCall({
  operation: "listTurns",
  method: "GET",
  path: `${WORKSPACE}/turns`,
  reply: { pageOf: "TurnShape" },
  ask: ({ session, actor, before, limit = 20 }: TurnsOptions = {}) => ({
    query: { session, actor, before },
    most: limit,
  }),
});

export const listActions = defineCall({
  operation: "listActions",
  method: "GET",
  path: `${WORKSPACE}/actions`,
  reply: { pageOf: "ActionShape" },
  ask: () => ({}),
});

export const getAction = defineCall({
  operation: "getAction",
  method: "GET",
  path: `${WORKSPACE}/actions/{action}`,
  reply: { json: "ActionShape" },
  ask: (action: string) => ({ params: { action } }),
});

/** Returns the payload without `content`, because the server does not need it. */
function payloadOf(payload: ActionRequest["payload"]) {
  if (payload === undefined) return undefined;
  const { path, source, destination, command, cwd, paths } = payload;
  return { path, source, destination, command, cwd, paths };
}

export const beginAction = defineCall({
  operation: "beginAction",
  method: "POST",
  path: `${WORKSPACE}/actions`,
  reply: { json: "ActionShape", status: 201, orNull: true },
  ask: (request: ActionRequest) => {
    refuseProcess(request.pid);
    return {
      body: {
        type: request.type,
        payload: payloadOf(request.payload),
        actor: request.actor,
        session: request.session,
        turn: request.turn,
        tool_call: request.toolCall,
        depth: request.depth,
        transaction: request.transaction,
        summary: request.summary,
        on_failure: request.onFailure,
        otr: request.otr,
      },
    };
  },
});

export const finishAction = defineCall({
  operation: "finishAction",
  method: "POST",
  path: `${WORKSPACE}/actions/{action}/finish`,
  reply: { json: "ActionEndShape" },
  ask: (action: string, { outcome, reason, onFailure }: ActionEnd = {}) => ({
    params: { action },
    body: { outcome, reason, on_failure: onFailure },
  }),
});

export const diffAction = defineCall({
  operation: "diffAction",
  method: "GET",
  path: `${WORKSPACE}/actions/{action}/diff`,
  reply: { json: "ActionDiffShape" },
  ask: (action: string) => ({ params: { action } }),
});

export const abandonActions = defineCall({
  operation: "abandonActions",
  method: "POST",
  path: `${WORKSPACE}/abandon`,
  reply: { json: "AbandonedShape" },
  ask: ({ session, turn, reason, except, unsure }: ActionsOf) => ({ body: { session, turn, reason, except, unsure } }),
});

export const listTransactions = defineCall({
  operation: "listTransactions",
  method: "GET",
  path: `${WORKSPACE}/transactions`,
  reply: { pageOf: "TransactionShape" },
  ask: () => ({}),
});

export const beginTransaction = defineCall({
  operation: "beginTransaction",
  method: "POST",
  path: `${WORKSPACE}/transactions`,
  reply: { json: "TransactionShape", status: 201 },
  ask: ({ name, actor, session, scope, pid }: TransactionOptions = {}) => {
    refuseProcess(pid);
    return { body: { name, actor, session, scope } };
  },
});

export const commitTransaction = defineCall({
  operation: "commitTransaction",
  method: "POST",
  path: `${WORKSPACE}/transactions/{transaction}/commit`,
  reply: { json: "TransactionShape" },
  ask: (transaction: string) => ({ params: { transaction } }),
});

export const rollbackTransaction = defineCall({
  operation: "rollbackTransaction",
  method: "POST",
  path: `${WORKSPACE}/transactions/{transaction}/rollback`,
  reply: { json: "TransactionRollbackShape" },
  ask: (transaction: string, { force }: { readonly force?: boolean } = {}) => ({
    params: { transaction },
    body: { force },
  }),
});

export const listConflicts = defineCall({
  operation: "listConflicts",
  method: "GET",
  path: `${WORKSPACE}/conflicts`,
  reply: { pageOf: "ConflictShape" },
  ask: ({ all, patch, after, limit }: ConflictsOptions = {}) => ({
    query: { all, patch, after },
    ...optional({ most: limit }),
  }),
});

export const listVersions = defineCall({
  operation: "listVersions",
  method: "GET",
  path: `${WORKSPACE}/versions`,
  reply: { pageOf: "VersionShape" },
  ask: ({ path }: VersionsOptions = {}) => ({ query: { path } }),
});

export const restoreVersion = defineCall({
  operation: "restoreVersion",
  method: "POST",
  path: `${WORKSPACE}/versions/{version}/restore`,
  reply: { json: "VersionRestoreShape" },
  ask: (version: string) => ({ params: { version } }),
});

export const resolveConflict = defineCall({
  operation: "resolveConflict",
  method: "POST",
  path: `${WORKSPACE}/resolve`,
  reply: { json: "ResolveShape" },
  ask: (conflict: string, { keep, content, seen }: ResolveOptions) => ({
    query: { conflict, keep, ...(seen === undefined ? {} : { seen: seen ?? "" }) },
    ...optional({ content }),
  }),
});
