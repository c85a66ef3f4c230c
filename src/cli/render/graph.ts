import type { RecentItem } from "../../api/recent-api.ts";
import { greatestOf } from "../../util/long-lists.ts";
import type { Format, Paint } from "../../process/printable.ts";

const COLOURS: readonly Format[] = ["cyan", "magenta", "yellow", "green", "blue", "red"];

/** The most lanes that are drawn. Work in further lanes is drawn in the last one. */
const MOST_LANES = 10;

/**
 * Returns the graph's part of a row: `*` in the lane of the row's work, and lines in the lanes of other work that went
 * on meanwhile. `isOwn`: false for a further row of the same work. Empty without lanes.
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
