import type { LogEvent } from "../../core/values/event.ts";
import { decodeIntent } from "../../core/records/records.ts";
import { decodeReplica, originOfRecordId } from "../../core/records/replica-record.ts";
import { decodeWriteBack } from "../../core/records/write-back.ts";
import type { Context } from "../log/context.ts";
import { indexedFrom } from "../log/history-start.ts";
import { prunedBy } from "../facts/pruning.ts";
import { isInBase } from "../log/read-base.ts";
import { readEvents } from "../log/read-events.ts";
import { addAll, leastOf } from "../../util/long-lists.ts";
import { firstFill } from "../facts/brought-paths.ts";
import type { RecentLine, Who } from "./recent-line.ts";
import type { RecentView } from "./recent-view.ts";

/** The maximum pause, in milliseconds, between consecutive changes of a sync that form one line. */
const PAUSE_MS = 120_000;

/** The number of events of a source that are read at once. */
const STRIDE = 500;

/** Changes that came from a source together. */
interface Brought {
  /** The seq of the event before the first of these changes. */
  readonly fromSeq: number;
  readonly seq: number;
  /** The time of event `seq`, in ISO-8601. */
  readonly ts: string;
  readonly changed: number;
}

/**
 * A peer from which changes come. When changes of the peer are recorded, an event of the record `recordId` is written,
 * too.
 */
interface Source {
  readonly id: string;
  readonly who: Who;
  readonly summary: string;
  readonly recordId: string;
  /**
   * Returns the changes that were written with an event of the record; `undefined` if there are none. `before`: the seq
   * of the record's previous event; 0 if there is none.
   */
  readonly broughtBy: (event: LogEvent, before: number) => Brought | undefined;
}

/**
 * Returns lines for the changes that came from origins (in a replica) and from replicas (in an origin). Consecutive
 * changes of one source form one line if the pause between them is short and nothing else happened between them. Any
 * other change of a file, and any event with a line of its own, separates the lines. `between`: the seqs of the events
 * with lines of their own. `most`: the number of the newest lines to return for each source. More lines than this may
 * be returned.
 */
export async function syncLines(
  { context, after, upTo }: Pick<RecentView, "context" | "after" | "upTo">,
  { between, most }: { readonly between: readonly number[]; readonly most: number },
): Promise<SyncLines> {
  const borders = between.toSorted((a, b) => a - b);
  const lines: RecentLine[] = [];
  const going: number[] = [];
  const filled = (await firstFill(context)) ?? 0;
  for (const source of [...(await origins(context)), ...(await replicas(context))]) {
    const { runs, isGoing } = await runsOf(context, source, { borders, most, after, upTo });
    for (const run of runs) lines.push(lineOf(context, source, { run, filled }));
    if (isGoing)
      addAll(
        going,
        runs.slice(0, 1).flatMap(([last]) => last?.seq ?? []),
      );
  }
  return { lines, going };
}

interface SyncLines {
  readonly lines: RecentLine[];
  /** The seqs of the lines that may go on after the view. */
  readonly going: readonly number[];
}

interface SyncRun {
  /** The changes that form the line, from the newest to the oldest. */
  readonly run: readonly Brought[];
  /** The seq at which this replica first had all files of its origin; 0 if there is no such event. */
  readonly filled: number;
}

function lineOf(context: Context, { id, summary, who }: Source, { run, filled }: SyncRun): RecentLine {
  const [last, first] = [run[0] as Brought, run.at(-1) as Brought];
  // A restore to a state before the first fill would remove everything that came from the origin, so no restore is
  // offered.
  const back = async (): Promise<string> =>
    first.fromSeq >= filled && (await isHeld(context, first.fromSeq)) ? `chronicle restore seq:${first.fromSeq}` : "";
  return {
    kind: "sync",
    id,
    seq: last.seq,
    fromSeq: first.fromSeq,
    timestamp: last.ts,
    summary,
    actor: id,
    who,
    changed: run.reduce((sum, one) => sum + one.changed, 0),
    more: async () => ({ back: await back() }),
  };
}

async function isHeld(context: Context, seq: number): Promise<boolean> {
  const begins = (await indexedFrom(context)) ?? 1;
  return seq >= begins - 1 && (await prunedBy(context, seq, seq + 1)) === undefined;
}

