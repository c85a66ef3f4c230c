import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { askServer } from "../../src/daemon/ask-server.ts";
import { optional } from "../../src/util/optional.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { TmuxTerminal } from "../helpers/tmux.ts";
import type { AgentProgram } from "./agent-program.ts";
import { agentModules } from "./installed-agents.ts";
import { asObject } from "./json.ts";
import { type AgentOutcome, type AgentRun, cleanEnvironment, runAgent } from "./run-agent.ts";

/** A git project and a home that only these agents and Chronicle know. */
export class AgentProject implements AsyncDisposable {
  readonly #programs: readonly AgentProgram[];
  readonly folder: string;
  readonly #base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-agents-")));
  readonly #home = join(this.#base, "home");

  /** The home of the agents and of Chronicle. */
  get home(): string {
    return this.#home;
  }

  constructor(...programs: readonly AgentProgram[]) {
    this.#programs = programs;
    this.folder = join(this.#base, "project");
    mkdirSync(this.folder);
    mkdirSync(this.#home);
    for (const program of programs) program.prepare({ home: this.#home, folder: this.folder });
  }

  write(path: string, content: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), content);
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), "utf8");
  }

  /** Installs Chronicle for the agents, as their user would. */
  install(...options: readonly string[]): void {
    for (const { name } of this.#programs) this.chronicle("agents", "install", name, "--project", ...options);
  }

  /** Makes the store one that nothing can be recorded in, and ends the process that has it open. */
  async breakStore(): Promise<void> {
    await this.#endProcess();
    const store = join(this.#home, ".local/state/chronicle");
    rmSync(store, { recursive: true, force: true });
    mkdirSync(dirname(store), { recursive: true });
    writeFileSync(store, "not a store\n");
  }

  /** Takes the package away, or the hook's script itself, as far as the installed hook can tell. */
  lose(what: "package" | "script"): void {
    const script = join(this.#home, ".config/chronicle/bin/chronicle-hook");
    if (what === "script") rmSync(script);
    else writeFileSync(script, readFileSync(script, "utf8").replace(/^entry=.*$/m, "entry=/nowhere/hook.cjs"));
  }

  /** Commits everything that is there. */
  commit(): void {
    const identity = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.com"];
    for (const args of [
      ["init", "-q"],
      ["add", "-A"],
      ["commit", "-q", "-m", "the beginning"],
    ]) {
      this.#must("git", [...identity, ...args]);
    }
  }

  /** What a command prints with `--json`. Throws its words if it fails. */
  chronicle(...args: readonly string[]): unknown {
    return JSON.parse(this.#must(process.execPath, [chronicleBin(), "--json", ...args]));
  }

  /** What a command prints for people. Throws its words if it fails. */
  said(...args: readonly string[]): string {
    return this.#must(process.execPath, [chronicleBin(), ...args]);
  }

  /** What a command of a person prints in the project. Throws its words if it fails. */
  person(command: string): string {
    return this.#must("sh", ["-ec", command]);
  }

  /** One session of an agent. Throws what the program said if it fails. */
  async session(program: AgentProgram, steps: AgentRun["steps"], prompt?: string): Promise<AgentOutcome> {
    const outcome = await this.attempt(program, steps, prompt);
    if (outcome.exitCode === 0 && outcome.results.length === steps.length) return outcome;
    throw new Error(
      `${program.name} ended with ${outcome.exitCode}\n${outcome.stderr}\n${outcome.stdout.slice(-4000)}`,
    );
  }

  /** One session of an agent, however it ends. */
  attempt(program: AgentProgram, steps: AgentRun["steps"], prompt?: string): Promise<AgentOutcome> {
    const where = { program, nodeModules: agentModules, home: this.#home, folder: this.folder };
    return runAgent({ ...where, steps, ...optional({ prompt }) });
  }

  /** A terminal in the project. The agent's name starts it there, with these arguments and variables; `chronicle` too. */
  terminal(program: AgentProgram, args: readonly string[], env: Readonly<Record<string, string>>): TmuxTerminal {
    const bin = join(this.#base, "bin");
    mkdirSync(bin, { recursive: true });
    const words = [...program.command(agentModules), ...args].map((word) => `'${word}'`).join(" ");
    writeFileSync(join(bin, program.name), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 });
    const chronicle = `#!/bin/sh\nexec '${process.execPath}' '${chronicleBin()}' "$@"\n`;
    writeFileSync(join(bin, "chronicle"), chronicle, { mode: 0o755 });
    const clean = cleanEnvironment(this.#home);
    return new TmuxTerminal(this.folder, { ...clean, ...env, PATH: `${bin}:${clean["PATH"]}` });
  }

  /** A copy of the project as it is now, beside it. */
  copy(name: string): string {
    const copy = join(this.#base, name);
    cpSync(this.folder, copy, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
    return copy;
  }

  /** What `diff -r` finds between the project and a copy, `.git` apart. */
  differences(copy: string): string {
    return spawnSync("diff", ["-r", "--exclude=.git", copy, this.folder], {
      encoding: "utf8",
      env: cleanEnvironment(this.#home),
    }).stdout;
  }

  /** Ends the long-lived process that the hooks have started, and removes everything. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endProcess();
    rmSync(this.#base, { recursive: true, force: true, maxRetries: 5 });
  }

  async #endProcess(): Promise<void> {
    const address = join(this.#home, ".local/state/chronicle/run/serve.sock");
    const health = await askServer({ address, path: "/healthz", method: "GET", version: "0.0.0" });
    if (health !== undefined) process.kill(Number(asObject(JSON.parse(health.body))["pid"]));
    while ((await askServer({ address, path: "/healthz", method: "GET", version: "0.0.0" })) !== undefined)
      await sleep(10);
  }

  #must(program: string, args: readonly string[]): string {
    const env = cleanEnvironment(this.#home);
    const ran = spawnSync(program, args, { cwd: this.folder, env, encoding: "utf8", maxBuffer: 2 ** 26 });
    if (ran.status === 0) return ran.stdout;
    throw new Error(`${program} ${args.join(" ")} ended with ${ran.status ?? ran.signal}: ${ran.stderr}${ran.stdout}`);
  }
}
