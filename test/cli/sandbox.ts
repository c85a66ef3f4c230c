import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { runCli } from "../../src/cli/run-cli.ts";
import { openStore } from "../../src/open.ts";
import { reportEnd } from "../../src/cli/resident/ask-process.ts";
import { allowsResident } from "../../src/cli/resident/asks-resident.ts";
import type { OutputPart, RunOrder, RunReport } from "../../src/daemon/command-call.ts";
import { sharedChronicleBin } from "../helpers/cli-package.ts";
import { ResidentServer } from "../helpers/resident-server.ts";
import { innerIo } from "./memory-io.ts";

/**
 * With this variable, the commands of all tests use the store's process where it can be had: nothing may differ.
 */
const RESIDENT = (process.env["TEST_RESIDENT"] ?? "") !== "";

/** How a command line ended. */
export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunHow {
  /** Relative to the sandbox; default: the project. */
  readonly cwd?: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

function textsOf(output: readonly OutputPart[]): Pick<Ran, "stdout" | "stderr"> {
  const text = (of: number): string =>
    Buffer.concat(output.flatMap(([fd, bytes]) => (fd === of ? [bytes] : []))).toString("utf8");
  return { stdout: text(1), stderr: text(2) };
}

/** Resolves to a child's exit code, `null` if a signal ended it. */
export function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((done) => {
    child.once("exit", done);
  });
}

/** A folder with a project, a home, a store and nothing of the machine's own. Made for `using`. */
export class Sandbox {
  readonly folder: string;
  readonly project: string;
  readonly store: string;
  readonly #transcript: string[] = [];
  #resident: ResidentServer | undefined;

  constructor() {
    this.folder = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-cli-")));
    this.project = join(this.folder, "project");
    this.store = join(this.folder, "store");
    for (const name of ["project", "home", "config", "state"]) mkdirSync(join(this.folder, name));
  }

  [Symbol.dispose](): void {
    this.#resident?.[Symbol.dispose]();
    spawnSync("chmod", ["-R", "u+rwX", this.folder]);
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The environment of every command. */
  env(more: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
    return {
      CHRONICLE_DIRECT: "1",
      PATH: process.env["PATH"],
      HOME: join(this.folder, "home"),
      XDG_CONFIG_HOME: join(this.folder, "config"),
      XDG_STATE_HOME: join(this.folder, "state"),
      CHRONICLE_HOME: this.store,
      LC_ALL: "C.UTF-8",
      // The test run's own home keeps the compiled code.
      NODE_COMPILE_CACHE: join(process.env["HOME"] ?? tmpdir(), "compile"),
      ...more,
    };
  }

  /** The words that start the command line. */
  get command(): readonly string[] {
    return [process.execPath, sharedChronicleBin()];
  }

  write(path: string, content: string | Uint8Array): void {
    const full = join(this.project, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, content);
  }

  /** Runs `chronicle` with these words: a process of its own where it has a command to run, else within this one. */
  async call(args: readonly string[], how: RunHow = {}): Promise<Ran> {
    let folder = join(this.folder, how.cwd ?? "project");
    const asked = RESIDENT ? await this.#asked(args, folder, how) : undefined;
    if (asked !== undefined) return asked;
    if (args.includes("run")) return this.run(args, how);
    const io = innerIo(args, {
      env: this.env(how.env),
      userHome: join(this.folder, "home"),
      readStdin: () => Promise.resolve(how.input ?? ""),
      streams: () => ({ input: Readable.from([Buffer.from(how.input ?? "")]), output: new PassThrough() }),
      cwd: () => folder,
      chdir: (to) => void (folder = realpathSync(resolve(folder, to))),
      openStore,
    });
    const code = await runCli(io);
    return { code, stdout: io.out.text, stderr: io.err.text };
  }

  /** Resolves to `undefined` if the command line must do the command itself. */
  async #asked(args: readonly string[], folder: string, how: RunHow): Promise<Ran | undefined> {
    const env = { ...this.env(how.env), CHRONICLE_DIRECT: undefined };
    this.#resident ??= new ResidentServer(env, this.store);
    const isReady = existsSync(folder) && (await this.#resident.ready(folder, 3_000));
    const answer = isReady && allowsResident(env) ? await this.#resident.ask(args, folder, env) : undefined;
    if (answer !== undefined && "run" in answer) {
      const { stdout, stderr, end } = await this.#ordered(answer.run, env, how.input ?? "");
      const rest = await reportEnd(this.store, { token: answer.run.token, end }, { request: "", show: undefined });
      if (rest === undefined || !("code" in rest)) throw new Error("the process has lost the run");
      const more = textsOf([...answer.output, [1, stdout], [2, stderr], ...rest.output]);
      return { ...more, code: rest.endBy === undefined ? rest.code : null };
    }
    const isDone = answer !== undefined && "code" in answer;
    if (answer !== undefined && "state" in answer && answer.state === "lost")
      throw new Error("the store's process did not answer in time");
    if (process.env["TEST_RESIDENT"] === "verbose") process.stderr.write(isDone ? "+" : "-");
    if (!isDone) return undefined;
    return { ...textsOf(answer.output), code: answer.code };
  }

  /** Starts the command of a run, as its client does. */
  async #ordered(
    { command: [program = "", ...words], cwd, moreEnv }: RunOrder,
    env: NodeJS.ProcessEnv,
    input: string,
  ): Promise<{ readonly stdout: Buffer; readonly stderr: Buffer; readonly end: RunReport["end"] }> {
    const child = spawn(program, words, { cwd, env: { ...env, ...moreEnv }, stdio: "pipe" });
    const output = [child.stdout, child.stderr].map((stream) => stream.toArray() as Promise<Buffer[]>);
    child.stdin.on("error", () => undefined).end(input);
    const { promise, resolve } = Promise.withResolvers<RunReport["end"]>();
    child.on("error", (error: NodeJS.ErrnoException) => resolve({ errno: error.code ?? "", message: error.message }));
    child.on("close", (exitCode, signal) => {
      const code = signal === null ? (exitCode ?? 1) : 128 + constants.signals[signal];
      resolve({ exitCode, signal, code });
    });
    const end = await promise;
    const [stdout, stderr] = await Promise.all(output.map((one) => one.then((pieces) => Buffer.concat(pieces))));
    return { stdout: stdout ?? Buffer.alloc(0), stderr: stderr ?? Buffer.alloc(0), end };
  }

