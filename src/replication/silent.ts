import { ChronicleError } from "../core/values/errors.ts";

/** Returns the error that ends a connection whose other side (`who`) has sent nothing for `ms`. */
export function silent(who: "the origin" | "the replica", ms: number): ChronicleError {
  return new ChronicleError("UNAVAILABLE", `${who} has sent nothing for ${ms / 1_000} s`, {
    hint: "it is tried again by itself; is the other side running, and is the network between the two up?",
    data: { silent_ms: ms },
  });
}
