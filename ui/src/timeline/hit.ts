import type { RecentItem } from "../../../src/api/recent-api.ts";
import { keyOf } from "../data/newer-lines.ts";
import type { Lane, Mark } from "./lane-model.ts";
import type { TickAt, TickStore } from "./tick-store.ts";
import { positionOf, type Span, timeAt } from "./time-scale.ts";

/** The distance, in pixels, within which the pointer hits a mark or a tick. */
const NEAR_PX = 9;
/** The distance, in pixels, within which ticks count as one place for the pointer. */
const SAME_PX = 2;

/** The work under the pointer: a line of the list, or a tick. */
export interface Hit {
  readonly key: string;
  readonly lane: string;
  readonly time: number;
  readonly item?: RecentItem;
  readonly tick?: TickAt;
  /** The number of other ticks at the same place. */
  readonly others: number;
}

export interface Drawn {
  readonly lanes: readonly Lane[];
  readonly ticks: TickStore | undefined;
  readonly span: Span;
  /** The edges of the lanes, in CSS pixels. */
  readonly left: number;
  readonly right: number;
}

/**
 * Returns the work that is nearest to a point. In a lane with marks, this is a mark. In any other lane, it is a tick.
 * Returns `undefined` if no work is near.
 */
export function hitAt(drawn: Drawn, x: number, row: number): Hit | undefined {
  const lane = drawn.lanes[row];
  if (lane === undefined || x < drawn.left) return undefined;
  return lane.marks.length > 0 ? markAt(drawn, lane, x) : tickAt(drawn, lane, x);
}

function markAt({ span, left, right }: Drawn, lane: Lane, x: number): Hit | undefined {
  let best: Mark | undefined;
  let distance = NEAR_PX;
  for (const mark of lane.marks) {
    const away = Math.abs(left + positionOf(span, mark.time, right - left) - x);
    if (away < distance) [best, distance] = [mark, away];
  }
  if (best === undefined) return undefined;
  const { item, time } = best;
  return { key: keyOf(item), lane: lane.key, time, item, others: 0 };
}

function tickAt({ ticks, span, left, right }: Drawn, lane: Lane, x: number): Hit | undefined {
  const rows = lane.ticks?.rows ?? [];
  if (ticks === undefined) return undefined;
  const place = ticks.placeOf(rows, timeAt(span, x - left, right - left));
  const xOf = (row: number): number => left + positionOf(span, ticks.endedAt(row), right - left);
  const near = [rows[place - 1], rows[place]].filter((row) => row !== undefined);
  const [best] = near.toSorted((a, b) => Math.abs(xOf(a) - x) - Math.abs(xOf(b) - x));
  if (best === undefined || Math.abs(xOf(best) - x) >= NEAR_PX) return undefined;
  const tick = ticks.at(best);
  if (tick === undefined) return undefined;
  const timeBeside = (px: number): number => timeAt(span, xOf(best) + px - left, right - left);
  const others = ticks.placeOf(rows, timeBeside(SAME_PX)) - ticks.placeOf(rows, timeBeside(-SAME_PX)) - 1;
  return { key: `tick ${tick.first}`, lane: lane.key, time: tick.ended, tick, others: Math.max(0, others) };
}
