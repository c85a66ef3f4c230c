/** Some work, in a list that has the newest work first. */
export interface Spanned {
  /** The event before the work. */
  readonly fromSeq: number;
  /** The last event of the work. The list is ordered by it. */
  readonly seq: number;
  /** Work with the same key, such as the same session, is drawn in the same lane if it can be. */
  readonly key: string;
}

/** The lanes of one row of a graph, numbered from 0. */
export interface RowLanes {
  /** The lane of the row's own work. */
  readonly lane: number;
  /** The lanes of other work that went on when the row's work ended, ascending. */
  readonly beside: readonly number[];
}

interface Going {
  readonly lane: number;
  readonly fromSeq: number;
}

/**
 * Returns the lanes of each row. Work is at the row of its end, and its lane goes on downwards past all rows that ended
 * after it had begun.
 */
export function graphLanes(rows: readonly Spanned[]): RowLanes[] {
  const lanes = new Map<string, number>();
  let going: readonly Going[] = [];
  return rows.map(({ fromSeq, seq, key }) => {
    going = going.filter((one) => one.fromSeq < seq);
    const taken = new Set(going.map((one) => one.lane));
    const usual = lanes.get(key);
    const lane = usual === undefined || taken.has(usual) ? firstFree(taken) : usual;
    lanes.set(key, lane);
    const beside = [...taken].sort((a, b) => a - b);
    going = [...going, { lane, fromSeq }];
    return { lane, beside };
  });
}

function firstFree(taken: ReadonlySet<number>): number {
  let lane = 0;
  while (taken.has(lane)) lane += 1;
  return lane;
}
