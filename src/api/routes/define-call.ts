import type { Call, ReplyKind } from "./route.ts";

/** Where everything about one workspace is. */
export const WORKSPACE = "/v1/workspaces/{id}";

/** Says a client's half of a row, with the types that it has. */
export function defineCall<
  const Args extends readonly unknown[],
  const Reply extends ReplyKind,
  Query = Record<never, never>,
  Body = undefined,
>(call: Call<Args, Query, Body, Reply>): Call<Args, Query, Body, Reply> {
  return call;
}
