import { type Query, type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { ChronicleError } from "../../../src/client/index.ts";
import type { RecentShape } from "../../../src/api/recent-api.ts";
import type { HeadChangeShape } from "../../../src/api/shapes.ts";
import { type Ticks, ticksKey } from "../timeline/tick-store.ts";
import { useApi, useWorkspaceApi } from "./api.ts";

/** The time, in milliseconds, between two checks whether the server answers. */
const ASK_MS = 4_000;
/** The time, in milliseconds, between two checks while the server does not answer. */
const ASK_LOST_MS = 1_000;

/**
 * The state of the connection between this tab and the server. `lost`: the server does not answer at present. `ended`:
 * the server answers, but no longer accepts the token.
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
    // A hidden tab must not keep the server's process running.
    refetchIntervalInBackground: false,
    retry: false,
  });
  return data;
}

function linkOf(error: unknown): Link {
  if (!(error instanceof ChronicleError)) return "lost";
  // A caller that sends too many requests is refused, but the server does answer.
  if (error.code === "RATE_LIMITED") return "live";
  return error.code === "UNAUTHENTICATED" || error.code === "FORBIDDEN" ? "ended" : "lost";
}

/** Returns true while this tab is visible. */
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
 * The last event of a workspace's history that the server has reported. With this value, `recentQuery` requests only
 * new lines, and accepts an answer that other pages got. The value is removed after the page itself has changed
 * something.
 */
export interface LiveHead {
  readonly seq: number;
  /**
   * The last event that may have changed older lines, for example by an undo. The older lines of an answer that
   * includes this event are still valid.
   */
  readonly changed: number;
}

export function liveHeadKey(id: string) {
  return ["head", id] as const;
}

/**
 * Keeps the shown data of a workspace up to date while the history grows. A hidden tab does not follow the history. A
 * browser opens only six connections to a server, and each tab that follows a history occupies one of them.
 */
export function useLiveWorkspace(id: string): void {
  const isVisible = useIsVisible();
  const on = useWorkspaceApi(id);
  const queries = useQueryClient();
  useEffect(() => {
    if (!isVisible) return undefined;
    const ending = new AbortController();
    const renewing = oneAtATime((changes) => renewBy(queries, id, changes));
    void follow(ending.signal);
    return () => {
      renewing.cancel();
      ending.abort();
    };

    async function follow(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        try {
          // The first change stands for all changes while the tab was hidden or the server did not answer.
          for await (const change of on.followHead({ signal })) renewing.note(change);
        } catch {
          // The error needs no message here, because `useLink` reports that the server does not answer.
        }
        await new Promise((resolve) => setTimeout(resolve, ASK_MS / 2));
      }
    }
    // `on` is made anew in each render, and always names the workspace `id`.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [id, queries, isVisible]);
}

/**
 * The kinds of records that only add lines to the timeline or continue the newest lines. Such a record changes no older
 * line.
 */
const ADDING: ReadonlySet<string> = new Set([
  ...(["file", "action", "session", "turn", "outside", "git", "user", "refused", "intent:write"] as const),
]);

const ANY = "any";
const OF_WORK = ["action", "session", "turn", "intent", "transaction", "conflict", "prune", "erase"];

/**
 * Maps the name of a query to the kinds of records that make its answer outdated. If a query is not in this map, any
 * record makes its answer outdated. A query with an empty list is expensive for the server, or does not depend on
 * events. Such a query is read again only when a person asks for it.
 */
const MADE_OLD_BY: Readonly<Record<string, readonly string[] | undefined>> = {
  ...{ recent: [ANY], ticks: [ANY], files: ["file"], history: ["file"], sessions: ["session"] },
  ...{
    recording: ["session", "workspace"],
    unrecorded: ["snapshot"],
    conflicts: ["conflict"],
    present: ["conflict", "file"],
  },
  ...{ changes: OF_WORK, action: ["action", "intent", "prune"], snapshots: ["snapshot", "prune"] },
  ...{ prunings: ["prune"], erasures: ["erase"], refusals: ["refused", "action"] },
  ...{ du: [], prune: [], "pruned actions": [], replicas: [], blame: [], palette: [], find: [] },
};

/** Reads again the shown data of a workspace that these changes of its history have made outdated. */
export async function renewBy(queries: QueryClient, id: string, changes: readonly HeadChangeShape[]): Promise<void> {
  const seq = changes.at(-1)?.seq ?? 0;
  const isUnknown = changes.some(({ records }) => records === null);
  const records = new Set(changes.flatMap((one) => one.records ?? []));
  const isGrown = !isUnknown && [...records].every((kind) => ADDING.has(kind));
  queries.setQueryData<LiveHead>(liveHeadKey(id), (before) => ({
    seq,
    changed: isGrown && before !== undefined ? before.changed : seq,
  }));
  const isTold = new Set<unknown>();
  const kinds = new Set([...records].map((kind) => kind.replace(/:.*/, "")));
  const isMeant = ([kind, of, what, detail]: readonly unknown[]): boolean => {
    if (of !== id || isTold.has(what)) return false;
    if (kind === "timeline") return !isGrown;
    if (kind !== "workspace" || isOfOneMoment(what, detail)) return false;
    const by = isUpToNow(what, detail) ? [ANY] : (MADE_OLD_BY[String(what)] ?? [ANY]);
    return by.length > 0 && (isUnknown || by.some((one) => one === ANY || kinds.has(one)));
  };
  if (takeTicks(queries, id, changes)) isTold.add("ticks");
  await renew(queries, isMeant, seq);
}

/**
 * Adds the ticks that came with the changes to the ticks that were read before. Returns false if the ticks must be read
 * with a request.
 */
function takeTicks(queries: QueryClient, id: string, changes: readonly HeadChangeShape[]): boolean {
  const key = ticksKey(id);
  const store = queries.getQueryData<Ticks>(key)?.store;
  if (store === undefined) return false;
  // After a compaction, the history begins with a later event.
  if (changes.some(({ records }) => records?.includes("compact") === true)) store.isOutdated = true;
  if (store.isOutdated) return false;
  for (const { after, seq, ticks } of changes) {
    if (ticks === null || store.head < after) return false;
    for (const piece of ticks) store.add(piece);
    store.head = Math.max(store.head, seq);
  }
  queries.setQueryData<Ticks>(key, { store });
  return true;
}

/** True for a comparison with the present state, which any change makes outdated. */
function isUpToNow(what: unknown, detail: unknown): boolean {
  const { to } = typeof detail === "object" && detail !== null ? (detail as { readonly to?: unknown }) : {};
  return what === "changes" && to === "now";
}

/** True for the files of a recorded moment, which never change. */
function isOfOneMoment(what: unknown, detail: unknown): boolean {
  const { at } = typeof detail === "object" && detail !== null ? (detail as { readonly at?: unknown }) : {};
  return what === "files" && typeof at === "string" && at.startsWith("seq:");
}

/**
 * Marks the shown data of a workspace as outdated, so that the data is read again. Called after the page itself has
 * changed something.
 */
export async function renewWorkspace(queries: QueryClient, id: string): Promise<void> {
  // The server has not yet reported the events of the page's own change, so an answer that other pages got may lack
  // them.
  queries.removeQueries({ queryKey: liveHeadKey(id), exact: true });
  const isMeant = ([kind, of, what]: readonly unknown[]): boolean =>
    of === id && (kind === "timeline" || (kind === "workspace" && MADE_OLD_BY[String(what)]?.length !== 0));
  await queries.invalidateQueries({ predicate: ({ queryKey }) => isMeant(queryKey) });
}

/** Reads again the data that event `seq` has made outdated. */
async function renew(queries: QueryClient, isMeant: (key: readonly unknown[]) => boolean, seq: number): Promise<void> {
  const predicate = ({ queryKey }: Pick<Query, "queryKey">): boolean => isMeant(queryKey);
  const begun = queries.getQueryCache().findAll({ predicate, fetchStatus: "fetching" });
  const ends = begun.flatMap(({ promise }) => promise ?? []);
  // A read that is under way is not cancelled. Otherwise, the data of a busy workspace would never be shown.
  await queries.invalidateQueries({ predicate }, { cancelRefetch: false });
  if (begun.length === 0) return;
  // A read that was already under way may have begun before the event was recorded.
  await Promise.allSettled(ends);
  const old = new Set(begun.filter((query) => !hasEvent(query, seq)).map(({ queryHash }) => queryHash));
  const isOld = ({ queryHash }: Pick<Query, "queryHash">): boolean => old.has(queryHash);
  await queries.invalidateQueries({ predicate: isOld }, { cancelRefetch: false });
}

/** Returns true if the answer of a query says that the answer includes event `seq`. */
function hasEvent({ queryKey: [, , what], state: { data } }: Query, seq: number): boolean {
  if (what === "recent") return ((data as RecentShape | undefined)?.seq ?? 0) >= seq;
  if (what !== "ticks" || data === undefined) return false;
  const { store } = data as Ticks;
  return store.head >= seq && !store.isOutdated;
}

/**
 * Returns `note`, which notes a change, and `cancel`, which ends everything. `run` is called with the noted changes,
 * one call at a time. The server ensures that there are not too many changes.
 */
function oneAtATime(run: (changes: readonly HeadChangeShape[]) => Promise<void>) {
  let noted: HeadChangeShape[] = [];
  let isRunning = false;
  let isOver = false;
  const go = async (): Promise<void> => {
    isRunning = true;
    try {
      while (noted.length > 0 && !isOver) await run(noted.splice(0));
    } finally {
      isRunning = false;
    }
  };
  return {
    note: (change: HeadChangeShape): void => {
      noted.push(change);
      if (!isRunning) void go();
    },
    cancel: (): void => {
      isOver = true;
      noted = [];
    },
  };
}
