import type { ActionApi, ActionRequest, TransactionOptions } from "./action-api.ts";
import type { ActionShape, TransactionShape } from "./action-shapes.ts";
import { ChronicleError } from "../core/errors.ts";

/** Snapshot, run, finish. The workspace is free for other calls while `work` runs. */
export async function bracketAction<T>(
  workspace: ActionApi,
  request: ActionRequest,
  work: (action: ActionShape | null) => Promise<T> | T,
): Promise<T> {
  const action = await workspace.snapshotAction(request);
  const how = request.onFailure === undefined ? {} : { onFailure: request.onFailure };
  let result: T;
  try {
    result = await work(action);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (action !== null) await workspace.finishAction(action.id, { outcome: "failed", reason, ...how });
    throw error;
  }
  if (action !== null) await workspace.finishAction(action.id, how);
  return result;
}

/** Begin, run, commit; rolled back when `work` throws. */
export async function bracketTransaction<T>(
  workspace: ActionApi,
  work: (transaction: TransactionShape) => Promise<T> | T,
  options: TransactionOptions = {},
): Promise<T> {
  const transaction = await workspace.beginTransaction(options);
  let result: T;
  try {
    result = await work(transaction);
  } catch (error) {
    await workspace.rollbackTransaction(transaction.id).catch((trouble: unknown) => {
      throw notRolledBack(transaction, { error, trouble });
    });
    throw error;
  }
  await workspace.commitTransaction(transaction.id);
  return result;
}

/** `work` threw, and what it did could not be taken back, unless it did that itself. */
function notRolledBack({ id }: TransactionShape, { error, trouble }: { error: unknown; trouble: unknown }): unknown {
  if (!(trouble instanceof ChronicleError)) return trouble;
  if (trouble.data["status"] === "rolled_back") return error;
  return new ChronicleError(trouble.code, `the transaction ${id} was not rolled back: ${trouble.message}`, {
    ...(trouble.hint === undefined ? {} : { hint: trouble.hint }),
    data: trouble.data,
    cause: error,
  });
}
