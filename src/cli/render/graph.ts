import type { RecentItem } from "../../api/recent-api.ts";
import { greatestOf } from "../../util/long-lists.ts";
import type { Format, Paint } from "../../process/printable.ts";

const COLOURS: readonly Format[] = ["cyan", "magenta", "yellow", "green", "blue", "red"];

/**
 * The maximum number of lanes that are drawn. A lane is a vertical line of the graph, and each piece of work that goes
 * on at the same time has its own lane. Work in a lane beyond this number is drawn in the last drawn lane.
 */
const MOST_LANES = 10;

/**
 * Returns the graph's part of a row: `*` in the lane of the row's work, and `│` in the lanes of other work that went on
 * at the same time. `isOwn`: false for a further row of the same work, which has `·` instead of `*`. Returns `""` if
 * the item has no lane.
 */
export function graphText({ lane, lanes_beside: beside = [] }: RecentItem, paint: Paint, isOwn: boolean): string {
  if (lane === undefined) return "";
  const own = Math.min(lane, MOST_LANES - 1);
  const others = new Set(beside.map((one) => Math.min(one, MOST_LANES - 1)));
  const count = greatestOf([own, ...others]) + 1;
  const drawn = Array.from({ length: count }, (_, at) => {
    const sign = at === own ? (isOwn ? "*" : "·") : others.has(at) ? "│" : " ";
    return sign === " " ? sign : paint(COLOURS[at % COLOURS.length] ?? "cyan", sign);
  });
  return drawn.join(" ");
}
