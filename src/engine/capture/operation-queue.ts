import { ChronicleError, withCode } from "../../core/values/errors.ts";
import type { Head } from "../../core/values/event.ts";
import { openBrackets, type OpenSession } from "../facts/brackets.ts";
import type { Context } from "../log/context.ts";
import { mayHaveOwner } from "../log/owner-process.ts";
import { answer, rebuildingOnce } from "../log/answer.ts";
import type { CatchUp } from "../log/catch-up.ts";
import { findDamage } from "../log/chain-fault.ts";
import { refuseReadOnly, refuseArchived, refuseMoved } from "../commit/commit.ts";
import type { FinishedIntent } from "./operate.ts";
import { keepRemembered } from "./remember-recorded.ts";
import { optional } from "../../util/optional.ts";

/**
 * The work that was done before a change. `finished`: the interrupted operations that were finished. `closed`: notes
 * for people about open work that was closed because its process is gone.
 */
export interface BeforeChange {
  readonly finished: readonly FinishedIntent[];
  readonly closed: readonly string[];
}

export const NOTHING_BEFORE: BeforeChange = { finished: [], closed: [] };

/**
 * The operations that the queue runs before and after a change. These operations are passed in and not imported,
 * because they are themselves built on the queue.
 */
interface Settling {
  /** Finishes interrupted operations, and closes sessions and actions whose process is gone. */
  readonly endBefore: (context: Context) => Promise<BeforeChange>;
  /** Returns what `endBefore` would do now. Changes nothing. */
  readonly wouldEndBefore: (context: Context) => Promise<BeforeChange>;
  readonly notesOf: (before: BeforeChange) => readonly string[];
  /**
   * Ends the transactions whose owner is gone. The record of each transaction (`onOwnerDeath`) says whether it is then
   * committed or rolled back.
   */
  readonly endOrphans: (context: Context, before: BeforeChange) => Promise<void>;
  /**
   * Called after each change. If the change has recorded private contents, and all of them now exceed their budget,
   * gives up the oldest ones.
   */
  readonly keepToBudget: (context: Context) => Promise<void>;
}

interface ChangeHow {
  readonly dryRun?: boolean | undefined;
  /**
   * True for a change that itself ends a transaction. Before such a change, transactions whose owner is gone are not
   * ended.
   */
  readonly keepsOrphans?: true;
}

/**
 * Orders the operations of an open workspace. Changes and `readInTurn` run one after another. Other reads begin at
 * once.
 */
export class OperationQueue {
  readonly #context: Context;
  readonly #settling: Settling;
  readonly #onClose: () => Promise<void>;
  #last: Promise<unknown> = Promise.resolve();
  /** The number of operations that are queued or running. */
  #pending = 0;
  #closed = false;
  #hasTold = false;

  constructor(context: Context, settling: Settling, onClose: () => Promise<void>) {
    this.#context = context;
    this.#settling = settling;
    this.#onClose = onClose;
  }

