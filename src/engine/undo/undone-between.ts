import type { FileRecord } from "../../core/values/file-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { firstEvent } from "../facts/first-event.ts";
import type { SeqSpan } from "../facts/own-changes.ts";
import { fileEvents, type OwnEvents, withEvents } from "../facts/own-work.ts";
import type { UndoneEvents } from "../facts/undone-events.ts";
import { addAll } from "../../util/long-lists.ts";
import type { Context } from "../log/context.ts";

export interface TakenEvent {
  readonly path: WorkspacePath;
  readonly seq: number;
  readonly record: FileRecord;
  /** The undos that undid the event. */
  readonly by: readonly SeqSpan[];
}

/**
 * Joins events of some work (own events) at a path if only events without effect lie between them (`between`). The
 * joined events are inverted as one change. If the own events were inverted one by one, the inversions would be merged
 * with states that the work did not make, or would bring back undone changes. These events have no effect:
 * - An undone event, and the events that its undo wrote to the path.
 * - A bridge: an undone event of the same work (`undone`) whose undo wrote nothing to the path, because later events
 *   had already reversed the event. A bridge must stand directly before an own event or another event without effect.
 *   A bridge is then treated as an own event.
 */
export async function withUndoneBetween(
  context: Context,
  own: OwnEvents,
  { undone, taken }: { readonly undone: readonly TakenEvent[]; readonly taken: UndoneEvents },
): Promise<OwnEvents> {
  const ofWork = new Map(undone.map((event) => [eventKey(event), event]));
  const more: TakenEvent[] = [];
  const between = new Map<WorkspacePath, ReadonlySet<number>>();
  const firsts = new Map(own.firsts);
  for (const [path, seqs] of own.byPath) {
    const rows = (await context.index.iterations(path)).map(({ seq }) => seq);
    const events: TakenEvent[] = [];
    for (const seq of rows) {
      if (seqs.has(seq) || !taken.mayHold(seq)) continue;
      const event = ofWork.get(eventKey({ path, seq })) ?? (await takenAt(context, { path, seq }, taken));
      if (event !== undefined) events.push(event);
    }
    if (events.length === 0) continue;
    const isOfWork = (seq: number): boolean => ofWork.has(eventKey({ path, seq }));
    const { all, bridges } = withoutEffect(rows, { own: seqs, events, taken, isOfWork });
    between.set(path, all);
    addAll(
      more,
      events.filter((one) => bridges.has(one.seq)),
    );
    // Only a bridge can move the beginning of the work at the path. Before any other undone event, the path had the
    // same state as before the own events.
    const first = events.find(({ seq }) => bridges.has(seq));
    if (first !== undefined && first.seq < (firsts.get(path)?.seq ?? 0))
      firsts.set(path, firstEvent(first.record, first.seq));
  }
  return between.size === 0 ? own : { ...withEvents({ ...own, firsts }, more), between };
}

type EventOfPath = Pick<TakenEvent, "path" | "seq">;

function eventKey({ path, seq }: EventOfPath): string {
  return `${seq} ${path}`;
}

async function takenAt(context: Context, { path, seq }: EventOfPath, taken: UndoneEvents) {
  for await (const { record } of fileEvents(context, { fromSeq: seq - 1, toSeq: seq })) {
    const by = taken.by(seq, record, path);
    if (by.length > 0) return { path, seq, record, by };
  }
  return undefined;
}

interface Beside {
  readonly own: ReadonlySet<number>;
  readonly events: readonly TakenEvent[];
  readonly taken: UndoneEvents;
  readonly isOfWork: (seq: number) => boolean;
}

/**
 * Returns the events without effect (`all`), and the bridges among these events (`bridges`). An undo that
 * wrote something counts only if all events that it undid or wrote lie in one series of consecutive events. Each event
 * of this series must be own or without effect.
 */
function withoutEffect(rows: readonly number[], { own, events: all, taken, isOfWork }: Beside) {
  const undos = [...new Set(all.flatMap(({ by }) => by))];
  const written = new Map(undos.map((undo) => [undo, rows.filter((seq) => isIn(undo, seq))]));
  const standing = standingUndos(written, all);
  const events = all.flatMap(({ seq, by }) => {
    const left = by.filter((undo) => standing.has(undo));
    return left.length === 0 ? [] : [{ seq, by: left }];
  });
  const wrote = (undo: SeqSpan): boolean => written.get(undo)?.length !== 0;
  const bridges = new Set(events.filter(({ by }) => !by.some(wrote)).map(({ seq }) => seq));
  const partsOf = new Map([...standing].map((undo) => [undo, [...(written.get(undo) ?? [])]]));
  for (const { seq, by } of events) for (const undo of by) partsOf.get(undo)?.push(seq);
  const counting = new Set([...standing].filter((undo) => wrote(undo) && taken.clean.has(undo)));
  for (;;) {
    const counted = events.filter(
      ({ seq, by }) => by.every((undo) => counting.has(undo) || !wrote(undo)) && (!bridges.has(seq) || isOfWork(seq)),
    );
    const parts = new Set([
      ...counted.map(({ seq }) => seq),
      ...[...counting].flatMap((undo) => written.get(undo) ?? []),
    ]);
    const runs = runsOf(rows, (seq, isBefore) => own.has(seq) || (parts.has(seq) && (isBefore || !bridges.has(seq))));
    const near = runs.filter((run) => run.some((seq) => own.has(seq)));
    const places = new Map(near.flatMap((run, i) => run.map((seq) => [seq, i] as const)));
    const torn = [...counting].filter((undo) => {
      const found = new Set(partsOf.get(undo)?.map((seq) => places.get(seq)));
      return found.size > 1 || found.has(undefined);
    });
    if (torn.length === 0) {
      const found = new Set(near.flat().filter((seq) => !own.has(seq)));
      return { all: found, bridges: new Set([...bridges].filter((seq) => found.has(seq))) };
    }
    for (const undo of torn) counting.delete(undo);
  }
}

/** Returns the undos in effect. An undo is in effect unless a later undo in effect has undone an event of this undo. */
function standingUndos(
  written: ReadonlyMap<SeqSpan, readonly number[]>,
  events: readonly TakenEvent[],
): ReadonlySet<SeqSpan> {
  const standing = new Set<SeqSpan>();
  const undoneBy = new Map(events.map(({ seq, by }) => [seq, by]));
  for (const [undo, seqs] of [...written].sort(([a], [b]) => b.fromSeq - a.fromSeq)) {
    if (!seqs.some((seq) => undoneBy.get(seq)?.some((one) => standing.has(one)) === true)) standing.add(undo);
  }
  return standing;
}

function isIn({ fromSeq, toSeq }: SeqSpan, seq: number): boolean {
  return seq > fromSeq && seq <= toSeq;
}

/**
 * Groups the events for which `isPart` is true into series of consecutive events, from the newest to the oldest. The
 * second argument of `isPart` tells whether `isPart` was true for the next newer event.
 */
function runsOf(rows: readonly number[], isPart: (seq: number, isBefore: boolean) => boolean): number[][] {
  const runs: number[][] = [];
  let isBefore = false;
  for (const seq of rows.toReversed()) {
    const isOne = isPart(seq, isBefore);
    if (isOne && isBefore) runs.at(-1)?.push(seq);
    else if (isOne) runs.push([seq]);
    isBefore = isOne;
  }
  return runs;
}
