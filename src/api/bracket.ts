import type { ActionApi, ActionEnd, ActionRequest, TransactionOptions } from "./action-api.ts";
import type { ActionShape, TransactionShape } from "./action-shapes.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { optional } from "../util/optional.ts";

/** Runs functions within actions of one workspace. */
export class ActionBracket {
  readonly #workspace: ActionApi;
  /**
   * Maps the id of an action to its end, if this end could not be recorded. Such an action stays open until its end is
   * recorded. Until then, changes of others may be attributed to the action.
   */
  readonly #unrecorded = new Map<string, ActionEnd>();

  constructor(workspace: ActionApi) {
    this.#workspace = workspace;
  }

  /**
   * Makes the snapshot, calls `work`, finishes the action, and returns the result of `work`. `ActionApi.action`
   * describes the errors. Other calls can use the workspace while `work` runs.
   */
  async run<T>(request: ActionRequest, work: (action: ActionShape | null) => Promise<T> | T): Promise<T> {
    const how = request.onFailure === undefined ? {} : { onFailure: request.onFailure };
    await this.#endEarlierActions(request);
    const action = await this.#workspace.snapshotAction(request);
    if (action === null) return work(null);
    let result: T;
    try {
      result = await work(action);
    } catch (error) {
      const trouble = await this.#finish(action.id, { outcome: "failed", reason: messageOf(error), ...how });
      throw this.#unrecorded.has(action.id) ? notEnded(action, trouble, error) : error;
    }
    const trouble = await this.#finish(action.id, how);
    if (trouble === undefined) return result;
    throw this.#unrecorded.has(action.id) ? notEnded(action, trouble) : trouble;
  }

  /**
   * Finishes an action. Never rejects. Returns `undefined` if `finishAction` succeeds. If `finishAction` fails, calls
   * `#close` and returns the error of `finishAction`. If `#close` fails too, keeps the end of the action in
   * `#unrecorded`.
   */
  async #finish(id: string, end: ActionEnd): Promise<unknown> {
    try {
      await this.#workspace.finishAction(id, end);
      return undefined;
    } catch (trouble) {
      // Ignore the error of `#close`: the error of `finishAction` already tells the caller about the problem.
      await this.#close(id, end).catch(() => this.#unrecorded.set(id, end));
      return trouble;
    }
  }

  /**
   * Closes an action even if its changes cannot be recorded. In that case, the `reason` of the action has the cause.
   * Ignores an action that does not exist. Removes the action from `#unrecorded`.
   */
  async #close(id: string, end: ActionEnd): Promise<void> {
    try {
      await this.#workspace.finishAction(id, { ...end, onFailure: "warn" });
    } catch (trouble) {
      if (!(trouble instanceof ChronicleError) || trouble.code !== "NOT_FOUND") throw trouble;
    }
    this.#unrecorded.delete(id);
  }

  /**
   * Ends the actions that earlier calls had to leave open. Throws if an action cannot be ended, so that no new action
   * begins. With `onFailure: "warn"`, ignores such an error.
   */
  async #endEarlierActions({ onFailure }: ActionRequest): Promise<void> {
    for (const [id, end] of this.#unrecorded) {
      try {
        await this.#close(id, end);
      } catch (trouble) {
        // With `warn`, ignore the error: the earlier call has reported it, and the next call tries again.
        if (onFailure !== "warn") throw trouble;
      }
    }
  }
}

/** Runs functions within transactions of one workspace. */
export class TransactionBracket {
  readonly #workspace: ActionApi;
  /**
   * Maps the id of a transaction that could not be ended to the session of the transaction. Such a transaction must be
   * ended before the next transaction of the session begins. Otherwise, the next transaction would become a savepoint
   * of the unended one.
   */
  readonly #unended = new Map<string, string | undefined>();

  constructor(workspace: ActionApi) {
    this.#workspace = workspace;
  }

