import { spawnSync } from "node:child_process";
import type { WorkspaceApi } from "../src/api/workspace-api.ts";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { BenchServer } from "./lib/bench-server.ts";
import { type Command, timeCommands } from "./lib/command.ts";
import { gitTool } from "./lib/git-tool.ts";
import { median, percentile } from "./lib/result.ts";

const LINES = 5_000;
const ITERATIONS = 1_000;
const TIMES = 20;
const FIRST_TIMES = 5;
const PATH = "src/much-changed.txt";

export const blameLines: Bench = {
  name: "blame-lines",
  promise:
    "the authors of all lines of a file of 5,000 lines and 1,000 iterations take at most 1.5 s, and at most 100 ms when they are asked for again",
  async run(context) {
    const contents = contentsOf(amountFor(context, { what: "iterations", all: ITERATIONS }));
    await using server = new BenchServer(context.scratch.fresh("blame-lines"));
    await server.start();
    const { workspace } = await server.client.store.create({ name: "bench" });
    context.say(`writing ${contents.length} iterations`);
    for (const [n, content] of contents.entries())
      await workspace.putFile(PATH, Buffer.from(content), { actor: `writer-${n % 5}` });
    const times = amountFor(context, { what: "starts of the server", all: FIRST_TIMES, quick: 2 });
    const first: number[] = [];
    const again: number[] = [];
    for (let i = 0; i < times; i += 1) {
      // A new process remembers nothing.
      await server.stop();
      await server.start();
      // The server opens the workspace before the clock starts, as for the other reads.
      const asked = await server.client.store.openById("bench");
      await asked.history(PATH, { limit: 1 });
      first.push(await timed(asked));
      for (let n = 0; n < TIMES; n += 1) again.push(await timed(asked));
    }
    return {
      rows: gitBlame(context, contents),
      ratios: [
        { what: "chronicle, the first time", unit: "ms", samples: first, target: { kind: "at-most", value: 1_500 } },
        {
          what: "chronicle, again, p50",
          unit: "ms",
          samples: [percentile(again, 0.5)],
          target: { kind: "at-most", value: 100 },
        },
      ],
      notes: [
        `${contents.length} iterations, each with one to five changed places of one line. The client asks a server over TCP with a token, and parses all ${LINES} lines. The first time is that of a process that has just been started`,
      ],
    };
  },
};

/** Resolves to the milliseconds until all lines were parsed. */
async function timed(workspace: WorkspaceApi): Promise<number> {
  const started = performance.now();
  const { lines, origins } = await workspace.blame(PATH);
  const ms = performance.now() - started;
  if (lines.length > LINES - 500 && origins.length > 50) return ms;
  throw new Error(`${lines.length} lines and ${origins.length} origins`);
}

/** Returns the successive contents of the file. The changes are the same in every run. */
function contentsOf(count: number): string[] {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
    return seed % below;
  };
  const lines = Array.from({ length: LINES }, (_, i) => `  const value${i} = compute(${i}, "some text");`);
  return Array.from({ length: count }, (_, n) => {
    for (let k = random(5); k >= 0; k -= 1) {
      const [at, what] = [random(lines.length), random(3)];
      if (what === 0) lines.splice(at, 1, `  changed(${n}, ${k});`);
      else if (what === 1) lines.splice(at, 0, `  added(${n}, ${k});`);
      else if (lines.length > LINES - 100) lines.splice(at, 1);
    }
    return `${lines.join("\n")}\n`;
  });
}

/** Times `git blame` of the file, in a packed repository with one commit for each iteration. */
function gitBlame(
  context: BenchContext,
  contents: readonly string[],
): { what: string; unit: string; samples: number[] }[] {
  const tree = context.scratch.fresh("blame-lines-git-tree");
  const env = gitTool.begin(tree, context.scratch.fresh("blame-lines-git")).record()[0]?.env ?? {};
  const git = (...args: string[]): Command => ({ argv: ["git", ...args], cwd: tree, env });
  const commits = contents.map(commitOf).join("");
  const made = spawnSync("git", ["fast-import", "--quiet"], { cwd: tree, env, input: commits, encoding: "utf8" });
  if (made.status !== 0) throw new Error(`git fast-import: ${made.stderr}`);
  timeCommands([git("gc", "-q")]);
  const samples = Array.from({ length: FIRST_TIMES }, () => 1000 * timeCommands([git("blame", "main", "--", PATH)]));
  return [{ what: "git blame, in a packed repository", unit: "ms", samples: [median(samples)] }];
}

/** Returns a commit in the format of `git fast-import`. */
function commitOf(text: string, n: number): string {
  const who = `writer-${n % 5} <bench@example.com> ${1_790_000_000 + n} +0000`;
  return `commit refs/heads/main\ncommitter ${who}\ndata 1\nx\nM 100644 inline ${PATH}\ndata ${Buffer.byteLength(text)}\n${text}\n`;
}
