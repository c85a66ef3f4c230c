import type { Socket } from "node:net";
import { join } from "node:path";
import { type OtherIssuer, Authenticator } from "../server/callers/authenticate.ts";
import type { OidcOptions } from "../server/callers/oidc.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { wasMoved } from "../core/tree/moved-folder.ts";
import { retentionFiles } from "../core/records/retention.ts";
import { Admission } from "../server/callers/admission.ts";
import { tcpListener } from "../server/callers/listener.ts";
import { HttpServer, type ServerApp } from "../server/http-server.ts";
import type { Gateway } from "../server/gateway/gateway.ts";
import { type Metrics, RequestTally } from "../server/limits/metrics.ts";
import { DEFAULT_LIMITS, type ServerLimits } from "../server/limits/limits.ts";
import { OpenWorkspaces } from "../server/callers/open-workspaces.ts";
import { makeProblem, problemReply } from "../server/answers/problem.ts";
import type { ServerRoute, ServerReply } from "../server/answers/server-route.ts";
import { FileTokenStore } from "./file-token-store.ts";
import { HostedFolder, WatchedFolders } from "./watched-folders.ts";
import { ServedPage } from "./served-page.ts";
import { ServedReplicas, ServedSyncs } from "./served-replicas.ts";
import { OF_CALLER, OF_REPLICA, ServerDiagnostics } from "./diagnostics.ts";
import { whoAnswers } from "./ask-server.ts";
import { ClientRuns } from "./client-runs.ts";
import type { CommandAnswer, RunReport } from "./command-call.ts";
import { codeMark } from "./code-mark.ts";
import { commandRoutes } from "./command-endpoint.ts";
import { guardedOf } from "../hooks/refuse-persons-commands.ts";
import { HookEndpoint } from "./hook-endpoint.ts";
import { programMark } from "./hook-image.ts";
import { connectionOwner, isForeign } from "./connection-owner.ts";
import { DiskPageFiles } from "./page-files.ts";
import { openApiPath, pageFolder } from "./program-paths.ts";
import { ownFolder, ownUid, readSmall, writeSmall } from "./run-folder.ts";
import type { PortPlan, ServeOptions } from "./serve-options.ts";
import { ProcessLoad } from "./process-load.ts";
import { StoreHealth, type StoreTrouble } from "./store-health.ts";
import { openSocket, type ServerSocket } from "./server-socket.ts";
import { lazily } from "../util/lazily.ts";
import { optional } from "../util/optional.ts";

/** The maximum interval of the regular checks, in milliseconds. */
const LOOK_MS = 1_000;

/** The default of `ServeOptions.watchMost`. */
const WATCH_MOST = 32;

/**
 * The time, in milliseconds, after which an unused workspace is closed. Applies to a process that keeps running even
 * when it is idle. A process that ends when it is idle keeps workspaces open for its whole idle time, so that the next
 * command finds them open.
 */
const CLOSE_AFTER_MS = 120_000;

/** The reason why the process ends. */
type Leaving = "idle" | "signal" | "replaced" | "newer version" | "changed code";

/**
 * The long-lived process of a store. It answers hooks and clients, and keeps workspaces open. It ends after an idle
 * time of `idleMs`, unless `idleMs` is 0.
 */
export class StoreServer {
  readonly #options: ServeOptions;
  readonly #limits: ServerLimits;
  readonly #workspaces: OpenWorkspaces;
  readonly #http: HttpServer;
  readonly #leaving = Promise.withResolvers<Leaving>();
  readonly #code: string;
  readonly #hosted: HostedFolder | undefined;
  readonly #watched: WatchedFolders | undefined;
  readonly #syncs: ServedSyncs | undefined;
  readonly #replicas: ServedReplicas | undefined;
  readonly #page: ServedPage;
  readonly #tally = new RequestTally();
  readonly #runs: ClientRuns;
  readonly #settledFolder = Promise.withResolvers<void>();
  readonly #diagnostics: ServerDiagnostics;
  readonly #health: StoreHealth;
  readonly #load: ProcessLoad;
  #gateway: Gateway | undefined;
  #socket: ServerSocket | undefined;
  #isFolderSettled = false;
  #isReclaiming = false;
  #hosting: Promise<void> = Promise.resolve();
  #leavesSyncs = false;

