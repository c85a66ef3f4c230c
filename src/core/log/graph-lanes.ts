/** A piece of work in a list. The newest work is first in the list. */
export interface Spanned {
  /** The seq of the event right before the work. */
  readonly fromSeq: number;
  /** The seq of the last event of the work. The list is sorted by this seq, in descending order. */
  readonly seq: number;
  /** Items with the same key, such as the work of one session, are drawn in the same lane if this lane is free. */
  readonly key: string;
}

/** The lanes (columns) in one row of a graph, numbered from 0. */
export interface RowLanes {
  /** The lane of the row's own work. */
  readonly lane: number;
  /** The lanes of other work that was going on when the row's work ended, in ascending order. */
  readonly beside: readonly number[];
}

interface Going {
  readonly lane: number;
  readonly fromSeq: number;
}

/** Returns the lanes of each row (see `GraphLanes`). */
export function graphLanes(rows: readonly Spanned[]): RowLanes[] {
  const graph = new GraphLanes();
  return rows.map((row) => graph.next(row));
}

/**
 * Gives each row its lanes, the newest row first. A row stands for the end of its work. The lane of the work continues
 * downwards, past the row of each older work that ended after this work had begun.
 */
export class GraphLanes {
  readonly #lanes = new Map<string, number>();
  #going: readonly Going[] = [];

  next({ fromSeq, seq, key }: Spanned): RowLanes {
    const going = this.#going.filter((one) => one.fromSeq < seq);
    const taken = new Set(going.map((one) => one.lane));
    const usual = this.#lanes.get(key);
    const lane = usual === undefined || taken.has(usual) ? firstFree(taken) : usual;
    this.#lanes.set(key, lane);
    this.#going = [...going, { lane, fromSeq }];
    return { lane, beside: [...taken].sort((a, b) => a - b) };
  }
}

function firstFree(taken: ReadonlySet<number>): number {
  let lane = 0;
  while (taken.has(lane)) lane += 1;
  return lane;
}
