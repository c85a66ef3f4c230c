import type { Bench } from "./lib/bench.ts";
import { Changes } from "./lib/changes.ts";
import { runCommand } from "./lib/command.ts";
import { corpusTarget } from "./lib/corpus-target.ts";
import { repositoryTool } from "./lib/git-tool.ts";
import { recorded, residentProcess } from "./lib/prepared.ts";
import { inMilliseconds, ratioInTurn, type Row } from "./lib/result.ts";
import { inTurn, manyRounds, type Side } from "./lib/rounds.ts";
import type { StoreProcess } from "./lib/store-process.ts";

const MOST_MS = 50;
const MOST_IN_PROCESS_MS = 10;
const SHARE_OF_GIT = { M: 0.4, L: 0.1 } as const;
const REQUESTS = 30;

export const residentStatus: Bench = {
  name: "resident-status",
  promise:
    "`chronicle status`, carried out by the store's process, takes at most 50 ms (10 ms of them in the process), and of the time of `git status` at most 0.4 times in corpus M and 0.1 times in L",
  beside: ["S", "R"],
  async run(context) {
    const ours = await residentProcess(context);
    const [git] = recorded(context, repositoryTool);
    const sides: readonly Side[] = [
      { name: "chronicle status", prepare: () => [ours.asked("status")] },
      { name: "git status", prepare: () => git.status?.() ?? [] },
      { name: "chronicle status, without the process", prepare: () => [ours.direct("status")] },
    ];
    const unchanged = inMilliseconds(inTurn(manyRounds(context), sides));
    const requests = await requestsOf(ours);
    for (const tree of [ours.tree, git.tree]) new Changes(tree).make(0);
    const changed = inMilliseconds(inTurn(manyRounds(context), sides));
    for (const command of [ours.given("restore", "baseline", "--yes"), ...(git.backToFirst?.() ?? [])]) {
      runCommand(command);
    }
    const [own = [], gits = []] = unchanged.map((row) => row.samples);
    const [ownChanged = [], gitsChanged = []] = changed.map((row) => row.samples);
    return {
      rows: [...labelled("nothing changed", unchanged), ...labelled("18 changes", changed)],
      ratios: [
        { what: "chronicle status", unit: "ms", samples: own, target: { kind: "at-most", value: MOST_MS } },
        {
          what: "the request alone, without the start of a program",
          unit: "ms",
          samples: requests,
          target: { kind: "at-most", value: MOST_IN_PROCESS_MS },
        },
        {
          what: "chronicle status / git status",
          samples: ratioInTurn(own, gits),
          target: corpusTarget(context, SHARE_OF_GIT),
        },
        {
          what: "chronicle status / git status, 18 changes",
          samples: ratioInTurn(ownChanged, gitsChanged),
          target: undefined,
        },
      ],
      notes: [
        `the request alone is \`status\` of the HTTP API on the process's socket, ${REQUESTS} times, nothing changed`,
      ],
    };
  },
};

/** Resolves to the milliseconds of requests for the status on the process's socket, one after the other. */
async function requestsOf(ours: StoreProcess): Promise<number[]> {
  const client = ours.client();
  const [workspace] = await client.store.workspaces();
  const opened = await client.store.openById(workspace?.id ?? "");
  await opened.status();
  const samples: number[] = [];
  for (let i = 0; i < REQUESTS; i++) {
    const started = performance.now();
    await opened.status();
    samples.push(performance.now() - started);
  }
  await client.close();
  return samples;
}

/** Adds a state of the tree to the labels of rows. */
function labelled(state: string, rows: readonly Row[]): Row[] {
  return rows.map((row) => ({ ...row, what: `${row.what}: ${state}` }));
}