  /** Runs `chronicle` with these words in a process of its own. */
  run(args: readonly string[], how: RunHow = {}): Ran {
    const [node = "", ...first] = this.command;
    const ended = spawnSync(node, [...first, ...args], {
      cwd: join(this.folder, how.cwd ?? "project"),
      env: this.env(how.env),
      input: how.input ?? "",
      encoding: "utf8",
      maxBuffer: 64 * 1024 ** 2,
    });
    if (ended.error !== undefined) throw ended.error;
    return { code: ended.status, stdout: ended.stdout, stderr: ended.stderr };
  }

  /** As `call`; anything but exit code 0 is an error. */
  async must(args: readonly string[], how: RunHow = {}): Promise<Ran> {
    const ran = await this.call(args, how);
    if (ran.code !== 0) throw new Error(`chronicle ${args.join(" ")} ended with ${ran.code}: ${ran.stderr}`);
    return ran;
  }

  /** As `call`, with `--json`; reads what was printed. */
  async json(args: readonly string[], how: RunHow = {}): Promise<{ code: number | null; value: unknown }> {
    const { code, stdout, stderr } = await this.call(["--json", ...args], how);
    try {
      return { code, value: JSON.parse(stdout) };
    } catch (error) {
      throw new Error(`no JSON from ${args.join(" ")}: ${stdout}${stderr}`, { cause: error });
    }
  }

  /** Starts `chronicle` and leaves it running. */
  start(args: readonly string[]) {
    const [node = "", ...first] = this.command;
    return spawn(node, [...first, ...args], { cwd: this.project, env: this.env(), stdio: ["ignore", "pipe", "pipe"] });
  }

  /** A shell command in the project. */
  sh(script: string): void {
    const ended = spawnSync("sh", ["-ec", script], { cwd: this.project, env: this.env(), encoding: "utf8" });
    if (ended.status !== 0) throw new Error(`${script}: ${ended.stderr}`);
  }

  /** As `call`, and writes it down as it was: words, stdout, stderr (`!`), exit code. */
  async step(args: readonly string[], how: RunHow = {}): Promise<Ran> {
    const ran = await this.call(args, how);
    const shown = args.map((word) => (/^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word}'`)).join(" ");
    const lines = (text: string, mark: string) =>
      text === ""
        ? []
        : text
            .replace(/\n$/, "")
            .split("\n")
            .map((line) => `${mark}${line}`.trimEnd());
    const parts = [`$ chronicle ${shown}`, ...lines(ran.stdout, ""), ...lines(ran.stderr, "! ")];
    this.#transcript.push(...parts.map((line) => this.#same(line)), `[${ran.code}]`, "");
    return ran;
  }

  /** A remark between steps. */
  remark(text: string): void {
    this.#transcript.push(`# ${text}`, "");
  }

  /** Everything written down, with what differs from run to run replaced. */
  get transcript(): string {
    return this.#transcript.join("\n");
  }

  /**
   * Widths of columns depend on how long ago things were: in such tables, runs of spaces within a line count as two. The
   * size of a store depends on the times of its files, which do not always compress alike.
   */
  #same(line: string): string {
    const isTable = /^when |just now|\d+ seconds? ago/.test(line);
    return (isTable ? line.replace(/(?<=\S) {2,}/g, "  ") : line)
      .replaceAll(this.folder, "/box")
      .replace(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "<id>")
      .replace(/\b[0-9a-f]{64}\b/g, "<hash>")
      .replace(/\b[0-9a-f]{12}\b/g, "<hash>")
      .replace(/(?<=(?:undo|restore|undone by) )[0-9a-f]{8}\b/g, "<id>")
      .replace(/(?<= {2})[0-9a-f]{8}(?= {2}|$)/g, "<id>")
      .replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "<time>")
      .replace(/just now|\d+ seconds? ago/g, "<ago>")
      .replace(/\d+ B of the store read/g, "<bytes> of the store read")
      .replace(/in [\d.]+ s, [\d,]+ events\/s/g, "in <seconds>")
      .replace(/in [\d.]+ s\b/g, "in <seconds>");
  }
}
