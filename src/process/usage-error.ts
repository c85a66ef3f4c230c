import { ChronicleError } from "../core/values/errors.ts";

/** Returns the error for a command line that cannot be understood (exit code 2). */
export function usageError(message: string, hint: string): ChronicleError {
  return new ChronicleError("USAGE", message, { hint });
}
