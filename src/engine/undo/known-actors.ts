import { ChronicleError } from "../../core/values/errors.ts";
import { listSessions } from "../actions/session.ts";
import type { SeqSpan } from "../facts/own-changes.ts";
import { fileEvents } from "../facts/own-work.ts";
import { actionsEver, allTransactions } from "../facts/transactions.ts";
import type { Context } from "../log/context.ts";
import { workElsewhere } from "./work-elsewhere.ts";

/** The maximum number of actors that a hint names. */
const MOST_ACTORS = 8;

/**
 * Throws `NOT_FOUND` if the history has no work of this actor. Never throws for the actor of the caller, whose changes
 * may be on disk but not recorded yet. `span`: the events to search for changes of the actor.
 */
export async function requireActor(context: Context, name: string, span: SeqSpan): Promise<void> {
  if (name === context.caller.actor) return;
  const brackets = [
    ...(await actionsEver(context)),
    ...(await listSessions(context)),
    ...(await allTransactions(context)),
  ];
  const all = new Set([...brackets, ...(await workElsewhere(context))].map(({ actor }) => actor));
  if (all.has(name)) return;
  for await (const { record } of fileEvents(context, span)) {
    if (record.actor === name) return;
    all.add(record.actor);
  }
  all.delete("ambiguous");
  const named = [...all].sort().slice(0, MOST_ACTORS);
  const more = all.size > named.length ? `, and ${all.size - named.length} more` : "";
  throw new ChronicleError("NOT_FOUND", `there is no recorded work of an actor ${JSON.stringify(name)}`, {
    hint:
      named.length === 0
        ? "`chronicle list` shows who did what"
        : `work of these actors is recorded: ${named.join(", ")}${more} (upper and lower case differ)`,
    data: { actors: named },
  });
}