  /** Reads the history as it is now. `work` gets the result of catching up with the log. */
  read<T>(work: (found: CatchUp) => Promise<T>): Promise<T> {
    return this.whileOpen(() =>
      this.#upToDate((found) => {
        this.#tellDamage(found);
        return work(found);
      }),
    );
  }

  /** Runs a read of the history and the files once all operations that were queued earlier have ended. */
  readInTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.inTurn(() => this.#upToDate(work));
  }

  /** Like `readInTurn`, but returns `undefined` if operations are queued or running. */
  async readIfIdle<T>(work: () => Promise<T>): Promise<T | undefined> {
    return this.#pending > 0 ? undefined : this.readInTurn(work);
  }

  /**
   * Like `changeAfter`, but without a report for `work`. Instead, notes (`Context.tell`) say what was finished and
   * ended before the work. A dry run gives no notes.
   */
  change<T>(work: () => Promise<T>, how: ChangeHow = {}): Promise<T> {
    const context = this.#context;
    return this.changeAfter((before) => {
      if (how.dryRun !== true) for (const note of this.#settling.notesOf(before)) context.tell?.(note);
      return work();
    }, how);
  }

  /**
   * Queues work that changes something, or a dry run of such work. The work sees the present history, including events
   * that another process wrote but could not add to the index before it died. Before the work, interrupted operations
   * are finished, and the open work of dead processes is ended. `work` gets a report of what was finished and ended,
   * and must not itself finish operations or end open work. A dry run finishes and ends nothing. The report of a dry
   * run says what would be finished and ended.
   */
  changeAfter<T>(work: (before: BeforeChange) => Promise<T>, how: ChangeHow = {}): Promise<T> {
    const context = this.#context;
    if (how.dryRun === true) {
      return this.inTurn(() =>
        this.#upToDate(async ({ damage }) => {
          await refuseArchived(context);
          await refuseMoved(context);
          // A damaged history cannot be written to, so the dry run fails as well.
          if (damage !== undefined) throw damage;
          return work(await this.#settling.wouldEndBefore(context));
        }),
      );
    }
    return this.inTurn(async () => {
      refuseReadOnly(context);
      const { damage } = await this.#upToDate((found) => Promise.resolve(found));
      try {
        const done = await rebuildingOnce(context, async () => {
          await refuseMoved(context);
          const before = await this.#settling.endBefore(context);
          if (how.keepsOrphans !== true) await this.#settling.endOrphans(context, before);
          return work(before);
        });
        await this.#settling.keepToBudget(context);
        return done;
      } catch (error) {
        // The log may lack events that the index knows. If catching up with the log has found damage, that damage
        // explains more than this error.
        const isGone = error instanceof ChronicleError && error.code === "LOG_DAMAGED";
        if (isGone && damage === undefined) await findDamage(context);
        throw isGone && damage !== undefined ? damage : error;
      }
    });
  }

  /**
   * Runs `work` once all operations that were queued before have ended. Throws `USAGE` if the workspace has been
   * closed.
   */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.whileOpen(() => {
      this.#pending += 1;
      const next = this.#last
        .catch(() => undefined)
        .then(() => withCode(work))
        .finally(() => (this.#pending -= 1));
      this.#last = next;
      return next;
    });
  }

  /**
   * Keeps private contents within their budget after work that queues its operations itself. Returns `done`, the result
   * of that work.
   */
  async endOfChanges<T>(done: T): Promise<T> {
    await this.inTurn(() => this.#settling.keepToBudget(this.#context));
    return done;
  }

  /**
   * Runs `work` at once. Throws `USAGE` if the workspace has been closed. If `work` fails and another process has
   * forgotten the workspace, throws `NOT_FOUND`. The files of the history are then at another place, so that the error
   * of `work` would wrongly say that the history is damaged.
   */
  async whileOpen<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new ChronicleError("USAGE", "this workspace has been closed", { hint: "open it again" });
    try {
      return await withCode(work);
    } catch (error) {
      throw this.#context.store.isThere() ? error : forgotten(this.#context, error);
    }
  }

  /**
   * Waits for the queued operations. Then signs the head, saves the remembered states of the disk, and calls `onClose`.
   */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#last.catch(() => undefined);
    await withCode(() => this.#end());
  }

  async #end(): Promise<void> {
    try {
      const { headFollower } = this.#context;
      const signed = await headFollower.end();
      // Another process may have been killed before it signed its events. Catching up tells the head follower of these
      // events.
      const { damage } = signed ?? (await this.#upToDate((found) => Promise.resolve(found)));
      if (damage === undefined) {
        if (signed === undefined) await headFollower.end();
        await keepRemembered(this.#context);
      }
    } finally {
      await this.#onClose();
    }
  }

  #upToDate<T>(work: (found: CatchUp) => Promise<T>): Promise<T> {
    const context = this.#context;
    return withCode(() =>
      answer(context, async (found) => {
        if (found.damage === undefined) context.headFollower.seen(found.head.seq);
        try {
          return await work(found);
        } catch (error) {
          throw await this.#asDamage(error, found);
        }
      }),
    );
  }

  /**
   * Returns the error to throw. If a line is unreadable, notes the damage, so that the next catch-up reports it.
   * `NOT_FOUND` in a damaged history becomes `LOG_DAMAGED`, because what was not found may be in the unreadable part.
   */
  async #asDamage(error: unknown, { damage }: CatchUp): Promise<unknown> {
    if (!(error instanceof ChronicleError)) return error;
    if (error.code === "LOG_DAMAGED" && damage === undefined) await findDamage(this.#context);
    if (error.code !== "NOT_FOUND" || damage?.code !== "LOG_DAMAGED") return error;
    return new ChronicleError("LOG_DAMAGED", `${error.message}, as far as the log can be read: ${damage.message}`, {
      ...optional({ hint: damage.hint, data: damage.data }),
      cause: error,
    });
  }

  /** Tells once that answers come only from the readable part of a damaged history. */
  #tellDamage({ damage }: CatchUp): void {
    if (damage?.code !== "LOG_DAMAGED" || this.#hasTold) return;
    this.#hasTold = true;
    this.#context.tell?.(`${damage.message}: the answer covers only the part that can be read; ${damage.hint ?? ""}`);
  }
}

function forgotten({ workspaceId: id }: Context, cause: unknown): ChronicleError {
  return new ChronicleError("NOT_FOUND", `the workspace ${id} was forgotten by another process`, {
    hint: `\`chronicle unforget ${id}\` brings its history back; \`chronicle init\` begins a new one`,
    data: { workspace: id },
    cause,
  });
}

/**
 * Runs work, and runs it a second time if it throws `INTEGRITY_VIOLATION`. Work that finds a damaged index of contents
 * discards this index, so the second attempt may succeed.
 */
export async function onceMore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "INTEGRITY_VIOLATION") throw error;
    return work();
  }
}

/**
 * Throws `REFUSED` while a run, a watch, an agent or a transaction is open. During that time, the history can be given
 * up only with a grace period.
 */
export async function refuseAtOnce(context: Context, head?: Head): Promise<void> {
  const open = await openWork(context, head);
  if (open === undefined) return;
  const { workspaceId: id } = context;
  throw new ChronicleError("REFUSED", `${open} is at work in ${id}, so its history cannot be given up at once`, {
    hint: "end this work first (`chronicle sessions` lists it), or leave out --now",
    data: { workspace: id },
  });
}

async function openWork(context: Context, head: Head | undefined): Promise<string | undefined> {
  const { actions, runs, watches, agents, transactions } = await openBrackets(context, head);
  if (runs.length > 0) return "a run";
  if (watches.length > 0) return "a watch";
  if (agents.some((one) => isGoingOn(context, one)) || actions.length > 0) return "an agent";
  return transactions.length > 0 ? "a transaction" : undefined;
}

/** Returns true if the agent may still be at work: its process may be alive, or is unknown. */
function isGoingOn(context: Context, { record }: OpenSession): boolean {
  return record.pid <= 0 || mayHaveOwner(context, record, record.started);
}
