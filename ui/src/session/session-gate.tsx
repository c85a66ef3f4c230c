import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { ChronicleError } from "../../../src/client/index.ts";
import { ApiContext, pageClient } from "../data/api.ts";
import { meQuery } from "../data/queries.ts";
import { Loading, Problem } from "../parts/states.tsx";
import { ConnectScreen } from "./connect-screen.tsx";
import { exchangeCode, forgetToken, hasCode, storedToken, storeToken } from "./session.ts";

type Phase = { readonly token?: string; readonly isReady: boolean; readonly refused?: string };

/**
 * Shows the page to a person with a token. The token comes from the one-time code in the address, or from this tab, or
 * is typed in.
 */
export function SessionGate({ children }: { readonly children: ReactNode }) {
  const [phase, setPhase] = useState<Phase>({ isReady: false });
  useEffect(() => {
    void enter();
    // If a person pastes a new address of `chronicle ui` into this tab, the browser does not load the page again by
    // itself.
    const onHash = (): void => {
      if (hasCode()) location.reload();
    };
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);

    async function enter(): Promise<void> {
      const refused = await exchangeOnce();
      const token = storedToken();
      setPhase({
        isReady: true,
        ...(token === undefined ? {} : { token }),
        ...(refused === undefined ? {} : { refused }),
      });
    }
  }, []);
  const onToken = (token: string): void => {
    storeToken(token);
    setPhase({ isReady: true, token });
  };
  if (!phase.isReady) return <Loading what="Connecting" />;
  if (phase.token === undefined) return <ConnectScreen refused={phase.refused} onToken={onToken} />;
  return (
    <SignedIn token={phase.token} onRefused={(refused) => setPhase({ isReady: true, refused })} onToken={onToken}>
      {children}
    </SignedIn>
  );
}

let exchange: Promise<string | undefined> | undefined;

/**
 * Exchanges the code only once, although React runs effects twice in development. Resolves to the reason if the server
 * refuses the code.
 */
function exchangeOnce(): Promise<string | undefined> {
  exchange ??= exchangeCode().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  return exchange;
}

interface SignedInProps {
  readonly token: string;
  readonly onRefused: (why: string) => void;
  readonly onToken: (token: string) => void;
  readonly children: ReactNode;
}

function SignedIn({ token, onRefused, onToken, children }: SignedInProps) {
  const client = useMemo(() => pageClient(token), [token]);
  const { data: me, error, refetch } = useQuery({ ...meQuery(client), queryKey: ["me", token] });
  const api = useMemo(() => (me === undefined ? undefined : { client, me }), [client, me]);
  // The token is forgotten only if the server no longer accepts it. After any other error, the server may accept the
  // token later.
  const isRefused = error instanceof ChronicleError && error.code === "UNAUTHENTICATED";
  useEffect(() => {
    if (!isRefused || error === null) return;
    forgetToken();
    onRefused(error.message);
  }, [error, isRefused, onRefused]);
  if (isRefused) return <ConnectScreen refused={error?.message} onToken={onToken} />;
  if (error !== null && me === undefined) return <Problem error={error} onAgain={() => void refetch()} />;
  if (api === undefined) return <Loading what="Connecting" />;
  return <ApiContext value={api}>{children}</ApiContext>;
}
