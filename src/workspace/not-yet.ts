import { ChronicleError } from "../core/errors.ts";

/** Throws: what is asked for is being built. */
export function notYet(what: string): never {
  throw new ChronicleError("IO", `${what} is not there yet`);
}