async function origins(context: Context): Promise<Source[]> {
  const rows = await context.index.records("replica:");
  return (await readEvents(context, rows)).map(({ recordId, record }) => {
    const { url, workspace } = decodeReplica(record);
    const id = originOfRecordId(recordId) ?? "";
    const summary = `from ${url}${workspace === undefined ? "" : `#${workspace}`}`;
    return { id, who: "origin" as const, summary, recordId: `intent:${id}`, broughtBy: stepOf };
  });
}

/** Returns the changes of a finished step of a sync; `undefined` if the event does not finish the step's intent. */
function stepOf({ seq, ts, record }: LogEvent): Brought | undefined {
  const { state, fromSeq, paths, skipped = 0 } = decodeIntent(record);
  return state === "done" ? { fromSeq, seq, ts, changed: paths - skipped } : undefined;
}

async function replicas(context: Context): Promise<Source[]> {
  const prefix = "writeback:";
  return (await context.index.records(prefix)).map(({ recordId }) => {
    const id = recordId.slice(prefix.length);
    const summary = `from the replica ${id.slice(0, 8)}`;
    return { id, who: "replica" as const, summary, recordId, broughtBy: writtenBy };
  });
}

/**
 * Returns the accepted changes of a replica that became events after event `before`, which is the previous answer to
 * the replica.
 */
function writtenBy({ seq, ts, record }: LogEvent, before: number): Brought | undefined {
  const { accepted } = decodeWriteBack(record);
  const became = new Set(accepted.map(({ sequence }) => sequence).filter((one) => one > before));
  return became.size === 0 ? undefined : { fromSeq: leastOf(became) - 1, seq, ts, changed: became.size };
}

interface Reach {
  readonly borders: readonly number[];
  readonly most: number;
  /** Changes after `upTo` are left out, and groups whose changes are all at or before `after` are not needed. */
  readonly after: number;
  readonly upTo: number;
}

interface SyncRuns {
  readonly runs: readonly Brought[][];
  /** True if the newest group may go on after `upTo`. */
  readonly isGoing: boolean;
}

/**
 * Divides the changes of a source into groups (`run`) that form one line each. The groups, and the changes in each
 * group, are ordered from the newest to the oldest. Stops reading once there are more than `most` groups, or a group
 * that is not needed.
 */
async function runsOf(
  context: Context,
  { recordId, broughtBy }: Source,
  { borders, most, after, upTo }: Reach,
): Promise<SyncRuns> {
  const all = await context.index.recordHistory(recordId);
  const rows = all.filter((row) => !isInBase(row) && row.seq <= upTo);
  const compacted = all.findLast(isInBase)?.seq ?? 0;
  const runs: Brought[][] = [];
  const isNeeded = (): boolean => runs.length <= most && (runs.at(-1)?.[0]?.seq ?? Infinity) > after;
  for (let end = rows.length; end > 0 && isNeeded(); end -= STRIDE) {
    const start = Math.max(0, end - STRIDE);
    const events = await readEvents(context, rows.slice(start, end));
    for (const [i, event] of [...events.entries()].reverse()) {
      const one = broughtBy(event, rows[start + i - 1]?.seq ?? compacted);
      if (one === undefined || one.changed <= 0) continue;
      const run = runs.at(-1);
      if (run === undefined || !(await isContinued(context, one, { later: run.at(-1) as Brought, borders })))
        runs.push([one]);
      else run.push(one);
    }
  }
  const newest = runs[0]?.[0]?.seq ?? upTo;
  const isEnded = borders.some((seq) => seq > newest && seq <= upTo);
  return { runs, isGoing: !isEnded && (all.at(-1)?.seq ?? 0) > upTo };
}

/** True if the pause between `one` and `later` is short, and nothing lies between them. */
async function isContinued(
  context: Context,
  one: Brought,
  { later, borders }: { readonly later: Brought; readonly borders: readonly number[] },
): Promise<boolean> {
  // The difference is negative if the clock was set back between the two changes.
  if (Math.abs(Date.parse(later.ts) - Date.parse(one.ts)) > PAUSE_MS) return false;
  if (borders.some((seq) => seq > one.seq && seq < later.seq)) return false;
  return (await context.index.touched(one.seq, later.fromSeq)).length === 0;
}