  constructor(options: ServeOptions) {
    this.#options = options;
    const { disk, store, run, version, folder, idleMs } = options;
    this.#load = new ProcessLoad(disk);
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    const { onUnwritten: say } = options;
    this.#diagnostics = new ServerDiagnostics({ disk, folder: run.folder, ...optional({ say }) });
    this.#health = new StoreHealth({ disk, home: store.home, onHealed: (before) => this.#onHealed(before) });
    this.#workspaces = new OpenWorkspaces(store, {
      isThere: (id) => disk.lstat(`${store.home}/workspaces/${id}/workspace.json`) !== undefined,
      now: () => Date.now(),
      settingsOf: (workspace) => this.#settingsOf(workspace),
      onOpen: (workspace) => this.#follow(workspace),
      onError: (error) => this.#onError(error),
    });
    this.#hosted =
      folder === undefined ? undefined : new HostedFolder({ store, disk, workspaces: this.#workspaces, folder });
    this.#runs = new ClientRuns(disk);
    this.#syncs = this.#servedSyncs();
    const replicas = this.#servedReplicas();
    this.#replicas = replicas;
    this.#watched = idleMs === 0 ? this.#watching() : undefined;
    ownFolder(disk, run.folder, ownUid());
    const hooks = new HookEndpoint({
      ...{ disk, version, workspaces: this.#workspaces },
      folder: run.folder,
      guarded: guardedOf({ home: store.home, configFolder: options.configFolder, userHome: options.userHome }),
      diagnose: (line) => this.#diagnose(line),
    });
    this.#page = new ServedPage({
      files: options.page ?? new DiskPageFiles(disk, pageFolder()),
      listen: (port) =>
        this.#listenOn({ place: { host: "127.0.0.1", port }, hosts: ["127.0.0.1"], sharedWith: [], page: true }),
      lastPort: lastPagePort(disk, run.folder),
      isForeign: (connection) => isForeign(connectionOwner(disk, connection)),
      report: (line, error) => this.#report(line, error),
    });
    const health = ["/healthz", "/readyz"].map((path) => this.#healthRoute(path));
    this.#http = new HttpServer({
      routes: [...health, this.#metricsRoute(), hooks.route, ...this.#commandRoutes(), ...this.#page.routes],
      tally: this.#tally,
      guard: (request) => this.#guard(request.headers["x-chronicle-version"]),
      admission: this.#admission(),
      app: (stopping) => this.#loadApp(stopping),
      ...(replicas === undefined ? {} : { replicas: (socket: Socket) => this.#takeReplica(replicas, socket) }),
      onError: (error) => this.#onError(error),
      report: (line, error) => this.#report(line, error),
      limits: this.#limits,
    });
    this.#code = codeMark(this.#options.disk);
  }

  /**
   * Listens on the socket and the ports until the process is to end. Then answers all accepted requests, and resolves
   * to the reason for the end. Rejects if the process cannot listen.
   */
  async serve(): Promise<Leaving> {
    const { disk, run, idleMs, onListening } = this.#options;
    this.#socket = await openSocket(disk, this.#http, { run, uid: ownUid() });
    const timer = setInterval(() => this.#look(), Math.min(LOOK_MS, idleMs / 4 || LOOK_MS));
    try {
      if (this.#options.ports.some(({ page }) => page === true)) this.#page.check();
      onListening(await this.#listenOnPorts(), () => this.#page.newCode());
      // A process that keeps running when it is idle expects clients, so the app is loaded before the first request.
      if (idleMs === 0) this.#http.warmUp().catch((error: unknown) => this.#onError(error));
      this.#hosting = this.#host();
      this.#hosting.then(() => this.#watched?.keepUp()).catch((error: unknown) => this.#onError(error));
      this.#syncs?.takeUp().catch((error: unknown) => this.#onError(error));
      const left = await this.#leaving.promise;
      await this.#hosting;
      return left;
    } finally {
      clearInterval(timer);
      this.#socket?.release();
      await this.#http.close();
      this.#runs.giveUp();
      // The syncs are counted after the last requests, because a request may have started a sync. They are counted
      // before `close`, because closed syncs cannot be counted.
      this.#leavesSyncs = this.#runsSyncs;
      await this.#syncs?.close();
      this.#hosted?.close();
      await this.#watched?.close();
      await this.#workspaces.close();
      this.#load[Symbol.dispose]();
    }
  }

  leave(why: Leaving): void {
    this.#leaving.resolve(why);
  }

  async #listenOnPorts(): Promise<string[]> {
    const urls: string[] = [];
    let number: number | undefined;
    for (const { optional, ...plan } of this.#options.ports) {
      const { place } = plan;
      const scheme = place.tls === undefined ? "http" : "https";
      // If the system chooses the port, both loopback addresses use the same port.
      const port = optional === true ? (number ?? place.port) : place.port;
      try {
        number = await this.#listenOn({ ...plan, place: { ...place, port } });
      } catch (error) {
        if (optional === true) continue;
        throw error;
      }
      urls.push(`${scheme}://${place.host.includes(":") ? `[${place.host}]` : place.host}:${number}`);
    }
    return urls;
  }

  async #listenOn({ place, hosts, sharedWith, page }: PortPlan): Promise<number> {
    const scheme = place.tls === undefined ? "http" : "https";
    const offered = page === true ? { page: this.#page.tokens } : {};
    const number = await this.#http.listenOn(place, (port) =>
      tcpListener({ scheme, port, hosts, sharedWith, ...offered }),
    );
    const isOwn = scheme === "http" && place.host === "127.0.0.1" && hosts.includes(place.host);
    if (page === true && isOwn) this.#page.note(number);
    return number;
  }

  #servedSyncs(): ServedSyncs | undefined {
    const { store, disk, syncs } = this.#options;
    if (syncs === undefined) return undefined;
    const onError = (error: unknown): void => this.#onError(error);
    return new ServedSyncs({ disk, home: store.home, load: () => syncs(onError), onError });
  }

  /** True if this process had active syncs when it ended. The next process should continue them. */
  get leavesSyncs(): boolean {
    return this.#leavesSyncs;
  }

  get #runsSyncs(): boolean {
    return (this.#syncs?.active ?? 0) > 0;
  }

  #watching(): WatchedFolders {
    const { store, disk, watchMost: most = WATCH_MOST, onWatching } = this.#options;
    return new WatchedFolders({
      ...{ store, disk, most, workspaces: this.#workspaces },
      except: () => this.#hosted?.workspace?.id,
      onError: (error) => this.#onError(error),
      ...optional({ onChosen: onWatching }),
    });
  }

  async #host(): Promise<void> {
    const { onFolder } = this.#options;
    try {
      const hosted = await this.#hosted?.open();
      if (hosted !== undefined) onFolder?.(hosted);
    } catch (error) {
      this.#health.note(error);
      onFolder?.(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.#isFolderSettled = true;
      this.#settledFolder.resolve();
    }
  }

  #takeReplica(replicas: ServedReplicas, socket: Socket): void {
    this.#http.warmUp().then(
      () => replicas.take(socket),
      (error: unknown) => {
        this.#onError(error);
        socket.destroy();
      },
    );
  }

  #servedReplicas(): ServedReplicas | undefined {
    const { store, replicaAcceptor: open } = this.#options;
    if (open === undefined) return undefined;
    return new ServedReplicas({
      ...{ store, limits: this.#limits, workspaces: this.#workspaces },
      acceptor: () => open((error) => this.#onReplicaError(error)),
      defaultWorkspace: () => this.#settledFolder.promise.then(() => this.#hosted?.workspace?.id),
      report: (line) => this.#diagnose(line),
    });
  }

  /**
   * Watches the folder of a workspace. A process that keeps running when it is idle also records what people edit. A
   * process that ends when it is idle only notes which paths have changed.
   */
  async #follow(workspace: WorkspaceApi): Promise<void> {
    if (workspace.path === "") return;
    try {
      await workspace.follow({
        record: this.#options.idleMs === 0,
        onError: (error) => (wasMoved(error) ? this.#workspaces.giveUpMoved(workspace, error) : this.#onError(error)),
      });
    } catch (error) {
      // An archived workspace is not followed.
      if (!(error instanceof ChronicleError && error.code === "READ_ONLY")) throw error;
    }
  }

  #admission(): Admission {
    const { disk, configFolder, operatorToken, oidc } = this.#options;
    const now = (): number => Date.now();
    const book = new FileTokenStore(disk, configFolder, now);
    const known = operatorToken === undefined ? {} : { operatorToken };
    const others = oidc === undefined ? {} : { others: lazyIssuer({ ...oidc, now }) };
    return new Admission(new Authenticator({ book, ...known, ...others, now }), { limits: this.#limits, now });
  }

  /**
   * Loads the app: the code that answers the requests of clients. Called on first use, because hooks do not need the
   * app.
   */
  async #loadApp(stopping: AbortSignal): Promise<ServerApp> {
    const [{ makeApp }, { ROUTES }, { FileIdempotencyStore }, gatewayModule] = await Promise.all([
      import("../server/app.ts"),
      import("../api/routes/table.ts"),
      import("./file-idempotency-store.ts"),
      import("../server/gateway/gateway.ts"),
    ]);
    const { store, disk, run, version, configFolder, idleMs } = this.#options;
    const shared = {
      ...{ stopping, workspaces: this.#workspaces, limits: this.#limits },
      hidden: [store.home, configFolder],
      report: (line: string, error?: unknown) => this.#report(line, error),
    };
    const gateway = new gatewayModule.Gateway(shared);
    const syncs = this.#syncs;
    this.#gateway = gateway;
    await this.#replicas?.open(stopping);
    if (idleMs === 0) await this.#loadMetrics();
    return makeApp({
      ...{ ...shared, store, version, routes: ROUTES, tally: this.#tally },
      defaultWorkspace: () => this.#hosted?.workspace?.id ?? null,
      isStarting: () => !this.#isFolderSettled,
      replies: new FileIdempotencyStore(disk, join(run.folder, "replies.ndjson")),
      openapi: () => this.#openApi(),
      onRefused: (line) => this.#diagnostics.note(`${OF_CALLER}${line}`),
      ...(syncs === undefined ? {} : { syncs: () => syncs.get(), syncOf: (id) => syncs.find(id) }),
      upgrade: (request, socket, visit) => {
        if (this.#replicas?.upgrade(request, socket, visit) !== true) gateway.upgrade(request, socket, visit);
      },
    });
  }

  readonly #loadMetrics = lazily(async (): Promise<Metrics> => {
    const { store, recorded = { commits: 0, events: 0 } } = this.#options;
    const { Metrics: Loaded } = await import("../server/limits/metrics.ts");
    return new Loaded(this.#tally, {
      openWorkspaces: () => this.#workspaces.size,
      gateway: () => this.#gateway?.load ?? { connections: 0, subscriptions: 0 },
      replicas: async () => (await this.#replicas?.load()) ?? { replicas: 0, lag: 0 },
      recorded: () => recorded,
      errors: () => this.#diagnostics.count,
      storedBytes: async () => (await store.du({ kept: false })).total_bytes,
    });
  });

  #metricsRoute(): ServerRoute {
    return {
      method: "GET",
      path: "/metrics",
      maxBody: 0,
      ...(this.#options.metricsPublic === true ? { open: true } : { forOperators: true }),
      handle: async () => {
        const metrics = await this.#loadMetrics();
        const headers = { "content-type": metrics.contentType, "cache-control": "no-store" };
        return { status: 200, headers, body: await metrics.text() };
      },
    };
  }

  #openApi(): Buffer | undefined {
    const text = readSmall(this.#options.disk, openApiPath());
    return text === undefined ? undefined : Buffer.from(text);
  }

  /** Runs the regular checks. An error of a check does not end the process, because the next check may succeed. */
  #look(): void {
    try {
      this.#lookAtAll();
    } catch (error) {
      this.#diagnostics.addOnce(wordsOf(error));
    }
  }

  #lookAtAll(): void {
    const { idleMs } = this.#options;
    const again = (error: unknown): void => this.#onTimerError(error);
    if (this.#health.isTroubled) this.#health.look();
    this.#runs.look();
    const isRecording = this.#runs.size > 0;
    const idle = this.#runsSyncs || isRecording ? 0 : this.#http.idleMs(Date.now());
    if (idleMs > 0 && idle >= idleMs) this.leave("idle");
    else if (this.#socket?.isOurs() === false) this.#yieldOrReclaim().catch(again);
    else if (!isRecording && this.#isCodeChanged()) this.leave("changed code");
    else this.#keepUp().catch(again);
  }

  /** Called when the store can be written again. */
  #onHealed({ reason }: StoreTrouble): void {
    this.#diagnostics.addOnce(`the store takes writes again; it did not before: ${reason}`);
    const onError = (error: unknown): void => this.#onError(error);
    if (this.#hosted !== undefined && this.#hosted.workspace === undefined) {
      this.#hosting = this.#hosting.then(() => this.#host());
    }
    this.#watched?.lookAgain();
    this.#syncs?.takeUp().catch(onError);
  }

  /**
   * Called when the socket's path no longer leads to this process. This process either ends, or takes the path again. A
   * process that is to keep running (`idleMs` is 0) ends only if the other process is to keep running, too. Any other
   * process at the path was started while this process was too busy to answer. The other process ends when it detects
   * that it has lost the path.
   */
  async #yieldOrReclaim(): Promise<void> {
    const { disk, run, idleMs, version } = this.#options;
    if (idleMs === 0 && (await whoAnswers(run.address, version))?.stays !== true) {
      if (this.#isReclaiming || this.#socket?.isOurs() !== false) return;
      this.#isReclaiming = true;
      try {
        this.#socket = await openSocket(disk, this.#http, { run, uid: ownUid() });
      } finally {
        this.#isReclaiming = false;
      }
      return;
    }
    this.leave("replaced");
  }

  #isCodeChanged(): boolean {
    return codeMark(this.#options.disk) !== this.#code;
  }

  async #keepUp(): Promise<void> {
    const { idleMs } = this.#options;
    await this.#workspaces.closeIdle(idleMs > 0 ? idleMs : CLOSE_AFTER_MS);
    if (this.#load.isTooMuch && (await this.#workspaces.closeOldest())) this.#load.noteRelief();
    await this.#hosted?.keepUp();
    await this.#watched?.keepUp();
  }

  #guard(client: string | string[] | undefined): ServerReply | undefined {
    if (typeof client !== "string" || !isLater(client, this.#options.version)) return undefined;
    this.leave("newer version");
    const detail = `this server is Chronicle ${this.#options.version}, and ends now for your newer version`;
    return problemReply(makeProblem(426, "FORMAT_UNSUPPORTED", detail));
  }

  /**
   * Returns a text that changes when another process changes the settings of a workspace: its configuration, or its
   * retention files.
   */
  async #settingsOf(workspace: WorkspaceApi): Promise<string> {
    const { disk, configFolder } = this.#options;
    const files = retentionFiles(configFolder, workspace.id).map((path) => {
      const stat = disk.lstat(path);
      return stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs}`;
    });
    return JSON.stringify([await workspace.config(), files]);
  }

  #commandRoutes(): readonly ServerRoute[] {
    const { disk, version, perform } = this.#options;
    if (perform === undefined) return [];
    // The mark is computed for each call, because the mark can change while the program stays the same. A new hard link
    // to the hook's file changes the file's ctime, for instance.
    const program = (): string => (this.#isCodeChanged() ? "" : programMark(disk));
    const runs = this.#runs;
    const progress = new Map<string, string>();
    const host = { workspaces: this.#workspaces, runs, progress, onError: (error: unknown) => this.#onError(error) };
    const ended = (report: RunReport): Promise<CommandAnswer> => runs.ended(report);
    return commandRoutes({ version, program, perform: (call) => perform(call, host), progress, ended });
  }

  #healthRoute(path: string): ServerRoute {
    const { version, idleMs } = this.#options;
    return {
      method: "GET",
      path,
      maxBody: 0,
      open: true,
      handle: ({ isOwner }) => {
        const trouble = path === "/healthz" ? undefined : this.#unready();
        const ok = trouble === undefined;
        const who = isOwner ? { version, pid: process.pid, stays: idleMs === 0 } : {};
        return Promise.resolve({
          status: ok ? 200 : 503,
          headers: { "content-type": "application/json", "cache-control": "no-store" },
          body: JSON.stringify({ ok, ...who, ...trouble }),
        });
      },
    };
  }

  /**
   * Returns why the store is not ready; `undefined` if it is ready. The reason names no paths, because anybody may ask
   * for it.
   */
  #unready(): { readonly reason: string; readonly errno?: string } | undefined {
    const { disk, store } = this.#options;
    const trouble = this.#health.look();
    if (trouble !== undefined) return { reason: trouble.reason, errno: trouble.errno };
    return disk.lstat(store.home)?.kind === "dir" ? undefined : { reason: "the store's folder is not there" };
  }

  /** Notes an uncaught error. The process continues. */
  noteUncaught(error: unknown): void {
    this.#onError(error);
  }

  #onError(error: unknown): void {
    this.#report(wordsOf(error), error);
  }

  #onTimerError(error: unknown): void {
    this.#health.note(error);
    this.#diagnostics.addOnce(wordsOf(error));
  }

  #report(line: string, error: unknown): void {
    this.#health.note(error);
    this.#diagnose(line);
  }

  /**
   * Adds an error to the diagnostics. An error that a replica has caused gets the prefix `OF_REPLICA`, and does not
   * affect the health of the store.
   */
  #onReplicaError(error: unknown): void {
    if (!(error instanceof ChronicleError) || error.data["replica"] === undefined) return this.#onError(error);
    this.#diagnose(`${OF_REPLICA}${error.message}${error.hint === undefined ? "" : ` (${error.hint})`}`);
  }

  #diagnose(line: string): void {
    this.#diagnostics.add(line);
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** True if version `a` (`1.2.3`) is later than `b`. Anything after `-` or `+` is ignored. */
function isLater(a: string, b: string): boolean {
  const [left, right] = [a, b].map((one) => (/^\d+(\.\d+)*/.exec(one)?.[0] ?? "0").split(".").map(Number));
  for (let at = 0; at < 3; at += 1) {
    const difference = (left?.[at] ?? 0) - (right?.[at] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return false;
}

/** Returns an issuer of tokens whose code is loaded only when the first token is to be checked. */
function lazyIssuer(options: OidcOptions): OtherIssuer {
  const issuer = lazily(async () => (await import("../server/callers/oidc.ts")).oidcIssuer(options));
  return async (token) => (await issuer())(token);
}

/** Returns an object that reads and writes the port of the page in a file of the run folder. */
function lastPagePort(disk: Disk, folder: string): { read(): number | undefined; write(port: number): void } {
  const path = join(folder, "page-port");
  return {
    read: () => {
      const port = Number(readSmall(disk, path) ?? "");
      return Number.isInteger(port) && port >= 1_024 && port <= 65_535 ? port : undefined;
    },
    write: (port) => writeSmall(disk, path, String(port)),
  };
}
