import { keepPreviousData, queryOptions, useInfiniteQuery, useQuery, type UseQueryResult } from "@tanstack/react-query";
import { type ChronicleClient, ChronicleError } from "../../../src/client/index.ts";
import type { ListFilesOptions } from "../../../src/api/file-api.ts";
import type { ChangesShape } from "../../../src/api/action-shapes.ts";
import type { RecentOptions, RecentShape } from "../../../src/api/recent-api.ts";
import type { SyncShape } from "../../../src/api/sync-api.ts";
import type { WorkspaceApi } from "../../../src/api/workspace-api.ts";
import type * as shapes from "../../../src/api/shapes.ts";
import { useApi, useWorkspaceApi } from "./api.ts";
import { type LiveHead, liveHeadKey } from "./live.ts";
import { withNewer } from "./newer-lines.ts";
import type { WorkRef } from "./work-ref.ts";

// The keys of most queries begin with "store", or with "workspace" and an id. By the id, `live.ts` finds the queries of
// a workspace whose answers an event makes outdated.

export function useWorkspaces(): UseQueryResult<shapes.WorkspaceShape[]> {
  const { client } = useApi();
  return useQuery({
    queryKey: ["store", "workspaces"],
    queryFn: () => client.store.workspaces(),
    // While there is no workspace, a new user is probably waiting for the first one.
    refetchInterval: ({ state: { data } }) => (data?.length === 0 ? 2_000 : 10_000),
  });
}

/** Returns the workspace with this id or name, from the list of all workspaces. */
export function useWorkspaceShape(id: string): shapes.WorkspaceShape | undefined {
  return useWorkspaces().data?.find((one) => one.id === id || one.name === id);
}

/**
 * Returns the folders of a workspace, except the first. `mark` is the prefix of the paths in the folder. `path` is the
 * path of the folder on disk.
 */
