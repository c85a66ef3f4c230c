import type { SessionShape } from "../../api/shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { meantBy } from "../../core/values/meant-by.ts";
import type { Context } from "../log/context.ts";
import { replicaSessions } from "../facts/replica-sessions.ts";
import { listSessions, sessionShape } from "./session.ts";

/** All sessions, oldest first: those here, and those that ran at replicas. */
export async function everySession(context: Context): Promise<SessionShape[]> {
  const here = (await listSessions(context)).map(sessionShape);
  return [...here, ...(await replicaSessions(context))].sort((a, b) => a.from_seq - b.from_seq);
}

/** A session by id or unique prefix; where one here and one at a replica have the same name, that here. Throws `NOT_FOUND`, `AMBIGUOUS`. */
export async function findSessionAnywhere(context: Context, id: string): Promise<SessionShape> {
  const all = await everySession(context);
  const matching = meantBy(all, id, (one) => one.session_id);
  const here = matching.find((one) => one.session_id === id && one.replica === undefined);
  const [only, second] = matching;
  if (here !== undefined) return here;
  if (only === undefined)
    throw new ChronicleError("NOT_FOUND", `there is no session ${JSON.stringify(id)}`, {
      hint: "`chronicle sessions` lists them",
    });
  if (second === undefined) return only;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(id)} stands for ${matching.length} sessions`, {
    hint: "give more of the id",
  });
}
