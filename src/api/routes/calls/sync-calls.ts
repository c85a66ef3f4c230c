import type { SyncDecision, SyncResolution, SyncStart } from "../../sync-api.ts";
import { defineCall } from "../row.ts";

// The parameter `sync` is the sync's id, a unique prefix of the id, or its folder.

const SYNC = "/v1/syncs/{sync}";

export const startSync = defineCall({
  operation: "startSync",
  method: "POST",
  path: "/v1/syncs",
  reply: { json: "SyncShape", status: 201 },
  ask: ({ filterTo, filterFrom, editorFiles, debounceMs, withProtected, ...rest }: SyncStart) => ({
    body: {
      ...rest,
      filter_to: filterTo,
      filter_from: filterFrom,
      editor_files: editorFiles,
      debounce_ms: debounceMs,
      with_protected: withProtected,
    },
  }),
});

export const listSyncs = defineCall({
  operation: "listSyncs",
  method: "GET",
  path: "/v1/syncs",
  reply: { pageOf: "SyncShape" },
  ask: () => ({}),
});

export const syncStatus = defineCall({
  operation: "syncStatus",
  method: "GET",
  path: SYNC,
  reply: { json: "SyncShape" },
  ask: (sync: string) => ({ params: { sync } }),
});

export const stopSync = defineCall({
  operation: "stopSync",
  method: "DELETE",
  path: SYNC,
  reply: { json: "SyncShape" },
  ask: (sync: string) => ({ params: { sync } }),
});

export const pauseSync = defineCall({
  operation: "pauseSync",
  method: "POST",
  path: `${SYNC}/pause`,
  reply: { json: "SyncShape" },
  ask: (sync: string) => ({ params: { sync } }),
});

export const resumeSync = defineCall({
  operation: "resumeSync",
  method: "POST",
  path: `${SYNC}/resume`,
  reply: { json: "SyncShape" },
  ask: (sync: string, { accept }: { readonly accept?: SyncDecision } = {}) => ({ params: { sync }, body: { accept } }),
});

export const flushSync = defineCall({
  operation: "flushSync",
  method: "POST",
  path: `${SYNC}/flush`,
  reply: { json: "SyncShape" },
  ask: (sync: string, { timeoutMs, signal }: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {}) => ({
    params: { sync },
    body: { timeout_ms: timeoutMs },
    signal,
  }),
});

export const syncConflicts = defineCall({
  operation: "syncConflicts",
  method: "GET",
  path: `${SYNC}/conflicts`,
  reply: { pageOf: "ConflictShape" },
  ask: (sync: string) => ({ params: { sync } }),
});

export const resolveSync = defineCall({
  operation: "resolveSync",
  method: "POST",
  path: `${SYNC}/resolve`,
  reply: { json: "SyncResolvedShape" },
  ask: (sync: string, path: string, { keep, content, from }: SyncResolution) => ({
    params: { sync },
    body: {
      path,
      keep,
      content_b64: content === undefined ? undefined : base64Of(content),
      from: from === undefined ? undefined : { current_hash: from.current_hash, undo_hash: from.undo_hash },
    },
  }),
});

/** Returns bytes in Base64. Uses `btoa`, because browsers have no `Buffer`. */
function base64Of(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

export const syncEvents = defineCall({
  operation: "syncEvents",
  method: "GET",
  path: "/v1/sync-events",
  reply: { events: "SyncEventShape" },
  ask: (sync: string | undefined, signal: AbortSignal) => ({ query: { sync }, signal }),
});
