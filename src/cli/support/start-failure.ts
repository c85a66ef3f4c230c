import { errnoOf } from "../../core/values/errors.ts";

const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

function isSpawnError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error && String(error.syscall).startsWith("spawn");
}

/**
 * The shell's exit code for a command that could not be started: 127 not found, 126 not executable. `undefined` if the
 * error (and its cause) is another one.
 */
export function startFailureCode(error: unknown): number | undefined {
  if (isSpawnError(error)) return errnoOf(error) === "ENOENT" ? NOT_FOUND : NOT_EXECUTABLE;
  return error instanceof Error && error.cause !== undefined ? startFailureCode(error.cause) : undefined;
}
