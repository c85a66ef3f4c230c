import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chronicleBin } from "./cli-package.ts";

/**
 * `chronicle serve` in a process of its own, with a store and a folder of its own. A test can kill it and start it
 * again.
 */
export class ServerProcess implements AsyncDisposable {
  readonly base: string;
  readonly home: string;
  readonly configFolder: string;
  /** The folder in which the server is started, and which it hosts. */
  readonly project: string;
  readonly token = "the-operator-token-of-a-server-that-is-killed";
  readonly socketUrl: string;
  #child: ChildProcess | undefined;
  readonly #options: readonly string[];
  readonly #more: NodeJS.ProcessEnv;
  #port = 0;

  /** `options`: further options of `serve`. `env`: further variables of the process. */
  constructor(options: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
    this.#options = options;
    this.#more = env;
    this.base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-killed-")));
    this.home = join(this.base, "store");
    this.configFolder = join(this.base, "config", "chronicle");
    this.project = join(this.base, "project");
    this.socketUrl = `unix:${join(this.base, "run", "s.sock")}`;
    mkdirSync(this.project);
  }

  /** The address of the port. It never changes, because the server is started again on the same port. */
  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Returns the resident memory in bytes: the present amount and the maximum so far. */
  memory(): { readonly now: number; readonly most: number } {
    const status = readFileSync(`/proc/${this.#child?.pid}/status`, "utf8");
    const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]);
    return { now: kib("VmRSS") * 1024, most: kib("VmHWM") * 1024 };
  }

  /** Starts the server. Resolves once it listens on its socket and its port. */
  async start(): Promise<void> {
    const socket = this.socketUrl.slice("unix:".length);
    const options = [
      "--store",
      this.home,
      "--socket",
      socket,
      "--port",
      String(this.#port),
      "--json",
      ...this.#options,
    ];
    const child = spawn(process.execPath, [chronicleBin(), "serve", ...options], {
      cwd: this.project,
      env: this.#env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    let said = "";
    for await (const piece of child.stdout) {
      said += String(piece);
      if (!said.trimEnd().endsWith("}")) continue;
      const { urls } = JSON.parse(said) as { urls: string[] };
      this.#port = Number(new URL(urls[0] ?? "").port);
      return;
    }
    throw new Error(`the server ended: ${child.exitCode ?? child.signalCode} ${said}`);
  }

  /** True if the process is running. */
  get lives(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Makes a new token with this role, as the owner of the store does. */
  makeToken(role: "reader" | "agent" | "operator"): string {
    const options = ["--json", "--store", this.home, "token", "create", "--role", role];
    const ran = spawnSync(process.execPath, [chronicleBin(), ...options], { env: this.#env, encoding: "utf8" });
    if (ran.status !== 0) throw new Error(ran.stderr);
    return (JSON.parse(ran.stdout) as { token: string }).token;
  }

  get #env(): NodeJS.ProcessEnv {
    return {
      PATH: process.env["PATH"],
      CI: "true",
      HOME: this.base,
      XDG_CONFIG_HOME: join(this.base, "config"),
      XDG_RUNTIME_DIR: join(this.base, "run"),
      CHRONICLE_TOKEN: this.token,
      ...this.#more,
    };
  }

  /** Kills the server in the middle of whatever it does. Returns its exit code, `null` if a signal ended it. */
  async kill(signal: "SIGKILL" | "SIGTERM" = "SIGKILL"): Promise<number | null> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return child?.exitCode ?? null;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
    return child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.base, { recursive: true, force: true });
  }
}
