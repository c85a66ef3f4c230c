import { createContext, useContext } from "react";
import { type ChronicleClient, createClient, type RetryRule } from "../../../src/client/index.ts";
import type { MeShape } from "../../../src/api/routes/reply-shapes.ts";
import type { WorkspaceApi } from "../../../src/api/workspace-api.ts";

/**
 * The rule for repeating a request: one more attempt, after a short wait. A person who looks at the page should not
 * wait long for a server that does not answer.
 */
const RETRY_ONCE: RetryRule = { tries: 2, firstWait: 100, longestWait: 1_000 };

/** Makes a client for the server that sent this page. */
export function pageClient(token: string): ChronicleClient {
  const given = { url: location.origin, token, commandHints: true, retry: RETRY_ONCE };
  return createClient({ ...given, fetch: untilRefused((input, init) => fetch(input, init)) });
}

const REFUSED = 401;

/**
 * Returns a `fetch` that sends no further request once the server has refused the token, and returns the server's
 * refusal for every later call. Otherwise, an open tab would send the bad token again and again. A server admits nobody
 * from an address that sends many bad tokens.
 */
export function untilRefused(send: typeof fetch): typeof fetch {
  let refusal: Response | undefined;
  return async (input, init) => {
    if (refusal !== undefined) return refusal.clone();
    const response = await send(input, init);
    if (response.status === REFUSED) refusal = response.clone();
    return response;
  };
}

/** The client for the server and the data of the signed-in caller, for all views. */
export interface Api {
  readonly client: ChronicleClient;
  readonly me: MeShape;
}

export const ApiContext = createContext<Api | undefined>(undefined);

export function useApi(): Api {
  const api = useContext(ApiContext);
  if (api === undefined) throw new Error("this view is shown outside of a session");
  return api;
}

/** Returns a workspace's operations. Sends no request. */
export function useWorkspaceApi(id: string): WorkspaceApi {
  return useApi().client.workspace(id);
}

/** True if the caller is allowed to change files. The server checks this as well. */
export function useMayChange(): boolean {
  return useApi().me.role !== "reader";
}