export function useFurtherRoots(id: string): readonly { readonly mark: string; readonly path: string }[] {
  const on = useWorkspaceApi(id);
  const hasSeveral = (useWorkspaceShape(id)?.roots.length ?? 0) > 1;
  const { data } = useQuery({
    queryKey: ["roots", id],
    queryFn: async () => (await on.status()).roots,
    enabled: hasSeveral,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (data ?? []).flatMap((root) => (root.id === null ? [] : { mark: `@${root.id}:`, path: root.path }));
}

/** The time, in milliseconds, after which the home view reads again who is at work in a workspace. */
const AT_WORK_MS = 4_000;

export function recordingQuery(on: WorkspaceApi) {
  return queryOptions({
    queryKey: ["workspace", on.id, "recording"],
    queryFn: () => on.recording(),
    refetchInterval: AT_WORK_MS,
  });
}

export function useRecording(id: string): UseQueryResult<shapes.RecordingShape> {
  return useQuery({ ...recordingQuery(useWorkspaceApi(id)), refetchInterval: 15_000 });
}

/** The number up to which the home view counts conflicts. */
const MOST_COUNTED = 200;

export function conflictsQuery(on: WorkspaceApi) {
  return queryOptions({
    queryKey: ["workspace", on.id, "conflicts", "count"],
    queryFn: async () => (await on.conflicts({ limit: MOST_COUNTED })).length,
    refetchInterval: 30_000,
  });
}

export function replicasQuery(on: WorkspaceApi) {
  return queryOptions({
    queryKey: ["workspace", on.id, "replicas"],
    queryFn: () => on.replicas(),
    refetchInterval: 30_000,
    retry: false,
  });
}

/** The number of the newest lines from which the home view shows the latest work. */
export const LATELY = 60;

export function recentQuery(on: RecentSource, limit: number, options: RecentOptions) {
  return queryOptions({
    queryKey: ["workspace", on.id, "recent", limit, options],
    queryFn: ({ client, queryKey }) => {
      const head = client.getQueryData<LiveHead>(liveHeadKey(on.id));
      return recentNow(on, { limit, options, head, known: client.getQueryData<RecentShape>(queryKey) });
    },
    // `withNewer` already keeps the objects of unchanged lines. React Query would compare lines by position, but new
    // lines change the positions.
    structuralSharing: false,
  });
}

type RecentSource = Pick<WorkspaceApi, "id" | "recent">;

interface RecentAsked {
  readonly limit: number;
  readonly options: RecentOptions;
  readonly head: LiveHead | undefined;
  readonly known: RecentShape | undefined;
}

/**
 * The event after which new lines are read is rounded down to a multiple of this number. Pages that have read up to
 * different events then send the same request, and get the same answer.
 */
const SAME_AFTER = 64;

/** Reads the newest lines. If the history has only grown since the last read, reads only the new lines. */
async function recentNow(on: RecentSource, { limit, options, head, known }: RecentAsked): Promise<RecentShape> {
  if (head === undefined || known === undefined) {
    const all = await on.recent(limit, head === undefined ? options : { ...options, atLeast: head.seq });
    return known === undefined ? all : withNewer(known, all, { after: 0, limit });
  }
  const after = Math.floor(known.seq / SAME_AFTER) * SAME_AFTER;
  const shared = { ...options, atLeast: Math.max(head.seq, known.seq) };
  if (known.seq < head.changed || known.seq > head.seq || hasOpenBefore(known, after))
    return withNewer(known, await on.recent(limit, shared), { after: 0, limit });
  return withNewer(known, await on.recent(limit, { ...shared, after }), { after, limit });
}

/**
 * True if some open work has no event after event `after`. The line of open work can change without a new event, so a
 * request for new lines would miss this change.
 */
function hasOpenBefore({ items }: RecentShape, after: number): boolean {
  return items.some(({ open, to_seq: last }) => open === true && last <= after);
}

/**
 * Returns the newest `limit` lines of the workspace's history. While other filters load, the former lines stay on
 * screen.
 */
export function useRecent(id: string, limit: number, options: RecentOptions = {}): UseQueryResult<RecentShape> {
  const on = useWorkspaceApi(id);
  return useQuery({ ...recentQuery(on, limit, options), placeholderData: keepPreviousData });
}

/** Returns the changes of some work. For each path, the oldest change comes first. */
export function useChanges(id: string, work: WorkRef): UseQueryResult<ChangesShape> {
  const on = useWorkspaceApi(id);
  return useQuery({
    queryKey: ["workspace", id, "changes", work],
    queryFn: () => changesOf(on, work),
    placeholderData: keepPreviousData,
  });
}

async function changesOf(on: WorkspaceApi, work: WorkRef): Promise<ChangesShape> {
  if (work.select !== undefined) return on.changes(work.select, { renames: true });
  const { from, to } = work;
  const { changes } = await on.diff(from, to, { renames: true });
  return { selection: `${from} to ${to}`, actions: [], undone: "no", changes, ambiguous: [] };
}

/** Returns the text of a content. The text is read only once, because a hash always names the same content. */
export function useText(id: string, hash: string, size: number): UseQueryResult<FileText> {
  const on = useWorkspaceApi(id);
  return useQuery({
    queryKey: ["content", id, hash],
    queryFn: () => readText(on, hash),
    enabled: size <= LARGEST_TEXT,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}

/** The maximum length, in bytes, of a content that is compared or shown before a person asks for it. */
export const LARGEST_TEXT = 2 * 1024 * 1024;

export interface FileText {
  readonly text: string;
  /** True if the content has a NUL byte or is not UTF-8. `text` is then empty. */
  readonly isBinary: boolean;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

async function readText(on: WorkspaceApi, hash: string): Promise<FileText> {
  if (hash === "") return { text: "", isBinary: false, bytes: new Uint8Array() };
  const blob = await on.blob(hash);
  const bytes = new Uint8Array(blob.size);
  let at = 0;
  for await (const piece of blob.pieces()) {
    bytes.set(piece, at);
    at += piece.length;
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes("\0") ? { text: "", isBinary: true, bytes } : { text, isBinary: false, bytes };
  } catch {
    return { text: "", isBinary: true, bytes };
  }
}

export function useIterations(id: string, path: string): UseQueryResult<shapes.IterationShape[]> {
  const on = useWorkspaceApi(id);
  return useQuery({ queryKey: ["workspace", id, "history", path], queryFn: () => on.history(path) });
}

export function useFiles(id: string, options: ListFilesOptions) {
  const on = useWorkspaceApi(id);
  return useQuery({
    queryKey: ["workspace", id, "files", options],
    queryFn: () => on.files(options),
    placeholderData: keepPreviousData,
  });
}

/** The number of conflicts that one request reads. */
const CONFLICTS = 200;

/** Returns the first open conflicts of a workspace. `fetchNextPage` reads more of them. */
export function useConflicts(id: string) {
  const on = useWorkspaceApi(id);
  return useInfiniteQuery({
    queryKey: ["workspace", id, "conflicts", "open"],
    queryFn: ({ pageParam: after }) => on.conflicts({ limit: CONFLICTS, ...(after === undefined ? {} : { after }) }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => (page.length < CONFLICTS ? undefined : page.at(-1)?.id),
  });
}

export function useSessions(id: string): UseQueryResult<shapes.SessionShape[]> {
  const on = useWorkspaceApi(id);
  return useQuery({ queryKey: ["workspace", id, "sessions"], queryFn: () => on.sessions() });
}

/**
 * Returns the syncs of the store. The list is empty if the server refuses it to the caller, because only the owner of
 * the store is allowed to control syncs.
 */
export function useSyncs(): UseQueryResult<readonly SyncShape[]> {
  const { client } = useApi();
  return useQuery({
    queryKey: ["store", "syncs"],
    queryFn: async (): Promise<readonly SyncShape[]> => {
      try {
        return await client.syncs.list();
      } catch (error) {
        if (error instanceof ChronicleError && error.code === "FORBIDDEN") return [];
        throw error;
      }
    },
    refetchInterval: 10_000,
    retry: false,
  });
}

/** Returns the query that reads who the caller is. The query is used once, before any view is shown. */
export function meQuery(client: ChronicleClient) {
  return queryOptions({
    queryKey: ["me"],
    queryFn: () => client.me(),
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}
