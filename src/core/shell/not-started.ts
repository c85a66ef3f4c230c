import { hintOfErrno } from "../values/errno.ts";
import { ChronicleError, errnoOf } from "../values/errors.ts";
import { quoteCommand } from "./quote-command.ts";

/**
 * Returns the hint for the errno. If permission was refused, or if no hint is known for the errno, the hint is to check
 * the program itself.
 */
function hintOfStart(errno: string | undefined): string {
  const isRefused = errno === undefined || errno === "EACCES" || errno === "EPERM";
  return (
    (isRefused ? undefined : hintOfErrno(errno)) ?? "check its permissions, and that it is a program for this machine"
  );
}

function hintOfMissing(program: string): string {
  if (!/\s/.test(program)) return "is it installed, and on the PATH?";
  return `the whole text was taken as the name of one program. To run a line of a shell: \`chronicle run -- ${quoteCommand(["sh", "-c", program])}\``;
}

/** Returns the error of a command that could not be started. `cause`: the system's error. */
export function notStarted(program: string, cause: unknown): ChronicleError {
  const missing = errnoOf(cause) === "ENOENT";
  const why = cause instanceof Error ? cause.message : String(cause);
  return new ChronicleError(missing ? "NOT_FOUND" : "IO", `${program} could not be started: ${why}`, {
    hint: missing ? hintOfMissing(program) : hintOfStart(errnoOf(cause)),
    cause,
  });
}
