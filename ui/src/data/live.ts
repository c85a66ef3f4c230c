import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { ChronicleError } from "../../../src/client/index.ts";
import { useApi, useWorkspaceApi } from "./api.ts";

/** The time within which several events of a workspace lead to one request, in milliseconds. */
const GATHER_MS = 150;
/** The time between two questions whether the server is there, in milliseconds. */
const ASK_MS = 4_000;
/** The same while the server does not answer. */
const ASK_LOST_MS = 1_000;

/**
 * Whether the server still answers this tab. `lost`: it does not answer at present. `ended`: it answers, but no longer
 * accepts the token.
 */
export type Link = "live" | "lost" | "ended";

export function useLink(): Link {
  const { client } = useApi();
  const queries = useQueryClient();
  const { data = "live" } = useQuery({
    queryKey: ["link"],
    queryFn: async (): Promise<Link> => {
      const before = queries.getQueryData<Link>(["link"]);
      const now = await client.me().then(() => "live" as const, linkOf);
      if (before === "lost" && now === "live")
        await queries.invalidateQueries({ predicate: ({ queryKey: [name] }) => name !== "link" });
      return now;
    },
    refetchInterval: ({ state }) => (state.data === "lost" ? ASK_LOST_MS : ASK_MS),
    refetchIntervalInBackground: true,
    retry: false,
  });
  return data;
}

function linkOf(error: unknown): Link {
  return error instanceof ChronicleError && error.code !== "UNAVAILABLE" ? "ended" : "lost";
}

/** Whether this tab is in front. */
function useIsVisible(): boolean {
  return useSyncExternalStore(
    (listener) => {
      document.addEventListener("visibilitychange", listener);
      return () => document.removeEventListener("visibilitychange", listener);
    },
    () => document.visibilityState === "visible",
  );
}

/**
 * Keeps what is shown of a workspace up to date, from the events of its log. A hidden tab follows nothing, because a
 * browser opens only six connections to a server, and each tab that follows keeps one of them.
 */
export function useLiveWorkspace(id: string): void {
  const isVisible = useIsVisible();
  const on = useWorkspaceApi(id);
  const queries = useQueryClient();
  useEffect(() => {
    if (!isVisible) return undefined;
    const ending = new AbortController();
    const renewing = gather(() => renew(queries, id));
    // What was recorded while the tab was hidden.
    renewing.note();
    void follow(ending.signal);
    return () => {
      renewing.cancel();
      ending.abort();
    };

    async function follow(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        try {
          for await (const _event of on.events({ signal })) renewing.note();
        } catch {
          // `useLink` says that the server does not answer.
        }
        await new Promise((resolve) => setTimeout(resolve, ASK_MS / 2));
        if (!signal.aborted) renewing.note();
      }
    }
    // `on` is made anew in each render, and always names the workspace `id`.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [id, queries, isVisible]);
}

function renew(queries: QueryClient, id: string): Promise<void> {
  return queries.invalidateQueries({ queryKey: ["workspace", id] });
}

/** Calls `run` once, some time after the first of several notes. */
function gather(run: () => Promise<void>): { note(): void; cancel(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    note: () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void run();
      }, GATHER_MS);
    },
    cancel: () => clearTimeout(timer),
  };
}
