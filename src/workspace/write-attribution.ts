import type { Head } from "../core/event.ts";
import type { IntentRecord } from "../core/records.ts";
import { isWithin } from "../core/path.ts";
import type { LoggedAction } from "./actions.ts";
import { innermost, openBrackets, type Brackets, type OpenTransaction } from "./brackets.ts";
import type { Context } from "./context.ts";
import type { ReadyWrite } from "./ready-write.ts";

/** Whose a write is. */
export type WriteAttribution = Pick<IntentRecord, "actor" | "session" | "action" | "transaction">;

/**
 * Says whose writes are. Who writes is known, other than of what a capture finds; the rest is as there: a write belongs to
 * the one open action that declared its path, else to the one of its session that is about the whole workspace; and to
 * the innermost transaction that is everybody's or its session's. Where several could be meant it belongs to none.
 */
export async function writeAttributor(context: Context, head: Head): Promise<(write: ReadyWrite) => WriteAttribution> {
  const brackets = await openBrackets(context, head);
  return (write) => {
    const { actor, session } = write.by;
    const action = actionFor(write, brackets.actions);
    const its = session ?? action?.session;
    const transaction = action === undefined ? transactionFor(its, brackets) : undefined;
    return {
      // The queue's default actor is whoever opened the workspace; an action knows better who works.
      actor: actor ?? action?.actor ?? write.by.writer.actor,
      ...(its === undefined ? {} : { session: its }),
      ...(action === undefined ? {} : { action: action.id }),
      ...(transaction === undefined ? {} : { transaction: transaction.id }),
    };
  };
}

function actionFor(write: ReadyWrite, open: readonly LoggedAction[]): LoggedAction | undefined {
  const { session } = write.by;
  const own = open.filter((one) => session === undefined || one.session === undefined || one.session === session);
  const paths = write.kind === "move" ? [write.path, write.to] : [write.path];
  const declared = own.filter((one) => one.paths.some((named) => paths.some((path) => isWithin(path, named))));
  const meant =
    declared.length > 0 ? declared : own.filter((one) => one.scope === "workspace" && one.session === session);
  return meant.length === 1 ? meant[0] : undefined;
}

function transactionFor(session: string | undefined, { transactions }: Brackets): OpenTransaction | undefined {
  const own = transactions.filter(({ record }) => record.session === undefined || record.session === session);
  const [only, second] = innermost(own);
  return second === undefined ? only : undefined;
}
