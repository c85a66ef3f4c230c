import { spawnSync } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { askServer } from "../src/daemon/ask-server.ts";
import type { Bench, BenchContext } from "./lib/bench.ts";
import { chronicleCommand, chronicleTool } from "./lib/chronicle-tool.ts";
import { runCommand, type Command } from "./lib/command.ts";
import type { CorpusName } from "./lib/options.ts";
import { percentile, type Ratio, type Result, type Row } from "./lib/result.ts";
import { copyOfCorpus } from "./lib/rounds.ts";

const WITH_PROCESS = 60;
const WITHOUT = 15;
/** The corpus that is as large as many a project: 7,000 files. */
const ORDINARY: CorpusName = "S";
/** Number of calls that are checked at the end. */
const LAST = 30;
const SESSION = "bench";

export const hookLatency: Bench = {
  name: "hook-latency",
  promise:
    "an agent's tool call gets at most 25 ms slower by its hooks with the long-lived process, 150 ms without (medians)",
  async run(context) {
    const { corpus } = context.options;
    // The promise is for the corpus asked for; beside it the same in a folder of ordinary size.
    const corpora: readonly CorpusName[] = corpus === ORDINARY ? [ORDINARY] : [corpus, ORDINARY];
    const measured: Measured[] = [];
    for (const one of corpora) {
      measured.push(await measure({ ...context, options: { ...context.options, corpus: one } }, one));
    }
    return {
      rows: measured.flatMap(({ rows }) => rows),
      ratios: measured.flatMap(({ ratios }) => ratios),
      notes: [
        "the hooks before and after a tool call together, started by `sh -c` as Claude Code does; the tool changes one file; without the process each hook starts Node, opens the store and looks at the whole corpus around a shell command",
      ],
    };
  },
};

type Measured = Pick<Result, "rows" | "ratios">;

/** Both tools with and without the process, in a copy of a corpus. */
async function measure(context: BenchContext, corpus: CorpusName): Promise<Measured> {
  const tree = copyOfCorpus(context, `hook-latency-${corpus}-tree`);
  const hooks = new Hooks(tree, context.scratch.fresh(`hook-latency-${corpus}-store`));
  await hooks.start();
  const withProcess = { edit: hooks.calls("Write", WITH_PROCESS), shell: hooks.calls("Bash", WITH_PROCESS) };
  await hooks.stop();
  const without = { edit: hooks.calls("Write", WITHOUT), shell: hooks.calls("Bash", WITHOUT) };
  await hooks.mustBeWithout();
  hooks.mustHaveRecorded();
  const ratio = (what: string, samples: readonly number[], limit: number): Ratio => {
    const target = { kind: "at-most", value: limit } as const;
    return { what: `${corpus}: ${what}`, unit: "ms", samples: [percentile(samples, 0.5)], target };
  };
  const row = (what: string, samples: readonly number[]): Row => {
    return { what: `${corpus}: ${what}`, unit: "ms", samples: [percentile(samples, 0.9)] };
  };
  return {
    rows: [
      row("an edit, with the process, p90", withProcess.edit),
      row("a shell command, with the process, p90", withProcess.shell),
    ],
    ratios: [
      ratio("an edit, with the process, p50", withProcess.edit, 25),
      ratio("a shell command, with the process, p50", withProcess.shell, 25),
      ratio("an edit, without, p50", without.edit, 150),
      ratio("a shell command, without, p50", without.shell, 150),
    ],
  };
}

type Tool = "Write" | "Bash";

/** Claude Code's hooks as they are installed in a project, called as it calls them. */
class Hooks {
  readonly #tree: string;
  readonly #home: string;
  readonly #chronicle: (...args: string[]) => Command;
  readonly #env: Readonly<Record<string, string>>;
  readonly #installed: Record<string, string>;
  #isDirect = false;
  #count = 0;

  constructor(tree: string, folder: string) {
    this.#tree = tree;
    this.#home = join(folder, "home");
    this.#chronicle = chronicleCommand(tree, folder);
    for (const command of chronicleTool.begin(tree, folder).record()) runCommand(command);
    const install = this.#chronicle("agents", "install", "claude", "--project");
    runCommand(install);
    this.#env = install.env ?? {};
    this.#installed = installedHooks(join(tree, ".claude", "settings.json"));
  }

