import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkspaceApi } from "../src/api/workspace-api.ts";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { chronicleCommand, LIMITS_OFF } from "./lib/chronicle-tool.ts";
import { baseEnv, type Command, runCommand } from "./lib/command.ts";
import { withWorkspace } from "./lib/open-workspace.ts";
import { percentile, type Ratio, type Row } from "./lib/result.ts";
import { inTurn } from "./lib/rounds.ts";

const FILES = 200;
const ACTIONS = 30;
const STAND_STILL_MS = 2_500;

/** A folder of 200 files, with what it has of git. */
interface Kind {
  readonly what: string;
  readonly make: (tree: string) => void;
  /** The most milliseconds that each recorded command may take longer than in the folder without a repository. */
  readonly promised?: number;
}

const KINDS: readonly Kind[] = [
  { what: "no repository", make: () => undefined },
  { what: "a repository with one branch", make: (tree) => repository(tree) },
  { what: "5,000 packed refs", make: (tree) => packRefs(tree, 5_000), promised: 15 },
  { what: "100,000 packed refs", make: (tree) => packRefs(tree, 100_000), promised: 65 },
  { what: "4,000 loose refs", make: (tree) => looseRefs(tree, 4_000) },
  { what: "5,000 loose objects", make: (tree) => looseObjects(tree, 5_000) },
  { what: "100 repositories within", make: nestedRepositories, promised: 50 },
];

export const gitState: Bench = {
  name: "git-state",
  isLong: true,
  promise:
    "the state of git costs at most 15 ms per recorded command with 5,000 refs, at most 50 ms more with 100,000 refs, and at most 50 ms for 100 repositories within the folder",
  async run(context) {
    const trees = KINDS.map((kind) => ({ ...kind, tree: treeOf(context, kind) }));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STAND_STILL_MS);
    const count = amountFor(context, { what: "actions", all: ACTIONS, quick: 10 });
    const actions: { readonly kind: Kind; readonly p50: number; readonly processor: number }[] = [];
    for (const kind of trees) {
      const samples = await withWorkspace(context.scratch.fresh("git-state-actions"), kind.tree, (workspace) =>
        bracketsIn(workspace, count),
      );
      const [p50, processor] = [samples.map(({ ms }) => ms), samples.map((one) => one.processorMs)].map((all) =>
        percentile(all, 0.5),
      );
      actions.push({ kind, p50: p50 ?? Number.NaN, processor: processor ?? Number.NaN });
    }
    const runs = inTurn(
      withRounds(context),
      trees.map(({ what, tree }) => ({ name: what, prepare: runIn(tree, context.scratch.fresh("git-state-runs")) })),
    );
    const plain = actions[0]?.p50 ?? Number.NaN;
    return {
      rows: [
        ...actions.flatMap(({ kind, p50, processor }): Row[] => [
          { what: `an action, ${kind.what}, p50`, unit: "ms", samples: [p50] },
          { what: `an action, ${kind.what}, processor time, p50`, unit: "ms", samples: [processor] },
        ]),
        ...runs.map((row): Row => ({ ...row, what: `run -- true, ${row.what}` })),
        ...peers(context, trees),
      ],
      ratios: [
        ...actions.slice(1).map(({ kind, p50 }): Ratio => more("an action", kind, [p50 - plain])),
        ...runs.slice(1).map((row, i): Ratio => {
          const samples = row.samples.map((seconds, n) => 1_000 * (seconds - (runs[0]?.samples[n] ?? Number.NaN)));
          return more("run -- true", KINDS[i + 1] ?? { what: row.what, make: () => undefined }, samples);
        }),
      ],
      notes: [
        `each folder has ${FILES} files. An action is the bracket around a shell command, in a program that keeps the workspace open. \`run -- true\` is a process of its own, without the store's process. "More" is the difference to the folder without a repository, in which nothing of git is read`,
      ],
    };
  },
};

/** Returns a context with five times as many rounds, because the differences are small. */
function withRounds(context: BenchContext): BenchContext {
  const { rounds } = context.options;
  const many = amountFor(context, { what: "rounds of `run`", all: 5 * rounds, quick: rounds });
  return { ...context, options: { ...context.options, rounds: many } };
}

function more(what: string, { what: kind, promised }: Kind, samples: readonly number[]): Ratio {
  const target = promised === undefined ? undefined : ({ kind: "at-most", value: promised } as const);
  return { what: `${what}, ${kind}: more`, unit: "ms", samples, target };
}

