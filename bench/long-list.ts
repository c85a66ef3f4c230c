import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { openStore } from "../src/open.ts";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { chronicleCommand } from "./lib/chronicle-tool.ts";
import { type Command, timeCommands } from "./lib/command.ts";
import { gitTool } from "./lib/git-tool.ts";
import type { Row } from "./lib/result.ts";
import { makeLongHistory, nameOf, type Places, TURN } from "./lib/long-history.ts";

const ACTIONS = 100_000;

export const longList: Bench = {
  name: "long-list",
  promise: "a page of the list of 100,000 actions, the first or the last, also of one file, takes 100 ms or less",
  async run(context) {
    const tree = context.scratch.fresh("long-list-tree");
    const home = context.scratch.fresh("long-list-store");
    // The command line has its configuration in this folder of `XDG_CONFIG_HOME`.
    const options = { home: join(home, "home"), configFolder: join(home, "config", "chronicle") };
    const actions = amountFor(context, { what: "actions", all: ACTIONS });
    context.say(`writing ${actions} actions`);
    await makeLongHistory(options, tree, actions);
    context.say("bringing the index up to the log");
    const store = await openStore(options);
    const workspace = await store.open({ folder: tree });
    await workspace.log({ limit: 1, reverse: true });
    const samples = async (ask: () => Promise<unknown>): Promise<number[]> => {
      const times: number[] = [];
      for (let round = 0; round < context.options.rounds; round++) times.push(await timed(ask));
      return times;
    };
    const again = await samples(() => workspace.recent(20));
    const narrow = await samples(() => workspace.recent(20, { file: nameOf(7) }));
    // Each action has three events, so about 20 lines are older than this event.
    const deep = await samples(() => workspace.recent(20, { before: 3 * 20 * TURN }));
    await workspace.close();
    await store.close();
    const first = await samples(() => firstPage(options, tree));
    return {
      rows: [
        { what: "20 lines, and the opening of the store", unit: "ms", samples: first },
        ...ofFile(context, { tree, home, actions }),
      ],
      ratios: [
        { what: "20 lines", unit: "ms", samples: again, target: { kind: "at-most", value: 100 } },
        { what: "the last 20 lines", unit: "ms", samples: deep, target: { kind: "at-most", value: 100 } },
        {
          what: "20 lines that changed one of the files",
          unit: "ms",
          samples: narrow,
          target: { kind: "at-most", value: 100 },
        },
      ],
      notes: [`in turns of ${TURN} actions, each of which changes one of 200 files of about 3 KB`],
    };
  },
};

/** Times the command line for one of the files, and `git log` of a file in a packed repository with as many commits. */
function ofFile(
  context: BenchContext,
  { tree, home, actions }: { readonly tree: string; readonly home: string; readonly actions: number },
): Row[] {
  const listed = chronicleCommand(tree, home)("list", "--file", join(tree, nameOf(7)), "--limit", "20");
  const logged = gitHistory(context, actions);
  const samplesOf = (command: Command): number[] =>
    Array.from({ length: context.options.rounds }, () => 1000 * timeCommands([command]));
  return [
    {
      what: "chronicle list --file FILE, a new process without the store's process",
      unit: "ms",
      samples: samplesOf(listed),
    },
    { what: "git log -n 20 -- FILE, in a packed repository", unit: "ms", samples: samplesOf(logged) },
  ];
}

/** Makes a repository in which each commit changes one of the 200 files. Returns a `git log` of one of them. */
function gitHistory(context: BenchContext, commits: number): Command {
  const tree = context.scratch.fresh("long-list-git-tree");
  const env = gitTool.begin(tree, context.scratch.fresh("long-list-git")).record()[0]?.env ?? {};
  const git = (...args: string[]): Command => ({ argv: ["git", ...args], cwd: tree, env });
  const input = Array.from({ length: commits }, (_, n) => {
    const who = `committer writer <bench@example.com> ${1_790_000_000 + n} +0000`;
    const text = `change ${n}\n`;
    return `commit refs/heads/main\n${who}\ndata 1\nx\nM 100644 inline ${nameOf(n % 200)}\ndata ${text.length}\n${text}\n`;
  }).join("");
  const made = spawnSync("git", ["fast-import", "--quiet"], { cwd: tree, env, input, encoding: "utf8" });
  if (made.status !== 0) throw new Error(`git fast-import: ${made.stderr}`);
  timeCommands([git("gc", "-q")]);
  return git("log", "-n", "20", "--oneline", "main", "--", nameOf(7));
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

async function firstPage(options: Places, tree: string): Promise<void> {
  const store = await openStore(options);
  const workspace = await store.open({ folder: tree });
  await workspace.recent(20);
  await workspace.close();
  await store.close();
}
