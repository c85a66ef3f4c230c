import type { StoreApi } from "../../api/store-api.ts";
import type { SyncApi } from "../../api/sync-api.ts";
import { SYNC_ROWS } from "../../api/routes/rows/sync-rows.ts";
import type { Disk } from "../../disk/disk.ts";
import { Admission } from "../../server/callers/admission.ts";
import { makeApp } from "../../server/app.ts";
import { Authenticator } from "../../server/callers/authenticate.ts";
import { HttpServer, type ServerApp } from "../../server/http-server.ts";
import { DEFAULT_LIMITS } from "../../server/limits/limits.ts";
import { MemoryIdempotencyStore } from "../../server/answers/memory-idempotency-store.ts";
import { MemoryTokenStore } from "../../server/callers/token.ts";
import { OpenWorkspaces } from "../../server/callers/open-workspaces.ts";
import type { ServerRoute } from "../../server/answers/server-route.ts";
import { makeRunFolder, type RunFolder } from "../../daemon/run-folder.ts";
import { openSocket } from "../../daemon/server-socket.ts";

export interface SyncSocketOptions {
  readonly disk: Disk;
  readonly store: StoreApi;
  readonly syncs: SyncApi;
  readonly run: RunFolder;
  readonly uid: number;
  readonly version: string;
  readonly onError: (error: unknown) => void;
}

/**
 * Serves `/v1/syncs` on a Unix socket that only its owner can use. Through the socket, other processes control a sync
 * that this process runs. The store's server passes calls about the sync to this socket. Disposing the result closes
 * the socket. Throws `UNSAFE` if others can enter the folder of the socket, and system errors.
 */
export async function openSyncSocket(options: SyncSocketOptions): Promise<AsyncDisposable> {
  const { disk, run, uid, version, onError } = options;
  makeRunFolder(disk, run, uid);
  const now = (): number => Date.now();
  const server = new HttpServer({
    routes: [health(version)],
    // The store of tokens is empty, because there is no port.
    admission: new Admission(new Authenticator({ book: new MemoryTokenStore(), now }), { limits: DEFAULT_LIMITS, now }),
    app: (stopping) => appOf(options, stopping),
    onError,
    limits: DEFAULT_LIMITS,
  });
  const socket = await openSocket(disk, server, { run, uid });
  return {
    [Symbol.asyncDispose]: async () => {
      socket.release();
      await server.close();
    },
  };
}

function appOf({ store, syncs, version, onError }: SyncSocketOptions, stopping: AbortSignal): Promise<ServerApp> {
  return makeApp({
    ...{ store, version, stopping, routes: SYNC_ROWS, limits: DEFAULT_LIMITS, hidden: [] },
    workspaces: new OpenWorkspaces(store, { isThere: () => false, now: () => Date.now() }),
    defaultWorkspace: () => null,
    replies: new MemoryIdempotencyStore(),
    syncs: () => Promise.resolve(syncs),
    openapi: () => undefined,
    report: onError,
  });
}

function health(version: string): ServerRoute {
  const headers = { "content-type": "application/json", "cache-control": "no-store" };
  const body = JSON.stringify({ ok: true, version, pid: process.pid, stays: true });
  return {
    method: "GET",
    path: "/healthz",
    maxBody: 0,
    open: true,
    handle: () => Promise.resolve({ status: 200, headers, body }),
  };
}
