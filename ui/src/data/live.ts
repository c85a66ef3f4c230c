import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { ChronicleError } from "../../../src/client/index.ts";
import { useApi, useWorkspaceApi } from "./api.ts";

/** The time within which several events of a workspace lead to one request, in milliseconds. */
const GATHER_MS = 150;
/** The least time between two reads of what events have changed, in milliseconds. */
const REST_MS = 1_000;
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
    refetchInterval: ({ state: { data: link } }) => (link === "ended" ? false : link === "lost" ? ASK_LOST_MS : ASK_MS),
    // A forgotten tab does not keep the server's process.
    refetchIntervalInBackground: false,
    retry: false,
  });
  return data;
}

function linkOf(error: unknown): Link {
  if (!(error instanceof ChronicleError)) return "lost";
  // Whoever asks too often, or is in the way of others, still has a server.
  if (error.code === "RATE_LIMITED") return "live";
  return error.code === "UNAUTHENTICATED" || error.code === "FORBIDDEN" ? "ended" : "lost";
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
    let news = QUIET;
    const renewing = gather(async () => {
      const of = news;
      news = QUIET;
      await renewWorkspace(queries, id, of);
    });
    // What was recorded while the tab was hidden.
    news = { ...QUIET, hasConflict: true };
    renewing.note();
    void follow(ending.signal);
    return () => {
      renewing.cancel();
      ending.abort();
    };

    async function follow(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        try {
          for await (const { record, record_id } of on.events({ signal })) {
            news = {
              isBack: news.isBack || goesBack(record),
              hasConflict: news.hasConflict || record_id.startsWith("conflict:"),
            };
            renewing.note();
          }
        } catch {
          // `useLink` says that the server does not answer.
        }
        await new Promise((resolve) => setTimeout(resolve, ASK_MS / 2));
        // Events may have been missed.
        news = { ...news, hasConflict: true };
        if (!signal.aborted) renewing.note();
      }
    }
    // `on` is made anew in each render, and always names the workspace `id`.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [id, queries, isVisible]);
}

/** True for the record of an undo, a redo or a restore. */
function goesBack(record: unknown): boolean {
  const { kind } = typeof record === "object" && record !== null ? (record as { readonly kind?: unknown }) : {};
  return kind === "undo" || kind === "redo" || kind === "restore";
}

/** What costs the server much, or never changes by an event. It is read again when somebody asks for it. */
const NOT_RENEWED: ReadonlySet<unknown> = new Set(["du", "prune", "blame", "palette", "find"]);

/** What the events of a workspace were about. */
interface News {
  /** Something was undone, redone or restored, so that older lines of the timeline may say something else. */
  readonly isBack: boolean;
  /** A conflict was met or settled. */
  readonly hasConflict: boolean;
}

const QUIET: News = { isBack: false, hasConflict: false };
const ALL: News = { isBack: true, hasConflict: true };

/** Marks what is shown of a workspace as old, so that it is read again. */
export async function renewWorkspace(queries: QueryClient, id: string, news: News = ALL): Promise<void> {
  const isMeant = ([kind, of, what]: readonly unknown[]): boolean => {
    if (of !== id) return false;
    if (kind !== "workspace") return news.isBack && kind === "timeline";
    return what === "conflicts" ? news.hasConflict : !NOT_RENEWED.has(what);
  };
  // A read that is under way is not given up, or a busy workspace would never be shown.
  await queries.invalidateQueries({ predicate: ({ queryKey }) => isMeant(queryKey) }, { cancelRefetch: false });
}

/** Calls `run` soon after the first of several notes, one run at a time, and with a rest after each. */
function gather(run: () => Promise<void>): { note(): void; cancel(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isRunning = false;
  let isNoted = false;
  let isOver = false;
  const start = (ms: number): void => {
    timer ??= setTimeout(() => void once(), ms);
  };
  const once = async (): Promise<void> => {
    isRunning = true;
    isNoted = false;
    try {
      await run();
    } finally {
      isRunning = false;
      timer = undefined;
    }
    if (isNoted && !isOver) start(REST_MS);
  };
  return {
    note: () => {
      isNoted = true;
      if (!isRunning) start(GATHER_MS);
    },
    cancel: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