/** Measures git itself in the same repositories. */
function peers(context: BenchContext, trees: readonly (Kind & { readonly tree: string })[]): Row[] {
  const sides = trees.slice(2, -1).flatMap(({ what, tree }) =>
    [["for-each-ref"], ["status", "--porcelain"]].map((args) => ({
      name: `git ${args.join(" ")}, ${what}`,
      prepare: () => [git(tree, args)],
    })),
  );
  return inTurn(context, sides);
}

/** Records a folder. Returns a function that returns the command to time. */
function runIn(tree: string, store: string): () => Command[] {
  const chronicle = chronicleCommand(tree, store);
  runCommand(chronicle("init", ...LIMITS_OFF));
  // The first run reads everything, and keeps the objects.
  runCommand(chronicle("run", "--", "true"));
  return () => [chronicle("run", "--", "true")];
}

interface Bracket {
  readonly ms: number;
  readonly processorMs: number;
}

/** Resolves to the time of each bracket. */
async function bracketsIn(workspace: WorkspaceApi, count: number): Promise<Bracket[]> {
  const samples: Bracket[] = [];
  for (let i = 0; i <= count; i += 1) {
    const [started, used] = [performance.now(), process.cpuUsage()];
    const action = await workspace.snapshotAction({ type: "run_command", payload: { command: "make all" } });
    if (action === null) throw new Error("no snapshot was made before a command");
    await workspace.finishAction(action.id);
    // The first bracket reads everything, and keeps the objects.
    const { user, system } = process.cpuUsage(used);
    if (i > 0) samples.push({ ms: performance.now() - started, processorMs: (user + system) / 1_000 });
  }
  return samples;
}

function treeOf(context: BenchContext, { what, make }: Kind): string {
  context.say(`preparing ${what}`);
  const tree = join(context.scratch.fresh("git-state-tree"), "tree");
  for (let i = 0; i < FILES; i += 1) {
    const folder = join(tree, `folder-${i % 20}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `file-${i}.txt`), `text ${i}\n`);
  }
  make(tree);
  return tree;
}

function git(tree: string, args: readonly string[]): Command {
  const who = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"];
  const env = { ...baseEnv(tree), GIT_CONFIG_NOSYSTEM: "1" };
  return { argv: ["git", ...who, "-c", "gc.auto=0", ...args], cwd: tree, env };
}

/** Makes a repository with one packed commit. Returns the hash of the commit. */
function repository(tree: string): string {
  for (const args of [
    ["init", "-q", "-b", "main"],
    ["add", "."],
    ["commit", "-qm", "one"],
    ["gc", "-q"],
  ]) {
    runCommand(git(tree, args));
  }
  return runCommand(git(tree, ["rev-parse", "HEAD"])).trim();
}

function refNames(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `refs/heads/topic/${String(i).padStart(6, "0")}`);
}

function packRefs(tree: string, count: number): void {
  const commit = repository(tree);
  const lines = refNames(count).map((name) => `${commit} ${name}`);
  const header = "# pack-refs with: peeled fully-peeled sorted";
  writeFileSync(join(tree, ".git/packed-refs"), `${[header, `${commit} refs/heads/main`, ...lines].join("\n")}\n`);
}

function looseRefs(tree: string, count: number): void {
  const commit = repository(tree);
  mkdirSync(join(tree, ".git/refs/heads/topic"), { recursive: true });
  for (const name of refNames(count)) writeFileSync(join(tree, ".git", name), `${commit}\n`);
}

function looseObjects(tree: string, count: number): void {
  repository(tree);
  const names = Array.from({ length: count }, (_, i) => {
    const file = join(tree, ".git", `bench-${i}`);
    writeFileSync(file, `object ${i}\n`);
    return file;
  });
  for (let at = 0; at < names.length; at += 500) {
    runCommand(git(tree, ["hash-object", "-w", "--no-filters", ...names.slice(at, at + 500)]));
  }
  runCommand({ argv: ["find", ".git", "-maxdepth", "1", "-name", "bench-*", "-delete"], cwd: tree });
}

function nestedRepositories(tree: string): void {
  const first = join(tree, "packages/package-0");
  mkdirSync(first, { recursive: true });
  writeFileSync(join(first, "file.txt"), "text\n");
  repository(first);
  for (let i = 1; i < 100; i += 1) runCommand({ argv: ["cp", "-a", first, `packages/package-${i}`], cwd: tree });
}
