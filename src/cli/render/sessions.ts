import type { SessionShape } from "../../api/shapes.ts";
import { type Paint, printable, shownCommand } from "../../process/printable.ts";

/** The length of a shortened replica id, in characters. */
const SHORT = 8;

/**
 * Returns the command of a session. For a session without a command, returns the agent's name or the session's kind.
 */
export function sessionCommand({ command, kind, actor }: SessionShape): string {
  if (command.length > 0) return shownCommand(command);
  return kind === "agent" ? `(agent: ${printable(actor)})` : `(${kind})`;
}

export function sessionEnd(session: SessionShape, paint: Paint): string {
  if (session.state === "elsewhere")
    return paint("cyan", `at replica ${printable(session.replica ?? "").slice(0, SHORT)}`);
  if (session.state === "running") return paint("cyan", "running");
  if (session.state === "abandoned") return paint("yellow", "abandoned");
  if (session.signal !== null) return paint("red", session.signal);
  if (session.exit_code === null) return "ended";
  return session.exit_code === 0 ? paint("green", "ok") : paint("red", `exit ${session.exit_code}`);
}
