import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import type { RecentItem, RecentOptions } from "../../../src/api/recent-api.ts";
import { useWorkspaceApi } from "../data/api.ts";
import { keyOf } from "../data/newer-lines.ts";
import { useRecent } from "../data/queries.ts";

/** The number of lines that are read with one request. */
const PAGE = 300;
/** The number of newest lines that are read again after each event. */
const NEWEST = 60;

interface Items {
  /** The lines, newest first; `undefined` until the first lines are read. */
  readonly items: readonly RecentItem[] | undefined;
  readonly error: Error | null;
  /** True while the items are still the lines for the former filters. */
  readonly isOld: boolean;
  readonly hasOlder: boolean;
  readonly isLoading: boolean;
  readonly loadOlder: () => void;
  readonly again: () => void;
}

/**
 * Returns the lines of the history, in pages. The newest lines are read again after each event. Older lines stay as
 * they were read, until something is undone, redone or restored (`renewWorkspace`).
 */
export function useItems(workspace: string, options: RecentOptions): Items {
  const on = useWorkspaceApi(workspace);
  const queries = useQueryClient();
  const key = useMemo(() => ["timeline", workspace, options], [workspace, options]);
  const live = useRecent(workspace, NEWEST, options);
  const pages = useInfiniteQuery({
    queryKey: key,
    initialPageParam: undefined as number | undefined,
    queryFn: async ({ pageParam: before }) =>
      (await on.recent(PAGE, { ...options, ...(before === undefined ? {} : { before }) })).items,
    getNextPageParam: (last) => (last.length < PAGE ? undefined : last.at(-1)?.to_seq),
    staleTime: Number.POSITIVE_INFINITY,
    // The newest lines are shown before the first page is read, because the server reads them in a tenth of the time
    // that it needs for a page.
    enabled: live.data !== undefined,
  });
  const newest = live.isPlaceholderData ? undefined : live.data?.items;
  const older = useMemo(() => pages.data?.pages.flat(), [pages.data]);
  const items = useMemo(() => merged(newest, older), [newest, older]);
  const isApart = newest !== undefined && older !== undefined && areApart(newest, older);
  useEffect(() => {
    if (isApart) void queries.invalidateQueries({ queryKey: key });
  }, [key, isApart, queries]);
  const { hasNextPage, isFetching, fetchNextPage } = pages;
  return {
    items: items ?? live.data?.items,
    error: live.error ?? pages.error,
    isOld: live.isPlaceholderData,
    hasOlder: hasNextPage,
    isLoading: isFetching,
    loadOlder: () => {
      if (hasNextPage && !isFetching) void fetchNextPage();
    },
    again: () => void Promise.all([live.refetch(), pages.refetch()]),
  };
}

/** Returns the newest lines and, below them, the older lines that are not among them. */
function merged(
  newest: readonly RecentItem[] | undefined,
  older: readonly RecentItem[] | undefined,
): readonly RecentItem[] | undefined {
  if (newest === undefined || older === undefined) return newest ?? older;
  const known = new Set(newest.map(keyOf));
  const end = newest.at(-1)?.to_seq ?? Number.POSITIVE_INFINITY;
  return [...newest, ...older.filter((one) => one.to_seq <= end && !known.has(keyOf(one)))];
}

/**
 * True if lines are possibly missing between the two lists, because more new lines came at once than are read again.
 */
function areApart(newest: readonly RecentItem[], older: readonly RecentItem[]): boolean {
  const end = newest.at(-1);
  return newest.length >= NEWEST && end !== undefined && older.length > 0 && (older[0]?.to_seq ?? 0) < end.to_seq;
}
