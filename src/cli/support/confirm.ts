import { ChronicleError } from "../../core/values/errors.ts";
import type { CommandContext } from "./context.ts";

/**
 * Asks a question on the terminal (stderr). Enter, Escape and Ctrl-C mean no. In the store's long-lived process, throws
 * `NeedsClient`.
 */
export async function confirm(context: CommandContext, question: string): Promise<boolean> {
  const { served } = context.io;
  if (served !== undefined) throw served.needsClient("a question is asked");
  const { confirm: ask, isCancel } = await import("@clack/prompts");
  const answer = await ask({ message: question, initialValue: false, output: process.stderr });
  if (!isCancel(answer) && answer) return true;
  context.say("nothing was changed");
  return false;
}

/**
 * Throws `REFUSED` unless a person can be asked at a terminal. No option replaces the person, because a program could
 * pass the option. `what`: the data that would be removed at once.
 */
export function refuseWithoutPerson(context: CommandContext, what: string): void {
  if (context.canAsk) return;
  throw new ChronicleError("REFUSED", `only a person at a terminal gives ${what} up at once`, {
    hint: "leave out --now: then it is kept for 24 hours, and a later `chronicle gc` frees it",
  });
}
