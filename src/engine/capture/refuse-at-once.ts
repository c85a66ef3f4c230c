import { ChronicleError } from "../../core/values/errors.ts";
import type { Head } from "../../core/values/event.ts";
import { openBrackets, type OpenSession } from "../facts/brackets.ts";
import type { Context } from "../log/context.ts";
import { mayHaveOwner } from "../log/owner-process.ts";

/** Throws `REFUSED` while somebody is at work in a workspace: until then nothing of its history is given up without a grace period. */
export async function refuseAtOnce(context: Context, head?: Head): Promise<void> {
  const open = await openWork(context, head);
  if (open === undefined) return;
  const { workspaceId: id } = context;
  throw new ChronicleError("REFUSED", `${open} is at work in ${id}, whose history is not given up at once meanwhile`, {
    hint: "end it first (`chronicle sessions` lists them), or leave out --now",
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

/** An agent whose process is not known counts as running: we cannot tell that it has gone. */
function isGoingOn(context: Context, { record }: OpenSession): boolean {
  return record.pid <= 0 || mayHaveOwner(context, record, record.started);
}
