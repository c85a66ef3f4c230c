import * as z from "zod";
import type { TransactionShape } from "../../api/action-shapes.ts";
import type { Answer } from "../answer.ts";
import { limit, named, transactionId } from "../arguments.ts";
import { counted, oneLine } from "../one-line.ts";
import { redoOf } from "../redo-of.ts";
import { cappedRestore, changeLines, conflictLine, countsOf, skippedLines } from "../show.ts";
import { defineTool, type Tool } from "../tool.ts";

const HINTS = { NOT_FOUND: "list_transactions lists the ids there are" };
const MAX_SNAPSHOTS = 50;

function shown({ snapshots, ...rest }: TransactionShape): object {
  return { ...rest, snapshots: snapshots.slice(0, MAX_SNAPSHOTS), total_snapshots: snapshots.length };
}

function lineOf({ id, status, started_at: started, snapshots, name, orphaned }: TransactionShape): string {
  const marks = [counted(snapshots.length, "action"), orphaned === true ? "its owner is gone" : ""];
  const title = name === undefined ? "" : `  ${oneLine(name, 100)}`;
  return `${id}  ${started}  ${status}${title}  (${marks.filter((mark) => mark !== "").join(", ")})`;
}

const begin = defineTool({
  name: "begin_transaction",
  title: "Begin a transaction",
  description:
    "Begins a transaction: the actions that follow belong to it, and rollback_transaction takes all of them back at " +
    "once. Use it before a risky piece of work of several steps. Begun within another one it is a savepoint. It stays " +
    "open until commit_transaction or rollback_transaction. Where other agents work in the same folder, give your " +
    "`session` (list_actions shows it): only its actions then belong to it.",
  input: z.strictObject({
    name: z.string().min(1).max(200).describe("what it is about, for people").optional(),
    session: named("only this session's actions belong to it (default: everybody's)").optional(),
  }),
  effect: "records",
  run: async (workspace, { name, session }): Promise<Answer> => {
    const transaction = await workspace.beginTransaction({
      ...(name === undefined ? {} : { name }),
      ...(session === undefined ? {} : { session }),
      actor: "agent",
      // A transaction outlives its connection: whoever comes back finds it, and nothing is taken back behind their back.
      pid: null,
      onOwnerDeath: "keep",
    });
    return {
      summary: `Transaction ${transaction.id} has begun.`,
      next: [
        `commit_transaction {"id":"${transaction.id}"} keeps what is done from now on.`,
        `rollback_transaction {"id":"${transaction.id}"} takes it all back.`,
      ],
      data: { transaction: shown(transaction) },
    };
  },
});

const commit = defineTool({
  name: "commit_transaction",
  title: "Commit a transaction",
  description: "Keeps the work of a transaction. It can still be undone afterwards: undo with its id as `operation`.",
  input: z.strictObject({ id: transactionId }),
  effect: "records",
  idempotent: true,
  hints: HINTS,
  run: async (workspace, { id }): Promise<Answer> => {
    const transaction = await workspace.commitTransaction(id);
    return {
      summary: `Transaction ${transaction.id} is ${transaction.status}: ${counted(transaction.snapshots.length, "action")}.`,
      next: [`undo {"operation":"${transaction.id}"} takes it back as a whole.`],
      data: { transaction: shown(transaction) },
    };
  },
});

const rollback = defineTool({
  name: "rollback_transaction",
  title: "Roll a transaction back",
  description:
    "Takes back all that a transaction's actions changed; work of others stays, and what does not merge with it is " +
    "kept as a conflict. Nothing is lost: what is there now is recorded first, and redo brings the " +
    "transaction's work again.",
  input: z.strictObject({ id: transactionId }),
  effect: "changes",
  idempotent: true,
  hints: HINTS,
  run: async (workspace, { id }): Promise<Answer> => {
    const { transaction, undo } = await workspace.rollbackTransaction(id);
    const { changes, skipped, unmerged } = undo;
    return {
      summary: `Transaction ${transaction.id} is ${transaction.status}: ${countsOf(changes)}.`,
      lines: [
        ...changeLines(changes),
        ...(skipped.length === 0 ? [] : ["Left as they are:", ...skippedLines(skipped)]),
        ...unmerged.slice(0, MAX_SNAPSHOTS).map(conflictLine),
      ],
      next: [
        ...(changes.length === 0 ? [] : [redoOf(undo.undo_id)]),
        ...(unmerged.length === 0 ? [] : ["list_conflicts shows what did not merge; resolve_conflict settles it."]),
      ],
      data: { transaction: shown(transaction), undo: cappedRestore(undo) },
    };
  },
});

const list = defineTool({
  name: "list_transactions",
  title: "List transactions",
  description: "Transactions, newest first: active, committed and rolled back.",
  input: z.strictObject({ limit: limit(20, 100) }),
  effect: "reads",
  run: async (workspace, { limit: most }): Promise<Answer> => {
    const all = (await workspace.transactions()).toReversed();
    const active = all.filter((one) => one.status === "active").length;
    return {
      summary: `${counted(all.length, "transaction")}, ${active} active.`,
      lines: all.slice(0, most).map(lineOf),
      data: { transactions: all.slice(0, most).map(shown), total: all.length },
    };
  },
});

/** Tools for actions that land whole or are rolled back whole. */
export const TRANSACTION_TOOLS: readonly Tool[] = [begin, commit, rollback, list];
