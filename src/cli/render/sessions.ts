import type { SessionShape } from "../../api/shapes.ts";
import type { Paint } from "../paint.ts";
import { shownCommand } from "./printable.ts";

/** What a session ran; a recording without a command is a watch. */
export function sessionCommand(session: SessionShape): string {
  return session.command.length === 0 ? "(watch)" : shownCommand(session.command);
}

/** How a session ended, in a word or two. */
export function sessionEnd(session: SessionShape, paint: Paint): string {
  if (session.state === "running") return paint("cyan", "running");
  if (session.state === "abandoned") return paint("yellow", "abandoned");
  if (session.signal !== null) return paint("red", session.signal);
  if (session.exit_code === null) return "ended";
  return session.exit_code === 0 ? paint("green", "ok") : paint("red", `exit ${session.exit_code}`);
}