  /** Begins the session, which starts the process, and waits until that answers and has looked around. */
  async start(): Promise<void> {
    this.#call("SessionStart", { source: "startup" });
    this.#call("UserPromptSubmit", { prompt_id: "turn-1", prompt: "measure" });
    for (let tries = 0; (await this.#pid()) === undefined; tries++) {
      if (tries > 200) throw new Error("the long-lived process has not started within 10 s");
      await sleep(50);
    }
    this.calls("Bash", 3);
  }

  /** Ends the process; the hooks do without from now on, and do not start another one. */
  async stop(): Promise<void> {
    const pid = await this.#pid();
    if (pid === undefined) throw new Error("the long-lived process has ended by itself");
    process.kill(pid);
    while ((await this.#pid()) !== undefined) await sleep(10);
    this.#isDirect = true;
  }

  /** Throws if a hook has started the process again: the calls were not without it. */
  async mustBeWithout(): Promise<void> {
    if ((await this.#pid()) !== undefined) throw new Error("a hook without the long-lived process has started it");
  }

  /** Milliseconds that the hooks of each tool call take, before and after together. */
  calls(tool: Tool, count: number): number[] {
    return Array.from({ length: count }, () => {
      const file = join(this.#tree, "bench-hook-latency.txt");
      const input = tool === "Write" ? { file_path: file, content: "-" } : { command: "make all", description: "-" };
      const call = { prompt_id: "turn-1", tool_name: tool, tool_input: input, tool_use_id: `call-${++this.#count}` };
      const before = this.#call("PreToolUse", call);
      appendFileSync(file, `call ${this.#count}\n`);
      return before + this.#call("PostToolUse", { ...call, tool_response: { stdout: "" } });
    });
  }

  /** Throws unless the last calls are actions with one change each: older ones may have been pruned. */
  mustHaveRecorded(): void {
    const { actions } = JSON.parse(runCommand(this.#chronicle("changes", "--session", SESSION, "--json"))) as {
      actions: { state: string; changed: number; tool_call: string }[];
    };
    const last = actions.slice(-LAST);
    const isWhole = (action: (typeof last)[number], n: number): boolean =>
      action.state === "done" && action.changed === 1 && action.tool_call === `call-${this.#count - LAST + 1 + n}`;
    if (last.length !== LAST || !last.every(isWhole)) throw new Error(`not recorded: ${JSON.stringify(last)}`);
  }

  /** Milliseconds of one hook. */
  #call(event: string, more: Readonly<Record<string, unknown>>): number {
    const input = { session_id: SESSION, cwd: this.#tree, hook_event_name: event, ...more };
    const installed = this.#installed[event] ?? "exit 1";
    const started = performance.now();
    const run = spawnSync("/bin/sh", ["-c", this.#isDirect ? directly(installed) : installed], {
      cwd: this.#tree,
      env: { ...this.#env },
      input: JSON.stringify(input),
      encoding: "utf8",
    });
    const ms = performance.now() - started;
    if (run.status === 0 && run.stderr === "") return ms;
    throw new Error(`the hook for ${event} ended with ${run.status}: ${run.stderr}`);
  }

  async #pid(): Promise<number | undefined> {
    const address = join(this.#home, "run", "serve.sock");
    const health = await askServer({ address, path: "/healthz", method: "GET", version: "0.0.0" });
    return health === undefined ? undefined : (JSON.parse(health.body) as { pid: number }).pid;
  }
}

/** The command line of a hook that neither asks nor starts the process. What follows `||` is for a hook that is missing. */
function directly(installed: string): string {
  return installed.replace(/( \|\| .*)?$/, " --direct$1");
}

/** Event → command line. */
function installedHooks(file: string): Record<string, string> {
  const { hooks } = JSON.parse(readFileSync(file, "utf8")) as {
    hooks: Record<string, { hooks: { command: string }[] }[]>;
  };
  return Object.fromEntries(
    Object.entries(hooks).map(([event, groups]) => [event, groups[0]?.hooks[0]?.command ?? ""]),
  );
}
