import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { askServer } from "../../src/daemon/ask-server.ts";
import { chronicleBin } from "./cli-package.ts";

/** The exit code of a program, and its output. `code` is `null` if a signal ended it. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/**
 * A home folder and a project, with an installed package and a Node that only this test uses, so that it can remove
 * them.
 */
export class AgentHome implements AsyncDisposable {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-agent-home-")));
  readonly home = join(this.base, "home");
  readonly project = join(this.base, "project");
  /** The package as it is installed: `bin/`, `dist/`. */
  readonly package = join(this.base, "package");
  /** The Node that runs the package. */
  readonly node = join(this.base, "node", "bin", "node");
  readonly store = join(this.home, ".local/state/chronicle");
  readonly script = join(this.home, ".config/chronicle/bin/chronicle-hook");

  constructor() {
    for (const folder of [this.home, this.project, dirname(this.node)]) mkdirSync(folder, { recursive: true });
    cpSync(dirname(dirname(chronicleBin())), this.package, { recursive: true, verbatimSymlinks: true });
    linkOrCopy(process.execPath, this.node);
  }

  put(path: string, text: string): string {
    const full = join(this.base, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
    return full;
  }

  read(path: string): string {
    return readFileSync(join(this.base, path), "utf8");
  }

  /** Runs a command of Chronicle in the project. */
  chronicle(...args: readonly string[]): Ended {
    return this.chronicleWith("", ...args);
  }

  /** Like `chronicle`, with `input` on its standard input. */
  chronicleWith(input: string, ...args: readonly string[]): Ended {
    return this.#run(this.node, [join(this.package, "bin", "chronicle.js"), ...args], input);
  }

  /** Returns the output of a command with `--json`, whatever its exit code. */
  json(...args: readonly string[]): unknown {
    const { out, err } = this.chronicle("--json", ...args);
    if (out === "") throw new Error(err);
    return JSON.parse(out);
  }

  /** Like `chronicle`, but returns the standard output, and throws the error output if the command fails. */
  must(...args: readonly string[]): string {
    const { code, out, err } = this.chronicle(...args);
    if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}: ${err}`);
    return out;
  }

  /** Returns the command line that an agent would run at an event, from the agent's settings file. */
  hookCommand(file: string, event: string): string {
    interface Hook {
      readonly command?: string;
      readonly bash?: string;
    }
    const settings = JSON.parse(this.read(file)) as { hooks: Record<string, (Hook & { hooks?: Hook[] })[]> };
    const last = settings.hooks[event]?.at(-1);
    const { command, bash } = last?.hooks?.[0] ?? last ?? {};
    return command ?? bash ?? this.#noHook(file, event);
  }

  #noHook(file: string, event: string): never {
    throw new Error(`there is no hook for ${event} in ${file}`);
  }

  /**
   * Runs the command line of a hook as agents do: with the event as JSON on its standard input. `more`: further fields.
   */
  fire(command: string, event: string, more: object = {}): Ended {
    const tool = { tool_name: "Write", tool_input: { file_path: join(this.project, "a.txt") }, tool_use_id: "c1" };
    const call = /Tool/.test(event) ? tool : {};
    const input = { session_id: "s1", cwd: this.project, hook_event_name: event, ...call, ...more };
    return this.#run("/bin/sh", ["-c", command], JSON.stringify(input));
  }

  #run(program: string, args: readonly string[], input = ""): Ended {
    const ran = spawnSync(program, args, { cwd: this.project, env: this.env, input, encoding: "utf8" });
    return { code: ran.status, out: ran.stdout, err: ran.stderr };
  }

  get env(): Record<string, string> {
    return { CI: "true", PATH: process.env["PATH"] ?? "", HOME: this.home, LC_ALL: "C.UTF-8", NO_COLOR: "1" };
  }

  /** Ends the server that hooks may have started, and removes everything. */
  async [Symbol.asyncDispose](): Promise<void> {
    const ask = {
      address: join(this.store, "run", "serve.sock"),
      path: "/healthz",
      method: "GET",
      version: "0.0.0",
    } as const;
    const health = await askServer(ask);
    if (health !== undefined) process.kill((JSON.parse(health.body) as { pid: number }).pid);
    while ((await askServer(ask)) !== undefined) await sleep(10);
    rmSync(this.base, { recursive: true, force: true, maxRetries: 5 });
  }
}

/**
 * Gives a program a second name, by a hard link or a copy. A symbolic link is not enough, because Node names itself by
 * its real path.
 */
function linkOrCopy(program: string, name: string): void {
  try {
    linkSync(program, name);
  } catch {
    copyFileSync(program, name);
  }
}