  /**
   * First rolls back the transactions that earlier calls with the same session left active, and throws if that fails.
   * Then begins a transaction, calls `work`, commits the transaction, and returns the result of `work`. Rolls the
   * transaction back if `work` throws, or if the commit fails twice. If the rollback fails, the transaction stays
   * active, and the thrown error names the transaction.
   */
  async run<T>(work: (transaction: TransactionShape) => Promise<T> | T, options: TransactionOptions = {}): Promise<T> {
    await this.#endEarlier(options.session);
    const transaction = await this.#workspace.beginTransaction(options);
    let result: T;
    try {
      result = await work(transaction);
    } catch (error) {
      await this.#rollBack(transaction).catch((trouble: unknown) => {
        throw notRolledBack(transaction, { error, trouble });
      });
      throw error;
    }
    await this.#commit(transaction);
    return result;
  }

  /**
   * Commits a transaction. If the first attempt fails, tries once more, because the failure may have been temporary. If
   * the second attempt fails too, rolls the transaction back and throws. If the first error shows that the transaction
   * had already ended, throws this error at once. Returns if the second error shows that the transaction is committed.
   */
  async #commit(transaction: TransactionShape): Promise<void> {
    const { id } = transaction;
    try {
      await this.#workspace.commitTransaction(id);
    } catch (first) {
      if (endOf(first) !== undefined) throw first;
      try {
        await this.#workspace.commitTransaction(id);
      } catch (error) {
        if (endOf(error) !== "committed") await this.#rollBackInstead(transaction, error);
      }
    }
  }

  /**
   * Rolls back a transaction that could not be committed, and throws. Returns only if the error of the rollback shows
   * that the transaction is committed.
   */
  async #rollBackInstead(transaction: TransactionShape, error: unknown): Promise<void> {
    try {
      await this.#rollBack(transaction);
    } catch (trouble) {
      if (endOf(trouble) === "committed") return;
      if (endOf(trouble) === undefined) throw neitherEnd(transaction, { error, trouble });
    }
    throw rolledBackInstead(transaction, error);
  }

  /**
   * Rolls a transaction back. If the rollback fails and the transaction may still be active, the transaction stays in
   * `#unended`.
   */
  async #rollBack({ id, session }: Pick<TransactionShape, "id" | "session">): Promise<void> {
    this.#unended.set(id, session);
    try {
      await this.#workspace.rollbackTransaction(id);
    } catch (trouble) {
      const isGone = trouble instanceof ChronicleError && trouble.code === "NOT_FOUND";
      if (isGone || endOf(trouble) !== undefined) this.#unended.delete(id);
      throw trouble;
    }
    this.#unended.delete(id);
  }

  /**
   * Rolls back the transactions of the session that earlier calls had to leave open. Throws if one of these
   * transactions stays open.
   */
  async #endEarlier(session: string | undefined): Promise<void> {
    for (const [id, whose] of this.#unended) {
      if (whose !== session) continue;
      try {
        await this.#rollBack({ id, ...optional({ session }) });
      } catch (trouble) {
        if (this.#unended.has(id)) throw stillOpen(id, trouble);
      }
    }
  }
}

/** Returns the status in the error of a transaction that had already ended; `undefined` for any other error. */
function endOf(error: unknown): unknown {
  return error instanceof ChronicleError && error.code === "REFUSED" ? error.data["status"] : undefined;
}

/**
 * Two errors of one transaction. `error`: the error of `work` or of the commit. `trouble`: the error of the rollback
 * that followed.
 */
interface TwoTroubles {
  readonly error: unknown;
  readonly trouble: unknown;
}

/**
 * Returns the error to throw when an action could not be closed. `trouble`: the error with which the recording of the
 * end failed. `error`: the error of `work`; absent if `work` did not throw.
 */
function notEnded({ id }: ActionShape, trouble: unknown, error?: unknown): ChronicleError {
  const failed = error === undefined ? "" : `failed (${messageOf(error)}), and `;
  const message = `the action ${id} ${failed}is still open, since its end could not be recorded: ${messageOf(trouble)}`;
  return new ChronicleError(partsOf(trouble).code, message, {
    hint: "the next `action(…)` of this program first ends this action",
    data: { action: id },
    cause: error ?? trouble,
  });
}

/**
 * Returns the error to throw when `work` threw and the rollback failed too. If `work` had rolled the transaction back
 * itself, returns the error of `work`.
 */
function notRolledBack({ id }: TransactionShape, { error, trouble }: TwoTroubles): unknown {
  if (endOf(trouble) === "rolled_back") return error;
  const { code, hint, data } = partsOf(trouble);
  return new ChronicleError(code, `the transaction ${id} was not rolled back: ${messageOf(trouble)}`, {
    ...optional({ hint }),
    data: { transaction: id, ...data },
    cause: error,
  });
}

function rolledBackInstead({ id }: TransactionShape, error: unknown): ChronicleError {
  const { code, hint, data } = partsOf(error);
  const message = `the transaction ${id} could not be committed, and was rolled back: ${messageOf(error)}`;
  return new ChronicleError(code, message, {
    ...optional({ hint }),
    data: { ...data, transaction: id, status: "rolled_back" },
    cause: error,
  });
}

function neitherEnd({ id }: TransactionShape, { error, trouble }: TwoTroubles): ChronicleError {
  const why = `it could not be committed (${messageOf(error)}), and could not be rolled back (${messageOf(trouble)})`;
  return leftOpen(id, `the transaction ${id} is still open: ${why}`, error);
}

function stillOpen(id: string, trouble: unknown): ChronicleError {
  const message = `no transaction begins, because an earlier transaction of this program is still open: ${id} could not be rolled back: ${messageOf(trouble)}`;
  return leftOpen(id, message, trouble);
}

function leftOpen(id: string, message: string, cause: unknown): ChronicleError {
  const short = id.slice(0, 8);
  return new ChronicleError(partsOf(cause).code, message, {
    hint: `\`chronicle transaction commit ${short}\` or \`chronicle transaction rollback ${short}\` ends this transaction; the next \`transaction(…)\` first rolls it back`,
    data: { transaction: id, status: "active" },
    cause,
  });
}

function partsOf(error: unknown): Pick<ChronicleError, "code" | "hint" | "data"> {
  return error instanceof ChronicleError ? error : { code: "IO", hint: undefined, data: {} };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
