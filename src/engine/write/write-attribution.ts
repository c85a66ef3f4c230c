import type { Head } from "../../core/values/event.ts";
import type { IntentRecord } from "../../core/records/records.ts";
import { isWithin } from "../../core/values/path.ts";
import type { LoggedAction } from "../facts/actions.ts";
import { innermost, openBrackets, type Brackets, type OpenTransaction } from "../facts/brackets.ts";
import type { Context } from "../log/context.ts";
import { Nesting, placeOf } from "../facts/nesting.ts";
import type { ReadyWrite } from "./ready-write.ts";
import { optional } from "../../util/optional.ts";

/** The actor, session, action and transaction that a write belongs to. */
export type WriteAttribution = Pick<IntentRecord, "actor" | "session" | "action" | "transaction">;

/**
 * Says whose writes are. Who writes is known, other than of what a capture finds; the rest is as there: a write belongs to
 * the one open action that declared its path, else to the one of its session that is about the whole workspace; and to
 * the innermost transaction that is everybody's or its session's. Where several could be meant it belongs to none.
 */
export async function writeAttributor(context: Context, head: Head): Promise<(write: ReadyWrite) => WriteAttribution> {
  const brackets = await openBrackets(context, head);
  const nesting = await Nesting.of(context, brackets);
  const { within } = await placeOf(context, nesting, { pid: context.processes.pid });
  const around = within.run === undefined ? new Set<string>() : nesting.around(within.run);
  return (write) => {
    const { actor, session } = write.by;
    const action = actionFor(write, brackets.actions);
    const its = session ?? (action === undefined ? within.run : action.session);
    const transaction = action === undefined ? transactionFor(session, brackets, around) : undefined;
    return {
      // The queue's default actor is whoever opened the workspace; an action knows better who works.
      actor: actor ?? action?.actor ?? write.by.caller.actor,
      ...optional({ session: its }),
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

/** A transaction that holds a run belongs only to that run, and to those who write within it. */
function transactionFor(
  session: string | undefined,
  { transactions }: Brackets,
  around: ReadonlySet<string>,
): OpenTransaction | undefined {
  const own = transactions.filter(({ id, record }) => {
    const isMeant = record.session === undefined || record.session === session;
    return isMeant && (record.holds === undefined || around.has(id));
  });
  const [only, second] = innermost(own);
  return second === undefined ? only : undefined;
}
