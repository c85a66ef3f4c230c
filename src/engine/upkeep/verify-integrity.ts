import { ChronicleError } from "../../core/values/errors.ts";
import { addAll } from "../../util/long-lists.ts";
import { actionOfEvent } from "../facts/actions.ts";
import { answer } from "../log/answer.ts";
import type { Context } from "../log/context.ts";
import { indexedFrom } from "../log/history-start.ts";
import { isInBase } from "../log/read-base.ts";
import { readEvents } from "../log/read-events.ts";
import { verify } from "./verify.ts";

/** The number of faults that are named in the message; its data holds all. */
const MOST_NAMED = 3;

/** Recomputes the whole chain from its files, and the links between actions. Throws `INTEGRITY_VIOLATION`. */
export async function verifyIntegrity(context: Context): Promise<void> {
  const { problems } = await verify(context, { quick: true });
  if (problems.length === 0) addAll(problems, await answer(context, () => brokenLinks(context)));
  if (problems.length === 0) return;
  const named = problems.slice(0, MOST_NAMED).map((one) => `${one.where}: ${one.detail}`);
  const more = problems.length > named.length ? ` and ${problems.length - named.length} more` : "";
  throw new ChronicleError("INTEGRITY_VIOLATION", `the history is not what was recorded: ${named.join("; ")}${more}`, {
    hint: "run `chronicle verify` for the whole list",
    data: { problems },
  });
}

/**
 * Returns the broken links. Each action names the one begun before it, pruned or not; that of the first one may be
 * compacted away.
 */
async function brokenLinks(context: Context): Promise<{ kind: string; where: string; detail: string }[]> {
  const rows = (await context.index.records("action:")).filter((row) => !isInBase(row));
  const actions = (await readEvents(context, rows)).map(actionOfEvent).sort((a, b) => a.seq - b.seq);
  const begins = (await indexedFrom(context)) ?? 1;
  return actions.flatMap((action, i) => {
    const before = actions[i - 1];
    // An action begun before the history begins may have followed one that the history does not hold any more.
    if (before === undefined || before.seq < begins || action.previous === before.hash) return [];
    const detail = `it does not name the one before it, ${before.id}`;
    return [{ kind: "action-link", where: `action ${action.id}`, detail }];
  });
}
