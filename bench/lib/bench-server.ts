import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ChronicleClient, createClient } from "../../src/client/node.ts";
import { chronicleCommand } from "./chronicle-tool.ts";

/**
 * `chronicle serve` as users run it: in a process of its own, on a port of loopback and on a Unix socket. It can be
 * killed and started again. Disposal stops it.
 */
export class BenchServer implements AsyncDisposable {
  readonly token = "the-operator-token-of-the-bench";
  readonly #folder: string;
  readonly #options: readonly string[];
  #child: ChildProcess | undefined;
  #port = 0;
  #client: ChronicleClient | undefined;

  /**
   * Does not start the server. `folder`: a new folder, for the store and for the folder in which the server is started.
   * `options`: more options of `chronicle serve`.
   */
  constructor(folder: string, options: readonly string[] = []) {
    this.#folder = folder;
    this.#options = options;
    mkdirSync(join(folder, "project"));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** A client on the server's Unix socket, where the rate of requests is not limited. */
  get client(): ChronicleClient {
    this.#client ??= createClient({ url: `unix:${this.socket}` });
    return this.#client;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get socket(): string {
    return join(this.#folder, "run", "s.sock");
  }

  /** Resolves when the server listens. After a restart, it has the same port as before. */
  async start(): Promise<void> {
    const project = join(this.#folder, "project");
    const options = ["--socket", this.socket, "--port", String(this.#port), "--json", ...this.#options];
    const { argv, env } = chronicleCommand(project, this.#folder)("serve", ...options);
    const [program = "", ...args] = argv;
    const child = spawn(program, args, {
      cwd: project,
      env: { ...env, XDG_RUNTIME_DIR: join(this.#folder, "run"), CHRONICLE_TOKEN: this.token },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    let output = "";
    for await (const piece of child.stdout) {
      output += String(piece);
      if (!output.trimEnd().endsWith("}")) continue;
      const { urls } = JSON.parse(output) as { urls?: string[] };
      if (urls?.[0] === undefined) break;
      this.#port = Number(new URL(urls[0]).port);
      return;
    }
    throw new Error(`the server did not start: ${output}`);
  }

  /**
   * Resolves to the id of the workspace of the folder in which the server was started. Call this before other
   * workspaces are created, because it takes the store's first workspace.
   */
  async workspaceOfFolder(): Promise<string> {
    for (let tries = 0; tries < 100; tries += 1) {
      const [first] = await this.client.store.workspaces();
      if (first !== undefined) return first.id;
      await sleep(100);
    }
    throw new Error("the server has not recorded its folder within 10 s");
  }

  /** Closes the client, and ends the server with a signal. Resolves when the process has ended, or if none runs. */
  async stop(signal: "SIGKILL" | "SIGTERM" = "SIGTERM"): Promise<void> {
    await this.#client?.close();
    this.#client = undefined;
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  /** Returns the server's resident memory in bytes: the present value, and the peak since the start. Linux only. */
  memory(): { readonly now: number; readonly most: number } {
    const status = readFileSync(`/proc/${this.pid}/status`, "utf8");
    const bytes = (name: string) => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]);
    return { now: bytes("VmRSS"), most: bytes("VmHWM") };
  }

  /** Returns a workspace's id for each open file in the folder of a workspace in the store. Linux only. */
  openFiles(): string[] {
    const folder = join(this.#folder, "home", "workspaces/");
    const targets = readdirSync(`/proc/${this.pid}/fd`).map((fd) => this.#target(fd));
    return targets
      .filter((path) => path.startsWith(folder))
      .map((path) => path.slice(folder.length).split("/", 1)[0] ?? "");
  }

  #target(fd: string): string {
    try {
      return readlinkSync(`/proc/${this.pid}/fd/${fd}`);
    } catch {
      // The file was closed after `readdirSync`.
      return "";
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
