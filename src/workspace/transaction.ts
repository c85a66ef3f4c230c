import type { TransactionOptions } from "../api/action-api.ts";
import type { TransactionRollbackShape, TransactionShape } from "../api/action-shapes.ts";
import type { Context } from "./context.ts";
import { notYet } from "./not-yet.ts";

/** Begins a transaction; within an active one: a savepoint. */
export async function beginTransaction(
  _context: Context,
  _options: TransactionOptions = {},
): Promise<TransactionShape> {
  return notYet("beginTransaction");
}

/** Commits a transaction and its savepoints. */
export async function commitTransaction(_context: Context, _id: string): Promise<TransactionShape> {
  return notYet("commitTransaction");
}

/** Rolls a transaction and its savepoints back. */
export async function rollbackTransaction(_context: Context, _id: string): Promise<TransactionRollbackShape> {
  return notYet("rollbackTransaction");
}

/** All transactions, oldest first. */
export async function listTransactions(_context: Context): Promise<TransactionShape[]> {
  return notYet("transactions");
}
