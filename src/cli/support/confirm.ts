import type { CommandContext } from "./context.ts";

/** Asks on the terminal (stderr); Enter, Escape and Ctrl-C mean no. */
export async function confirm(context: CommandContext, question: string): Promise<boolean> {
  const { confirm: ask, isCancel } = await import("@clack/prompts");
  const answer = await ask({ message: question, initialValue: false, output: process.stderr });
  if (!isCancel(answer) && answer) return true;
  context.say("nothing was changed");
  return false;
}
