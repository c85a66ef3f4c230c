import * as z from "zod";
import type { TransactionShape } from "../../api/action-shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Answer } from "../tool-answer.ts";
import { idMeant, limit, named, transactionId, redoOf } from "../arguments.ts";
import { counted, oneLine } from "../one-line.ts";
import { listed } from "../fit.ts";
import { cappedRestore, changeLines, copyLine, countsOf, leftLines, noteLines, timeOf } from "../show.ts";
import { shortId } from "../short-ids.ts";
import * as output from "../outputs.ts";
import { defineTool, type Tool } from "../tool.ts";
import { inCalls } from "../tool-words.ts";
import { optional } from "../../util/optional.ts";

const HINTS = { NOT_FOUND: "list_transactions lists the ids" };
const MAX_SNAPSHOTS = 50;
const MAX_SESSIONS = 10;

function shown({ snapshots, ...rest }: TransactionShape): object {
  return { ...rest, snapshots: snapshots.slice(0, MAX_SNAPSHOTS), total_snapshots: snapshots.length };
}

function lineOf({ id, status, started_at: started, snapshots, name, orphaned }: TransactionShape): string {
  const marks = [counted(snapshots.length, "action"), orphaned === true ? "its owner is gone" : ""];
  const title = name === undefined ? "" : `  ${oneLine(name, 100)}`;
  return `${shortId(id)}  ${timeOf(started)}  ${status}${title}  (${marks.filter((mark) => mark !== "").join(", ")})`;
}

/** The session of a transaction that is begun while no agent's session is open. No action belongs to this session. */
const NO_SESSION = "mcp";

const WITHOUT_ACTIONS =
  "No agent's session is recorded here, so only restores and undos by these tools belong to the transaction. " +
  "`chronicle agents install` makes agents record every edit; the argument `session` selects a session.";

/** Returns the id of the agent's session that is open; `undefined` if none is. Throws `USAGE` if several are open. */
async function onlySession(workspace: WorkspaceApi): Promise<string | undefined> {
  const open = (await workspace.sessions()).filter((one) => one.kind === "agent" && one.state === "running");
  const ids = open.map((one) => one.session_id);
  if (ids.length < 2) return ids[0];
  throw new ChronicleError(
    "USAGE",
    `several agents' sessions are open here: ${ids.slice(0, MAX_SESSIONS).map(shortId).join(", ")}`,
    {
      hint: "give your own session as `session`; list_actions shows the session of each action",
    },
  );
}

/**
 * Returns the id of the session whose id equals a given text or begins with it. Returns the text itself if no such
 * session is recorded yet.
 */
async function sessionMeant(workspace: WorkspaceApi, given: string): Promise<string> {
  const all = await workspace.sessions();
  return idMeant(
    all.map((one) => one.session_id),
    given,
    "sessions",
  );
}

const begin = defineTool({
  name: "begin_transaction",
  title: "Begin a transaction",
  description:
    "Begins a transaction. The following recorded actions of your session belong to it, and so do restores and undos by " +
    "these tools; rollback_transaction takes all of them back at once. Other changes in the folder stay. Use it " +
    "before a risky piece of work of several steps. A transaction within another one is a savepoint. A transaction stays open until " +
    "commit_transaction or rollback_transaction; if this server ends before that, the work stays. If several agents' sessions " +
    "are open, give your own `session` (list_actions shows it).",
  input: z.strictObject({
    name: z.string().min(1).max(200).describe("a name for people that says what the transaction is about").optional(),
    session: named("your session (default: the only session that is open)").optional(),
  }),
  output: { transaction: output.transaction },
  effect: "records",
  run: async (workspace, { name, session }): Promise<Answer> => {
    const own = session === undefined ? await onlySession(workspace) : await sessionMeant(workspace, session);
    const transaction = await workspace.beginTransaction({
      ...optional({ name }),
      session: own ?? NO_SESSION,
      scope: "actions",
      actor: "agent",
      // The owner is the process of this server. When the server ends, the work stays, so that nothing is undone
      // unnoticed.
      onOwnerDeath: "keep",
    });
    return {
      summary: `Transaction ${shortId(transaction.id)} has begun.`,
      lines: own === undefined ? [WITHOUT_ACTIONS] : [],
      next: [
        `commit_transaction {"id":"${shortId(transaction.id)}"} keeps the work that follows.`,
        `rollback_transaction {"id":"${shortId(transaction.id)}"} takes all of that work back.`,
      ],
      data: { transaction: shown(transaction) },
    };
  },
});

