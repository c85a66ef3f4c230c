import { sameRecorded } from "../../core/values/entry.ts";
import type { LogEvent } from "../../core/values/event.ts";
import type { EventRow, IterationRow } from "../../storage/index-store.ts";
import type { HistoryContext } from "../log/context.ts";
import { BASELINE_SEQ, historyStart } from "../log/history-start.ts";
import { baseOf, iterationsOf } from "../log/project.ts";
import { isInBase, readBase } from "../log/read-base.ts";
import { wholeOrNone } from "../log/read-events.ts";
import { provedEvent } from "./stated-root.ts";
import { addAll } from "../../util/long-lists.ts";

/**
 * The result of comparing an iteration with its line of the log:
 * - `same`: the line records this iteration.
 * - `other`: the line does not record this iteration.
 * - `in-base`: the iteration has no line of its own. Only a base can prove it.
 */
export type LineSays = "same" | "other" | "in-base";

/** Compares each iteration with the line of its event. The results have the order of `rows`. */
export async function linesSay(context: HistoryContext, rows: readonly IterationRow[]): Promise<LineSays[]> {
  const located = await locateAll(context, new Set(rows.map(({ seq }) => seq)));
  const events = await wholeEvents(
    context,
    located.filter((row) => !isInBase(row)),
  );
  return rows.map((row) => {
    const event = events.get(row.seq);
    if (event === undefined || event.op === "compact" || baseOf(event) !== undefined) return "in-base";
    const said = iterationsOf(event).find(({ path }) => path === row.path);
    return said !== undefined && sameRow(said, row) ? "same" : "other";
  });
}

/** The largest distance, in events, at which two events are located with one query of the index. */
const NEAR = 4;

async function locateAll({ index }: HistoryContext, seqs: ReadonlySet<number>): Promise<EventRow[]> {
  const found: EventRow[] = [];
  for (const run of runsOf(
    [...seqs].toSorted((a, b) => a - b).map((seq) => ({ seq })),
    NEAR,
  )) {
    const [first] = run;
    if (first === undefined) continue;
    const rows = await index.events({ from: first.seq, to: run.at(-1)?.seq ?? first.seq });
    addAll(
      found,
      rows.filter(({ seq }) => seqs.has(seq)),
    );
  }
  return found;
}

/** The largest distance, in events, at which two lines are read in one pass over the log. */
const FAR = 64;

/**
 * Returns the events of the rows, by seq. Each line is checked by its hash. Lines that are close together are read in
 * one pass.
 */
async function wholeEvents(context: HistoryContext, rows: readonly EventRow[]): Promise<Map<number, LogEvent>> {
  const found = new Map<number, LogEvent>();
  const wanted = rows.toSorted((a, b) => a.seq - b.seq);
  for (const run of runsOf(wanted, FAR)) await readRun(context, run, found);
  // A line that was not found in its place is read again by itself. If the line is damaged, this second read throws the
  // error that describes the damage.
  for (const row of wanted) if (!found.has(row.seq)) found.set(row.seq, (await provedEvent(context, row)).event);
  return found;
}

/**
 * Divides rows into groups (`run`) of rows that are close together. The rows must be in the order of their events. A
 * new group begins at each row that is more than `far` events after the row before it.
 */
function* runsOf<Row extends Pick<EventRow, "seq">>(rows: readonly Row[], far: number): Generator<readonly Row[]> {
  let run: Row[] = [];
  for (const row of rows) {
    const last = run.at(-1);
    if (last !== undefined && row.seq - last.seq > far) {
      yield run;
      run = [];
    }
    run.push(row);
  }
  if (run.length > 0) yield run;
}

async function readRun(context: HistoryContext, run: readonly EventRow[], found: Map<number, LogEvent>): Promise<void> {
  const [first] = run;
  const upTo = run.at(-1)?.seq ?? 0;
  if (first === undefined) return;
  const wanted = new Map(run.map((row) => [row.seq, row]));
  let { seq } = first;
  for await (const lines of context.log.read({ seq, offset: first.offset })) {
    for (const { bytes } of lines) {
      const row = wanted.get(seq);
      const event = row === undefined ? undefined : wholeOrNone(bytes);
      if (event !== undefined && event.seq === row?.seq && event.hash === row.hash) found.set(seq, event);
      if (seq === upTo) return;
      seq += 1;
    }
  }
}

/** True if the base on which the history starts (see `startOf`) has this iteration. Reads the whole base. */
export async function baseSays(context: HistoryContext, row: IterationRow): Promise<boolean> {
  const { anchor, index, blobs } = context;
  const seq = await startOf(context);
  const located = anchor === undefined ? await index.locate(seq) : undefined;
  const base = located === undefined ? anchor?.base : baseOf((await provedEvent(context, located)).event);
  if (base === undefined) return false;
  const { entries } = await readBase(blobs, base, `that event ${seq} starts on`);
  return entries.some((one) => one.path === row.path && sameRow(one, row));
}

/**
 * Returns the seq of the event whose base has the iterations that have no lines of their own. This is the event on
 * which the history starts, or else the baseline.
 */
export async function startOf(context: HistoryContext): Promise<number> {
  return (await historyStart(context))?.seq ?? BASELINE_SEQ;
}

function sameRow(a: Pick<IterationRow, "seq" | "iteration" | "entry">, b: IterationRow): boolean {
  return a.seq === b.seq && a.iteration === b.iteration && sameRecorded(a.entry, b.entry);
}
