import { createContext, useContext } from "react";
import { type ChronicleClient, createClient, type RetryRule } from "../../../src/client/index.ts";
import type { MeShape } from "../../../src/api/routes/reply-shapes.ts";
import type { WorkspaceApi } from "../../../src/api/workspace-api.ts";

/** One more try, soon: whoever looks at the page does not wait long for a server that is away. */
const RETRY_ONCE: RetryRule = { tries: 2, firstWait: 100, longestWait: 1_000 };

/** Makes the client of the server that has sent this page. */
export function pageClient(token: string): ChronicleClient {
  const given = { url: location.origin, token, commandHints: true, retry: RETRY_ONCE };
  return createClient({ ...given, fetch: untilRefused((input, init) => fetch(input, init)) });
}

const REFUSED = 401;

/**
 * Sends nothing more once the server has refused the token, and answers with that refusal. An open tab would else ask on
 * and on, and a server lets nobody in from an address that sends many bad tokens.
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

/** The signed-in caller, for all views. */
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

/** True if the caller may change files. The server refuses a reader all the same. */
export function useMayChange(): boolean {
  return useApi().me.role !== "reader";
}