/**
 * Returns a sentence that says how to undo a committed transaction, or that nothing was changed in it. A savepoint, or
 * a transaction in a run, cannot be undone alone, because it is not an operation.
 */
async function wayBack(workspace: WorkspaceApi, { id, parent, run }: TransactionShape): Promise<string> {
  if (parent !== undefined)
    return `It is a savepoint of ${shortId(parent)}, and is undone together with that transaction.`;
  if (run !== undefined) return `It is a part of the run ${shortId(run)}, and is undone together with that run.`;
  const isStep = (await workspace.operations()).some((one) => one.id === id);
  return isStep ? `undo {"operation":"${shortId(id)}"} takes it back as a whole.` : "Nothing was changed in it.";
}

const commit = defineTool({
  name: "commit_transaction",
  title: "Commit a transaction",
  description:
    "Keeps the work of a transaction. The work can still be undone afterwards, as the answer says: by undo with the transaction's id as " +
    "`operation`, or together with the larger work of which the transaction is a part.",
  input: z.strictObject({ id: transactionId }),
  output: { transaction: output.transaction },
  effect: "records",
  idempotent: true,
  hints: HINTS,
  run: async (workspace, { id }): Promise<Answer> => {
    const transaction = await workspace.commitTransaction(id);
    return {
      summary: `Transaction ${shortId(transaction.id)} is ${transaction.status}: ${counted(transaction.snapshots.length, "action")}.`,
      next: [await wayBack(workspace, transaction)],
      data: { transaction: shown(transaction) },
    };
  },
});

const rollback = defineTool({
  name: "rollback_transaction",
  title: "Roll a transaction back",
  description:
    "Takes back all changes of a transaction's actions. Other changes stay; if they cannot be merged, a conflict is " +
    "recorded. Nothing is lost: the present state is recorded first, and redo brings the " +
    "transaction's work back.",
  input: z.strictObject({ id: transactionId }),
  output: { transaction: output.transaction, undo: z.looseObject(output.wentBack) },
  effect: "changes",
  idempotent: true,
  hints: HINTS,
  run: async (workspace, { id }): Promise<Answer> => {
    const { transaction, undo } = await workspace.rollbackTransaction(id);
    const { changes, unmerged, conflicts } = undo;
    const notes = undo.notes.map(inCalls);
    return {
      summary: `Transaction ${shortId(transaction.id)} is ${transaction.status}: ${countsOf(changes)}.`,
      lines: [changeLines(changes), ...leftLines(undo), listed(conflicts.map(copyLine)), listed(noteLines(notes))],
      next: [
        ...(changes.length === 0 ? [] : [redoOf(undo.undo_id)]),
        ...(unmerged.length === 0
          ? []
          : ["list_conflicts shows the changes that did not merge; resolve_conflict settles a conflict."]),
      ],
      data: { transaction: shown(transaction), undo: cappedRestore({ ...undo, notes }) },
    };
  },
});

const list = defineTool({
  name: "list_transactions",
  title: "List transactions",
  description: "Lists the active, committed and rolled-back transactions, newest first.",
  input: z.strictObject({ limit: limit(20, 100) }),
  output: { transactions: z.array(output.transaction), total: output.count },
  effect: "reads",
  run: async (workspace, { limit: most }): Promise<Answer> => {
    const all = (await workspace.transactions()).toReversed();
    const active = all.filter((one) => one.status === "active").length;
    return {
      summary: `${counted(all.length, "transaction")}, ${active} active.`,
      lines: [listed(all.slice(0, most).map(lineOf), all.length)],
      data: { transactions: all.slice(0, most).map(shown), total: all.length },
    };
  },
});

export const TRANSACTION_TOOLS: readonly Tool[] = [begin, commit, rollback, list];
