import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { cpSync, lstatSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const SCRIPT = fileURLToPath(new URL("../format/replica.py", import.meta.url));

export const hasPython = spawnSync("python3", ["--version"]).status === 0;

/** The state that the replica reports. */
export interface ReplicaReport {
  readonly sandbox_id: string;
  readonly workspace: string;
  readonly sequence: number;
  readonly hash: string;
  readonly root: string;
  readonly settled: number;
  readonly capabilities: readonly string[];
  /** The last head that the replica has compared with its own state. */
  readonly witnessed: number;
  /** Number of messages received, by type. */
  readonly messages: Readonly<Record<string, number>>;
  /** By path: the event that conflicted, and the version kept at the origin. */
  readonly conflicts: Readonly<
    Record<string, { readonly current_sequence: number; readonly kept?: { readonly content_hash: string | null } }>
  >;
  /** By path: the reason why the origin has not accepted the state. */
  readonly refused: Readonly<Record<string, string>>;
}

/**
 * The answer to a command. `error`: the error of the origin. `fault`: the code with which the replica ended the
 * connection.
 */
export interface ReplicaAnswer {
  readonly ok?: ReplicaReport;
  readonly ended?: string;
  readonly error?: { readonly code: string; readonly message: string } | null;
  readonly fault?: string;
  readonly message?: string;
}

interface ConnectOptions {
  /** The path of a socket, or a `ws:` address. */
  readonly to: string;
  readonly token?: string;
  readonly capabilities?: readonly string[];
}

/** The replica that was written from docs/protocol.md alone. It runs in a process of its own. */
export class PythonReplica implements AsyncDisposable {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-page-")));
  readonly folder = join(this.base, "folder");
  readonly #state = join(this.base, "state");
  readonly #answers: ReplicaAnswer[] = [];
  #child: ChildProcess | undefined;
  #wake: (() => void) | undefined;

  start(): void {
    const child = spawn("python3", ["-B", SCRIPT, this.folder, this.#state], { stdio: ["pipe", "pipe", "inherit"] });
    this.#child = child;
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.#answers.push(JSON.parse(line) as ReplicaAnswer);
      this.#wake?.();
    });
    child.on("exit", () => this.#wake?.());
  }

  /** Sends a command, and returns its answer. */
  async ask(command: string, more: object = {}): Promise<ReplicaAnswer> {
    const child = this.#child;
    if (child === undefined) throw new Error("the replica is not started");
    child.stdin?.write(`${JSON.stringify({ do: command, ...more })}\n`);
    for (;;) {
      const answer = this.#answers.shift();
      if (answer !== undefined) return answer;
      if (child.exitCode !== null) throw new Error(`the replica ended with ${child.exitCode}`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Like `ask`, but throws if the command fails. */
  async do(command: string, more: object = {}): Promise<ReplicaReport> {
    const answer = await this.ask(command, more);
    if (answer.ok === undefined) throw new Error(`${command}: ${JSON.stringify(answer)}`);
    return answer.ok;
  }

  connect(options: ConnectOptions): Promise<ReplicaAnswer> {
    return this.ask("connect", options);
  }

  /** The lines of the origin's log as the replica has received them. */
  get lines(): string {
    return readFileSync(join(this.#state, "upstream.wal"), "utf8");
  }

  /** Saves the state of the replica, as a backup would. */
  keep(): void {
    cpSync(this.#state, join(this.base, "kept"), { recursive: true });
  }

  /** Restores the state that `keep` has saved. The replica must not be running. */
  putBack(): void {
    rmSync(this.#state, { recursive: true });
    cpSync(join(this.base, "kept"), this.#state, { recursive: true });
  }

  /** Kills the replica in the middle of whatever it does. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
    this.#answers.length = 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.base, { recursive: true, force: true });
  }
}

/**
 * Returns the kind, the mode and the hash of the content or target of every path in a folder, by the bytes of the path.
 */
export function bytesTree(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  const walk = (at: Buffer): void => {
    for (const name of readdirSync(Buffer.concat([Buffer.from(`${folder}/`), at]), { encoding: "buffer" })) {
      const path = at.length === 0 ? name : Buffer.concat([at, Buffer.from("/"), name]);
      const full = Buffer.concat([Buffer.from(`${folder}/`), path]);
      const stat = lstatSync(full);
      const sha = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
      if (stat.isDirectory()) found[path.toString("latin1")] = `dir ${(stat.mode & 0o7777).toString(8)}`;
      else if (stat.isSymbolicLink())
        found[path.toString("latin1")] = `link ${sha(readlinkSync(full, { encoding: "buffer" }))}`;
      else found[path.toString("latin1")] = `file ${(stat.mode & 0o7777).toString(8)} ${sha(readFileSync(full))}`;
      if (stat.isDirectory()) walk(path);
    }
  };
  walk(Buffer.alloc(0));
  return found;
}
