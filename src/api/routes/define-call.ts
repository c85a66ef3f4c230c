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
