import { ChronicleError } from "../../core/values/errors.ts";
import type { Call, ReplyKind } from "./route.ts";

/** The path prefix of every route about one workspace. */
export const WORKSPACE = "/v1/workspaces/{id}";

/** Returns the client's half of a row, with its exact types. */
export function defineCall<
  const Args extends readonly unknown[],
  const Reply extends ReplyKind,
  Query = Record<never, never>,
  Body = undefined,
>(call: Call<Args, Query, Body, Reply>): Call<Args, Query, Body, Reply> {
  return call;
}

/** The error for operations that only work on the machine of the store. */
export function elsewhere(what: string): ChronicleError {
  return new ChronicleError("USAGE", `a server cannot ${what} for its caller`, {
    hint: "do it on the machine where the folder is",
  });
}
