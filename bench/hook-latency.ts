import { spawnSync } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { askServer } from "../src/daemon/ask-server.ts";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { chronicleCommand, chronicleTool } from "./lib/chronicle-tool.ts";
import { baseEnv, runCommand, timeCommands, type Command } from "./lib/command.ts";
import type { CorpusName } from "./lib/options.ts";
import { percentile, type Ratio, type Result, type Row } from "./lib/result.ts";
import { changingCopy } from "./lib/prepared.ts";

const WITH_PROCESS = 60;
const WITHOUT = 15;
/** A corpus of the size of an ordinary project (7,000 files). */
const ORDINARY: CorpusName = "S";
/** The number of actions that are checked at the end: those of the last calls. */
const LAST = 30;
const SESSION = "bench";
const MOST_MS = 20;
const MOST_WITHOUT_MS = 120;

export const hookLatency: Bench = {
  name: "hook-latency",
  promise:
    "the hooks make an agent's tool call at most 20 ms slower with the long-lived process, and 120 ms without it (medians)",
  async run(context) {
    const { corpus } = context.options;
    // The bench is also run in a corpus of ordinary size, for comparison.
    const corpora: readonly CorpusName[] = corpus === ORDINARY ? [ORDINARY] : [corpus, ORDINARY];
    const measured: Measured[] = [];
    for (const one of corpora) {
      measured.push(await measure({ ...context, options: { ...context.options, corpus: one } }, one));
    }
    return {
      rows: measured.flatMap(({ rows }) => rows),
      ratios: measured.flatMap(({ ratios }) => ratios),
      notes: [
        "each time is that of the two hooks of a tool call together, started by `sh -c` as Claude Code does. The tool changes one file. The starts of Node show what each pair needs without the process even if it does nothing",
      ],
    };
  },
};

type Measured = Pick<Result, "rows" | "ratios">;

/** Measures both tools with and without the process, in a copy of the corpus. */
async function measure(context: BenchContext, corpus: CorpusName): Promise<Measured> {
  const tree = changingCopy(context);
  const hooks = new Hooks(tree, context.scratch.fresh(`hook-latency-${corpus}-store`));
  const [often, seldom] = [
    amountFor(context, { what: "calls with the process", all: WITH_PROCESS, quick: 15 }),
    amountFor(context, { what: "calls without the process", all: WITHOUT, quick: 4 }),
  ];
  await hooks.start();
  const withProcess = { edit: hooks.calls("Write", often), shell: hooks.calls("Bash", often) };
  await hooks.stop();
  const without = { edit: hooks.calls("Write", seldom), shell: hooks.calls("Bash", seldom) };
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
      {
        what: `${corpus}: two starts of \`node -e 0\` by \`sh -c\`, p50`,
        unit: "ms",
        samples: [bareNode(tree, seldom)],
      },
    ],
    ratios: [
      ratio("an edit, with the process, p50", withProcess.edit, MOST_MS),
      ratio("a shell command, with the process, p50", withProcess.shell, MOST_MS),
      ratio("an edit, without, p50", without.edit, MOST_WITHOUT_MS),
      ratio("a shell command, without, p50", without.shell, MOST_WITHOUT_MS),
    ],
  };
}

type Tool = "Write" | "Bash";

/** Returns the median of the milliseconds of two starts of Node. */
function bareNode(cwd: string, count: number): number {
  const command = { argv: ["/bin/sh", "-c", '"$0" -e 0', process.execPath], cwd, env: baseEnv(cwd) };
  return (
    1_000 *
    percentile(
      Array.from({ length: count }, () => timeCommands([command, command])),
      0.5,
    )
  );
}

/** The hooks for Claude Code as `chronicle agents install` installs them, called as Claude Code calls them. */
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

  /** Begins the session, which starts the process. Resolves when the process answers and has handled some calls. */
  async start(): Promise<void> {
    this.#call("SessionStart", { source: "startup" });
    this.#call("UserPromptSubmit", { prompt_id: "turn-1", prompt: "measure" });
    for (let tries = 0; (await this.#pid()) === undefined; tries++) {
      if (tries > 200) throw new Error("the long-lived process has not started within 10 s");
      await sleep(50);
    }
    this.calls("Bash", 3);
  }

  /** Ends the process. The later hooks neither ask nor start a process. */
  async stop(): Promise<void> {
    const pid = await this.#pid();
    if (pid === undefined) throw new Error("the long-lived process has ended too early");
    process.kill(pid);
    while ((await this.#pid()) !== undefined) await sleep(10);
    this.#isDirect = true;
  }

  /** Rejects if a process runs again, because the calls may then have used it. */
  async mustBeWithout(): Promise<void> {
    if ((await this.#pid()) !== undefined) throw new Error("a hook has started the long-lived process again");
  }

  /** Makes tool calls, and returns the milliseconds that the two hooks of each call take together. */
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

  /** Throws unless each of the last calls is an action with one change. Earlier actions may have been pruned. */
  mustHaveRecorded(): void {
    const { actions } = JSON.parse(runCommand(this.#chronicle("changes", "--session", SESSION, "--json"))) as {
      actions: { state: string; changed: number; tool_call: string }[];
    };
    const last = actions.slice(-LAST);
    const isWhole = (action: (typeof last)[number], n: number): boolean =>
      action.state === "done" && action.changed === 1 && action.tool_call === `call-${this.#count - LAST + 1 + n}`;
    if (last.length !== LAST || !last.every(isWhole)) throw new Error(`not recorded: ${JSON.stringify(last)}`);
  }

  /** Runs a hook, and returns the milliseconds that it took. Throws if the hook fails or prints to stderr. */
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

/**
 * Adds `--direct` to the command line of a hook, so that the hook neither asks nor starts the process. The option goes
 * before `||`, which begins the command for the case that the hook's program is missing.
 */
function directly(installed: string): string {
  return installed.replace(/( \|\| .*)?$/, " --direct$1");
}

/** Returns the installed hooks: event → command line. */
function installedHooks(file: string): Record<string, string> {
  const { hooks } = JSON.parse(readFileSync(file, "utf8")) as {
    hooks: Record<string, { hooks: { command: string }[] }[]>;
  };
  return Object.fromEntries(
    Object.entries(hooks).map(([event, groups]) => [event, groups[0]?.hooks[0]?.command ?? ""]),
  );
}
