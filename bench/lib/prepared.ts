import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { BenchContext } from "./bench.ts";
import { timeCommands } from "./command.ts";
import { corpusFolder } from "./corpus.ts";
import { StoreProcess } from "./store-process.ts";
import type { Kept, Tool } from "./tool.ts";

/**
 * The time for which a new copy of the corpus is left unchanged, in milliseconds. If a file was changed just before a
 * capture, the next capture reads the file again, because a second change within the same tick of the clock would not
 * change the file's time. git does the same. The trees of users have usually been unchanged for longer than this.
 */
const STAND_STILL_MS = 2_500;

/**
 * Copies the corpus into a new folder of the scratch, and waits for `STAND_STILL_MS`. The files of the copy are then in
 * the page cache. Returns the path of the copy.
 */
function copyOfCorpus(context: BenchContext, name: string): string {
  const tree = unsettledCopy(context, name);
  standStill();
  return tree;
}

/** Like `copyOfCorpus`, but all files look as if they were written at this moment, as after a checkout. */
export function freshCopyOfCorpus(context: BenchContext, name: string): string {
  const tree = unsettledCopy(context, name);
  const touched = spawnSync("find", [tree, "-type", "f", "-exec", "touch", "{}", "+"], { encoding: "utf8" });
  if (touched.status !== 0) throw new Error(`could not touch the files: ${touched.stderr}`);
  return tree;
}

/** Returns a copy of the corpus that all benches of the run share. No bench changes a file of it. */
export function untouchedCopy(context: BenchContext): string {
  return sharedCopy(context, "untouched");
}

/** Returns a copy of the corpus that benches share which do not rely on its contents. A bench may change its files. */
export function changingCopy(context: BenchContext): string {
  return sharedCopy(context, "changing");
}

/**
 * Returns recorded copies of the corpus, one for each tool, that all benches of the run share. A bench leaves the tree
 * and the last recorded state equal to the corpus.
 */
export function recorded<const Tools extends readonly Tool[]>(context: BenchContext, ...tools: Tools): KeptBy<Tools> {
  const missing = tools.filter((tool) => !context.shared.kept.has(keyOf(context, tool)));
  const trees = missing.map((tool) => unsettledCopy(context, `${tool.name}-tree`));
  if (missing.length > 0) standStill();
  for (const [i, tool] of missing.entries()) {
    context.say(`preparing ${tool.name}`);
    const kept = tool.begin(trees[i] ?? "", context.scratch.fresh(`${tool.name}-store`));
    timeCommands([...kept.record(), ...(kept.keepFirst?.() ?? [])]);
    context.shared.kept.set(keyOf(context, tool), kept);
  }
  return tools.map((tool) => context.shared.kept.get(keyOf(context, tool))) as unknown as KeptBy<Tools>;
}

/** What each of some tools keeps. */
type KeptBy<Tools extends readonly Tool[]> = { readonly [At in keyof Tools]: Kept };

/**
 * Begins a history of `untouchedCopy` in a new store of a tool. Once the caller has run the commands of `record`,
 * `firstCapture` returns this history.
 */
export function firstCaptureBy(context: BenchContext, tool: Tool): Kept {
  const kept = tool.begin(untouchedCopy(context), context.scratch.fresh(`${tool.name}-store`));
  context.shared.kept.set(captureKey(context, tool), kept);
  return kept;
}

/** Returns the first capture of `untouchedCopy` by a tool. No bench adds to it. */
export function firstCapture(context: BenchContext, tool: Tool): Kept {
  const earlier = context.shared.kept.get(captureKey(context, tool));
  if (earlier !== undefined) return earlier;
  context.say(`preparing ${tool.name}`);
  const kept = firstCaptureBy(context, tool);
  timeCommands(kept.record());
  return kept;
}

/**
 * Resolves to the process of a store whose workspace is a copy of the corpus. The benches whose names begin with
 * `resident-` share it. A bench leaves the tree equal to the corpus, and everything recorded.
 */
export async function residentProcess(context: BenchContext): Promise<StoreProcess> {
  const { processes } = context.shared;
  const earlier = processes.get(context.options.corpus);
  if (earlier !== undefined) return earlier;
  context.say("preparing chronicle and its process");
  const tree = copyOfCorpus(context, "resident-tree");
  const started = await StoreProcess.start(tree, context.scratch.fresh("resident-store"));
  processes.set(context.options.corpus, started);
  return started;
}

const keyOf = (context: BenchContext, tool: Tool) => `${context.options.corpus}, ${tool.name}`;
const captureKey = (context: BenchContext, tool: Tool) => `${keyOf(context, tool)}, first capture`;

function sharedCopy(context: BenchContext, use: string): string {
  const { trees } = context.shared;
  const key = `${context.options.corpus}, ${use}`;
  const tree = trees.get(key) ?? copyOfCorpus(context, `${use}-tree`);
  trees.set(key, tree);
  return tree;
}

function unsettledCopy(context: BenchContext, name: string): string {
  const tree = join(context.scratch.fresh(name), "tree");
  const copied = spawnSync("cp", ["-a", corpusFolder(context.options.corpus), tree], { encoding: "utf8" });
  if (copied.status !== 0) throw new Error(`could not copy the corpus: ${copied.stderr}`);
  return tree;
}

function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STAND_STILL_MS);
}
