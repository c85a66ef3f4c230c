import type { RecentItem } from "../../api/workspace-api.ts";
import type { LogEvent } from "../../core/values/event.ts";
import { decodeIntent } from "../../core/records/records.ts";
import { decodeReplica, originOfRecordId } from "../../core/records/replica-record.ts";
import { decodeWriteBack } from "../../core/records/write-back-record.ts";
import type { Context } from "../log/context.ts";
import { indexedFrom } from "../log/history-start.ts";
import { prunedBy } from "../facts/pruning.ts";
import { isInBase } from "../log/read-base.ts";
import { readEvents } from "../log/read-events.ts";
import { leastOf } from "../../util/long-lists.ts";
import { firstFill } from "../facts/brought-paths.ts";

/** Events of a sync with a shorter pause than this between them form one line, in milliseconds. */
const PAUSE_MS = 120_000;
/** Events that are read at once. */
const STRIDE = 500;

/** Something that a sync brought, in one commit. */
interface Brought {
  /** The last event before it, and its own last one. */
  readonly fromSeq: number;
  readonly seq: number;
  /** ISO-8601. */
  readonly ts: string;
  readonly changed: number;
}

/** A source of changes: a record that is written with each of them. */
interface Source {
  readonly id: string;
  readonly summary: string;
  readonly recordId: string;
  /** `before`: the event of the record before this one; 0: none. */
  readonly broughtBy: (event: LogEvent, before: number) => Brought | undefined;
}

/** A line of recent work, as it stands in the order of the log. */
interface SyncLine {
  readonly seq: number;
  readonly item: () => Promise<RecentItem>;
}

/**
 * Returns the changes that syncs brought: at a replica from its origin, at an origin from its replicas. Changes in a
 * row form one line, unless something else was done in between: an event with a line of its own (`between`: seqs), or
 * any change of a file. So the way back to before a line takes back nobody else's work. Returns the newest `most` of
 * each source.
 */
export async function syncLines(
  context: Context,
  { between, most }: { readonly between: readonly number[]; readonly most: number },
): Promise<SyncLine[]> {
  const borders = between.toSorted((a, b) => a - b);
  const lines: SyncLine[] = [];
  const filled = (await firstFill(context)) ?? 0;
  for (const source of [...(await origins(context)), ...(await replicas(context))]) {
    for (const run of await runsOf(context, source, { borders, most }))
      lines.push(lineOf(context, source, { run, filled }));
  }
  return lines;
}

interface SyncRun {
  readonly run: readonly Brought[];
  /** The event by which the folder was filled. */
  readonly filled: number;
}

function lineOf(context: Context, { id, summary }: Source, { run, filled }: SyncRun): SyncLine {
  const [last, first] = [run[0] as Brought, run.at(-1) as Brought];
  const item = async (): Promise<RecentItem> => ({
    kind: "sync",
    id,
    timestamp: last.ts,
    summary,
    changed: run.reduce((sum, one) => sum + one.changed, 0),
    // No line leads back to before the folder was filled: what filled it would stay, and everything else would go.
    back:
      first.fromSeq >= filled && (await isHeld(context, first.fromSeq)) ? `chronicle restore seq:${first.fromSeq}` : "",
  });
  return { seq: last.seq, item };
}

/** Returns whether the state after an event is neither compacted away nor pruned. */
async function isHeld(context: Context, seq: number): Promise<boolean> {
  const begins = (await indexedFrom(context)) ?? 1;
  return seq >= begins - 1 && (await prunedBy(context, seq, seq + 1)) === undefined;
}

/** Returns the origins that this workspace follows. */
async function origins(context: Context): Promise<Source[]> {
  const rows = await context.index.records("replica:");
  return (await readEvents(context, rows)).map(({ recordId, record }) => {
    const { url, workspace } = decodeReplica(record);
    const id = originOfRecordId(recordId) ?? "";
    const summary = `from ${url}${workspace === undefined ? "" : `#${workspace}`}`;
    return { id, summary, recordId: `intent:${id}`, broughtBy: stepOf };
  });
}

/** A step of a replica: the end of its intent. */
function stepOf({ seq, ts, record }: LogEvent): Brought | undefined {
  const { state, fromSeq, paths, skipped = 0 } = decodeIntent(record);
  return state === "done" ? { fromSeq, seq, ts, changed: paths - skipped } : undefined;
}

/** Returns the replicas that write back here. */
async function replicas(context: Context): Promise<Source[]> {
  const prefix = "writeback:";
  return (await context.index.records(prefix)).map(({ recordId }) => {
    const id = recordId.slice(prefix.length);
    return { id, summary: `from the replica ${id.slice(0, 8)}`, recordId, broughtBy: writtenBy };
  });
}

/** An answer to a replica: what it accepted with events that are behind the answer before. */
function writtenBy({ seq, ts, record }: LogEvent, before: number): Brought | undefined {
  const { accepted } = decodeWriteBack(record);
  const became = new Set(accepted.map(({ sequence }) => sequence).filter((one) => one > before));
  return became.size === 0 ? undefined : { fromSeq: leastOf(became) - 1, seq, ts, changed: became.size };
}

interface Reach {
  readonly borders: readonly number[];
  readonly most: number;
}

/** Returns the changes in runs, both newest first. Reads only as far back as is asked for. */
async function runsOf(
  context: Context,
  { recordId, broughtBy }: Source,
  { borders, most }: Reach,
): Promise<Brought[][]> {
  const rows = (await context.index.recordHistory(recordId)).filter((row) => !isInBase(row));
  const runs: Brought[][] = [];
  for (let end = rows.length; end > 0 && runs.length <= most; end -= STRIDE) {
    const start = Math.max(0, end - STRIDE);
    const events = await readEvents(context, rows.slice(start, end));
    for (const [i, event] of [...events.entries()].reverse()) {
      const one = broughtBy(event, rows[start + i - 1]?.seq ?? 0);
      if (one === undefined || one.changed <= 0) continue;
      const run = runs.at(-1);
      if (run === undefined || !(await goesOn(context, one, { later: run.at(-1) as Brought, borders })))
        runs.push([one]);
      else run.push(one);
    }
  }
  return runs;
}

/** Returns whether the later one followed at once, with nothing in between. */
async function goesOn(
  context: Context,
  one: Brought,
  { later, borders }: { readonly later: Brought; readonly borders: readonly number[] },
): Promise<boolean> {
  // A clock that was set back in between says nothing of how soon it followed.
  if (Math.abs(Date.parse(later.ts) - Date.parse(one.ts)) > PAUSE_MS) return false;
  if (borders.some((seq) => seq > one.seq && seq < later.seq)) return false;
  return (await context.index.touched(one.seq, later.fromSeq)).length === 0;
}
