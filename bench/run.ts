import { actionSession } from "./action-session.ts";
import { baseline } from "./baseline.ts";
import { blameLines } from "./blame-lines.ts";
import { commandBracket } from "./command-bracket.ts";
import { diskUsed } from "./disk-used.ts";
import { fewChanges } from "./few-changes.ts";
import { filterSpeed } from "./filter-speed.ts";
import { firstSync } from "./first-sync.ts";
import { gitState } from "./git-state.ts";
import { hookLatency } from "./hook-latency.ts";
import type { Bench, BenchContext } from "./lib/bench.ts";
import { cacheFolder } from "./lib/corpus.ts";
import { describeMachine } from "./lib/machine.ts";
import { type CorpusName, parseBenchOptions } from "./lib/options.ts";
import { machineLine, resultTable, type Report } from "./lib/print.ts";
import { processorSecondsOfAll } from "./lib/processor-seconds.ts";
import type { Result } from "./lib/result.ts";
import { openScratch } from "./lib/scratch.ts";
import { Shared } from "./lib/shared.ts";
import { longList } from "./long-list.ts";
import { manyReplicas } from "./many-replicas.ts";
import { millionEvents } from "./million-events.ts";
import { nothingChanged } from "./nothing-changed.ts";
import { oldAge } from "./old-age.ts";
import { oneAction } from "./one-action.ts";
import { oneFile } from "./one-file.ts";
import { pageMany } from "./page-many.ts";
import { pageTimeline } from "./page-timeline.ts";
import { peakMemoryBench } from "./peak-memory.ts";
import { residentChanges } from "./resident-changes.ts";
import { residentCheckout } from "./resident-checkout.ts";
import { residentIdle } from "./resident-idle.ts";
import { residentRun } from "./resident-run.ts";
import { residentStart } from "./resident-start.ts";
import { residentStatus } from "./resident-status.ts";
import { residentUndo } from "./resident-undo.ts";
import { residentUndoMany } from "./resident-undo-many.ts";
import { restoreInPlace } from "./restore-in-place.ts";
import { restoreIntoEmpty } from "./restore-into-empty.ts";
import { searchContents } from "./search-contents.ts";
import { serveEvents } from "./serve-events.ts";
import { serveHistory } from "./serve-history.ts";
import { serveMany } from "./serve-many.ts";
import { serveRead } from "./serve-read.ts";
import { serveWrite } from "./serve-write.ts";
import { syncEqual } from "./sync-equal.ts";
import { syncThroughput } from "./sync-throughput.ts";
import { syncLatency } from "./sync-latency.ts";

const BENCHES: readonly Bench[] = [
  baseline,
  nothingChanged,
  fewChanges,
  restoreInPlace,
  restoreIntoEmpty,
  diskUsed,
  residentIdle,
  residentStatus,
  residentRun,
  residentStart,
  residentUndo,
  residentUndoMany,
  residentChanges,
  residentCheckout,
  oneFile,
  oneAction,
  commandBracket,
  gitState,
  hookLatency,
  actionSession,
  millionEvents,
  longList,
  oldAge,
  pageTimeline,
  pageMany,
  peakMemoryBench,
  serveRead,
  serveWrite,
  serveHistory,
  blameLines,
  searchContents,
  serveEvents,
  serveMany,
  filterSpeed,
  syncLatency,
  syncEqual,
  syncThroughput,
  firstSync,
  manyReplicas,
];

const options = parseBenchOptions(process.argv.slice(2));
const unknown = options.names.filter((name) => !BENCHES.some((bench) => bench.name === name));
if (unknown.length > 0) {
  throw new Error(`no such bench: ${unknown.join(", ")}. There are: ${BENCHES.map((bench) => bench.name).join(", ")}`);
}
if (options.list) {
  for (const bench of BENCHES) console.log(`${bench.name.padEnd(20)} ${bench.promise}`);
  process.exit(0);
}
const isAll = options.names.length === 0;
const left = BENCHES.filter((bench) => options.isQuick && isAll && bench.isLong === true);
const named = (bench: Bench) => isAll || options.names.includes(bench.name);
await runAll(BENCHES.filter((bench) => named(bench) && !left.includes(bench)));

/** Returns a bench with each corpus in which this run measures it. */
function measurements(bench: Bench): (readonly [Bench, CorpusName])[] {
  const beside = options.corpus === "M" ? (bench.beside ?? []) : [];
  return [options.corpus, ...beside].map((corpus) => [bench, corpus]);
}

/** Adds a note about what the bench measured less of than a full run. */
function withShortened(result: Result, shortened: ReadonlyMap<string, string>): Result {
  if (shortened.size === 0) return result;
  return { ...result, notes: [...result.notes, `a quick look: ${[...shortened.values()].join(", ")}`] };
}

/**
 * Runs the benches one after the other. If a bench fails, the error is printed, the exit code is 1, and the other
 * benches still run.
 */
async function runAll(chosen: readonly Bench[]): Promise<void> {
  // The variable makes every start of Node three times slower.
  delete process.env["NODE_EXTRA_CA_CERTS"];
  using scratch = openScratch(cacheFolder(), options.scratch);
  const say = (words: string) => console.error(`bench: ${words}`);
  const leftOut = left.map(({ name }) => name);
  const { corpus: chosenCorpus, rounds, isQuick } = options;
  const head = { machine: describeMachine(), corpus: chosenCorpus, rounds, isQuick, leftOut, disk: scratch.place };
  if (!options.json) console.log(`${machineLine(head)}\n`);
  const done: Report["benches"][number][] = [];
  await using shared = new Shared();
  const begun = performance.now();
  for (const [bench, corpus] of chosen.flatMap(measurements)) {
    say(`${bench.name}, corpus ${corpus}`);
    const [started, used] = [performance.now(), processorSecondsOfAll()];
    try {
      if (!bench.name.startsWith("resident-")) await shared.endProcesses();
      const shortened = new Map<string, string>();
      const context: BenchContext = { options: { ...options, corpus }, scratch, shared, shortened, say };
      const result = withShortened(await bench.run(context), shortened);
      done.push({ name: bench.name, promise: bench.promise, corpus, result });
      if (!options.json) console.log(resultTable(bench, corpus, result));
    } catch (error) {
      process.exitCode = 1;
      console.error(`bench: ${bench.name} failed:`, error);
      // The bench may have left something else than the next one expects.
      await shared.forget();
    }
    const [seconds, processor] = [(performance.now() - started) / 1000, processorSecondsOfAll() - used];
    say(`${bench.name} took ${seconds.toFixed(0)} s (${processor.toFixed(1)} s of processor time)`);
  }
  say(`all together took ${((performance.now() - begun) / 1000).toFixed(0)} s`);
  if (options.json) console.log(JSON.stringify({ ...head, benches: done } satisfies Report, undefined, 2));
}
