import { fileURLToPath } from "node:url";
import type { StoreApi } from "../../api/store-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import type { Disk } from "../../disk/disk.ts";
import type { HookAnswer } from "../../hooks/answer-hook.ts";
import { retentionFiles } from "../../core/retention-config.ts";
import { HttpServer } from "../../server/http-server.ts";
import { OpenWorkspaces } from "../../server/open-workspaces.ts";
import { problemReply } from "../../server/problem-reply.ts";
import type { Route } from "../../server/route.ts";
import { agentProcess } from "./agent-process.ts";
import { isLater } from "./compare-versions.ts";
import { addDiagnostic } from "./diagnostics.ts";
import { FileNotes, KeptNotes } from "./file-notes.ts";
import { hookRoute } from "./hook-route.ts";
import { rememberCall } from "./last-call.ts";
import { ownFolder, ownUid, type RunFolder } from "./run-folder.ts";
import { openSocket, type ServerSocket } from "./server-socket.ts";

/** How often the process looks whether it is still wanted, at most, in milliseconds. */
const LOOK_MS = 1_000;
/** A workspace that was not used for so long is closed. */
const CLOSE_AFTER_MS = 120_000;
/** A session of which nothing was heard for so long is over: thirty days. */
const NOTES_MS = 30 * 86_400_000;
/** How often the time of an agent's last call is written down. */
const REMEMBER_MS = 10_000;

export interface ServeOptions {
  readonly store: StoreApi;
  readonly configFolder: string;
  readonly disk: Disk;
  readonly run: RunFolder;
  readonly version: string;
  /** Leave after so long without a request; 0: stay. */
  readonly idleMs: number;
  readonly onListening: () => void;
}

/** Why the process ended. */
export type Leaving = "idle" | "signal" | "replaced" | "newer version" | "changed code";

/** The one long-lived process of a store: answers hooks on a socket, keeps workspaces open, leaves when it is idle. */
export class StoreServer {
  readonly #options: ServeOptions;
  readonly #workspaces: OpenWorkspaces;
  readonly #http: HttpServer;
  readonly #remembered = new Map<string, number>();
  readonly #leaving = Promise.withResolvers<Leaving>();
  readonly #code: string;
  #socket: ServerSocket | undefined;

  constructor(options: ServeOptions) {
    this.#options = options;
    const { disk, store, run } = options;
    this.#workspaces = new OpenWorkspaces(store, {
      isThere: (id) => disk.lstat(`${store.home}/workspaces/${id}/workspace.json`) !== undefined,
      now: () => Date.now(),
      settingsOf: (workspace) => this.#settingsOf(workspace),
      onOpen: (workspace) => workspace.follow(),
    });
    const open = (folder: string, create: boolean) => this.#workspaces.open(folder, create);
    ownFolder(disk, run.folder, ownUid());
    const files = new FileNotes(disk, run.folder);
    files.removeOlder(Date.now() - NOTES_MS);
    const doors = {
      notes: new KeptNotes(files),
      open,
      ownerOf: (parent: number) => agentProcess(disk, parent),
    };
    const routes = [this.#health(), hookRoute(doors, (agent, answer) => this.#onHook(agent, answer))];
    this.#http = new HttpServer({
      routes,
      guard: (request) => this.#guard(request.headers["x-chronicle-version"]),
      onError: (error) => this.#diagnose(error instanceof Error ? (error.stack ?? error.message) : String(error)),
    });
    this.#code = this.#codeMark();
  }

  /** Serves until it is told to leave, or has a reason of its own. Every request that was taken is answered. */
  async serve(): Promise<Leaving> {
    const { disk, run } = this.#options;
    this.#socket = await openSocket(disk, this.#http, { run, uid: ownUid() });
    const timer = setInterval(() => this.#look(), Math.min(LOOK_MS, this.#options.idleMs / 4 || LOOK_MS));
    this.#options.onListening();
    try {
      return await this.#leaving.promise;
    } finally {
      clearInterval(timer);
      this.#socket.release();
      await this.#http.close();
      await this.#workspaces.close();
    }
  }

  leave(why: Leaving): void {
    this.#leaving.resolve(why);
  }

  #look(): void {
    const { idleMs } = this.#options;
    const idle = this.#http.idleMs(Date.now());
    if (idleMs > 0 && idle >= idleMs) this.leave("idle");
    else if (this.#socket?.isOurs() === false) this.leave("replaced");
    else if (this.#codeMark() !== this.#code) this.leave("changed code");
    else if (idle > 0) {
      this.#workspaces.closeIdle(CLOSE_AFTER_MS).catch((error: unknown) => this.#diagnose(String(error)));
    }
  }

  /** An installed program that was replaced has chunks that this process cannot load any more. */
  #codeMark(): string {
    const stat = this.#options.disk.lstat(fileURLToPath(import.meta.url));
    return stat === undefined ? "gone" : `${stat.ino} ${stat.mtimeNs}`;
  }

  #guard(client: string | string[] | undefined): ReturnType<typeof problemReply> | undefined {
    if (typeof client !== "string" || !isLater(client, this.#options.version)) return undefined;
    this.leave("newer version");
    return problemReply(426, "FORMAT_UNSUPPORTED", `this is Chronicle ${this.#options.version}, which leaves now`);
  }

  /** What others may have changed since a workspace was opened: what is tracked, and the files that say how much is kept. */
  async #settingsOf(workspace: WorkspaceApi): Promise<string> {
    const { disk, configFolder } = this.#options;
    const files = retentionFiles(configFolder, workspace.id).map((path) => {
      const stat = disk.lstat(path);
      return stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs}`;
    });
    return JSON.stringify([await workspace.config(), files]);
  }

  #health(): Route {
    const { version } = this.#options;
    return {
      method: "GET",
      path: "/healthz",
      maxBody: 0,
      handle: () =>
        Promise.resolve({
          status: 200,
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ ok: true, version, pid: process.pid }),
        }),
    };
  }

  #onHook(agent: string, answer: HookAnswer): void {
    const { disk, run, version } = this.#options;
    if (answer.problem !== undefined) this.#diagnose(`hook ${agent}: ${answer.problem}`);
    const now = Date.now();
    if (now - (this.#remembered.get(agent) ?? 0) < REMEMBER_MS) return;
    this.#remembered.set(agent, now);
    const event = answer.call?.kind ?? "not understood";
    rememberCall(disk, run.folder, agent, { at: new Date(now).toISOString(), event, version });
  }

  #diagnose(line: string): void {
    addDiagnostic(this.#options.disk, this.#options.run.folder, line);
  }
}
