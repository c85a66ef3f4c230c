import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { runCommand, type Command } from "./lib/command.ts";
import { gitHistory } from "./lib/git-history.ts";
import { makeLongHistory, nameOf } from "./lib/long-history.ts";
import { inMilliseconds, median, type Ratio, ratioInTurn } from "./lib/result.ts";
import { inTurn, type Side } from "./lib/rounds.ts";
import { StoreProcess } from "./lib/store-process.ts";

const ITERATIONS = 10_000;
/** Each action is three events. */
const ACTIONS = 1_000_000 / 3;
const FRESH_ACTIONS = 200;
const PAGE = 100;
const MOST_PAGE_MS = 60;
const MOST_GROWTH = 1.5;
const FILE = nameOf(0);

/** The commands that are asked in both stores. `history` is cut off after a page, as by a pager. */
const COMMANDS: readonly (readonly [string, ...string[]])[] = [["history", FILE], ["list"], ["log"], ["status"]];

export const oldAge: Bench = {
  name: "old-age",
  promise:
    "on the command line, the first page of a file's 10,000 iterations takes at most 60 ms; after 10,000 iterations and a million events, `history` (a page), `list`, `log` and `status` take at most 1.5 times as long as in a fresh store",
  async run(context) {
    const actions = amountFor(context, { what: "actions", all: Math.ceil(ACTIONS), quick: ITERATIONS });
    await using old = await storeOf(context, "old", actions);
    await using fresh = await storeOf(context, "fresh", FRESH_ACTIONS);
    mustFillPage(page(old.asked("history", FILE)));
    const git = gitHistory(context, FILE, ITERATIONS);
    const sides = COMMANDS.flatMap(([name, ...args]): Side[] => {
      const shown = (store: StoreProcess) => {
        // The command line lists turns itself, because only it can tell whether an agent asks.
        const command = name === "list" ? store.given(name, ...args) : store.asked(name, ...args);
        return [name === "history" ? page(command) : command];
      };
      return [
        { name: `chronicle ${name}, old store`, prepare: () => shown(old) },
        { name: `chronicle ${name}, fresh store`, prepare: () => shown(fresh) },
      ];
    });
    const rows = inMilliseconds(
      inTurn(context, [
        ...sides,
        { name: "chronicle history, old store, all iterations", prepare: () => [old.asked("history", FILE)] },
        { name: "git log, a page", prepare: () => [page(git("log", "--format=%H %ct", "main", "--", FILE))] },
        { name: "git log, all commits", prepare: () => [git("log", "--format=%H %ct", "main", "--", FILE)] },
      ]),
    );
    const samplesOf = (name: string) => rows.find(({ what }) => what === name)?.samples ?? [];
    return {
      rows,
      ratios: [
        {
          what: "chronicle history, old store",
          unit: "ms",
          samples: samplesOf("chronicle history, old store"),
          target: { kind: "at-most", value: MOST_PAGE_MS },
        },
        ...COMMANDS.map(([name]): Ratio => {
          const [aged, young] = ["old", "fresh"].map((store) => samplesOf(`chronicle ${name}, ${store} store`));
          return {
            what: `${name}: old / fresh store`,
            samples: [median(ratioInTurn(aged ?? [], young ?? []))],
            target: { kind: "at-most", value: MOST_GROWTH },
          };
        }),
      ],
      notes: [
        `the old store has ${3 * actions} events and ${ITERATIONS} iterations of the file, the fresh one ${3 * FRESH_ACTIONS} events. The store's process carries out the commands, except for \`list\`, which the command line carries out itself if there are turns of agents. A page is what \`head -n ${PAGE}\` takes of the output`,
      ],
    };
  },
};

/** Makes a store with a history of this number of actions, and starts its process. */
async function storeOf(context: BenchContext, name: string, actions: number): Promise<StoreProcess> {
  context.say(`writing ${actions} actions`);
  const tree = context.scratch.fresh(`${name}-tree`);
  const folder = context.scratch.fresh(`${name}-store`);
  mkdirSync(join(folder, "config"));
  const places = { home: join(folder, "home"), configFolder: join(folder, "config", "chronicle") };
  await makeLongHistory(places, tree, actions, Math.max(1, Math.round(actions / ITERATIONS)));
  return StoreProcess.of(tree, folder);
}

/** Cuts the output of a command off after a page. */
function page({ argv, cwd, env }: Command): Command {
  return { argv: ["sh", "-c", `"$@" | head -n ${PAGE}`, "sh", ...argv], cwd, ...(env === undefined ? {} : { env }) };
}

function mustFillPage(command: Command): void {
  const lines = runCommand(command).trimEnd().split("\n");
  if (lines.length !== PAGE) throw new Error(`a page of history has ${lines.length} lines: ${lines[0]}`);
}
