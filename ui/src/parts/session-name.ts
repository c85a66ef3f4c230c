import type { SessionShape } from "../../../src/api/shapes.ts";
import { visible } from "./words.ts";

const LONGEST = 60;

/** Returns the words by which people know a session: the command of a run, or who worked in the session. */
export function sessionName({ command, kind, actor }: Pick<SessionShape, "command" | "kind" | "actor">): string {
  if (kind === "watch") return "a watch";
  if (kind === "replica") return `${visible(actor)} at a replica`;
  const text = visible(command.length === 0 ? `session of ${actor}` : command.join(" "));
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
