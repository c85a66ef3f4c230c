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
import type { Bench } from "./lib/bench.ts";
import { cacheFolder } from "./lib/corpus.ts";
import { describeMachine } from "./lib/machine.ts";
import { parseBenchOptions } from "./lib/options.ts";
import { machineLine, resultTable, type Report } from "./lib/print.ts";
import { openScratch } from "./lib/scratch.ts";
import { longList } from "./long-list.ts";
import { manyReplicas } from "./many-replicas.ts";
import { millionEvents } from "./million-events.ts";
import { nothingChanged } from "./nothing-changed.ts";
import { oneAction } from "./one-action.ts";
import { oneFile } from "./one-file.ts";
import { pageMany } from "./page-many.ts";
import { pageTimeline } from "./page-timeline.ts";
import { peakMemoryBench } from "./peak-memory.ts";
import { residentChanges } from "./resident-changes.ts";
import { residentCheckout } from "./resident-checkout.ts";
import { residentRun } from "./resident-run.ts";
import { residentStart } from "./resident-start.ts";
import { residentStatus } from "./resident-status.ts";
import { residentUndo } from "./resident-undo.ts";
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
  residentStatus,
  residentCheckout,
  residentChanges,
  residentUndo,
  residentRun,
  residentStart,
  diskUsed,
  oneFile,
  oneAction,
  commandBracket,
  gitState,
  hookLatency,
  actionSession,
  millionEvents,
  longList,
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
await runAll(BENCHES.filter((bench) => options.names.length === 0 || options.names.includes(bench.name)));

/**
 * Runs the benches one after the other. If a bench fails, the error is printed, the exit code is 1, and the other
 * benches still run.
 */
async function runAll(chosen: readonly Bench[]): Promise<void> {
  // The variable makes every start of Node three times slower.
  delete process.env["NODE_EXTRA_CA_CERTS"];
  using scratch = openScratch(cacheFolder(), options.scratch);
  const say = (words: string) => console.error(`bench: ${words}`);
  const head = { machine: describeMachine(), corpus: options.corpus, rounds: options.rounds, disk: scratch.place };
  if (!options.json) console.log(`${machineLine(head)}\n`);
  const done: Report["benches"][number][] = [];
  for (const bench of chosen) {
    say(bench.name);
    const started = performance.now();
    try {
      const result = await bench.run({ options, scratch, say });
      done.push({ name: bench.name, promise: bench.promise, result });
      if (!options.json) console.log(resultTable(bench, result));
    } catch (error) {
      process.exitCode = 1;
      console.error(`bench: ${bench.name} failed:`, error);
    }
    say(`${bench.name} took ${Math.round((performance.now() - started) / 1000)} s`);
  }
  if (options.json) console.log(JSON.stringify({ ...head, benches: done } satisfies Report, undefined, 2));
}
