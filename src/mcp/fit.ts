import { groupedDigits } from "../util/grouped-digits.ts";
import { shortened } from "./one-line.ts";

/**
 * A list in the text of an answer. The list may be shown in part. An item may have several lines, such as a change and
 * its patch.
 */
export interface Listed {
  readonly items: readonly string[];
  /** The number of all items, of which `items` may be only the first. */
  readonly total: number;
}

/** A part of an answer's text: a sentence, which is always shown, or a list. */
export type Part = string | Listed;

/** Makes a list. Default of `total`: `items` has all items of the list. */
export function listed(items: readonly string[], total = items.length): Listed {
  return { items, total };
}

/** The maximum length, in characters, of a sentence between lists. A longer sentence is cut. */
const LONGEST_SENTENCE = 400;

/** The smallest part of an item that is worth showing, in characters. */
const SMALLEST_PIECE = 60;

/** The number of characters that is reserved for the line that says how many items were left out. */
const REST = 24;

interface Fitted {
  readonly lines: readonly string[];
  /** True if `lines` do not have everything. */
  readonly isCut: boolean;
}

/**
 * Returns the parts as lines of at most `most` characters together. Sentences get their room first. The lists share the
 * rest evenly. The longer lists get the room that a short list does not need.
 */
export function fitted(parts: readonly Part[], most: number): Fitted {
  const found = new Map<Part, Fitted>();
  const lists: Listed[] = [];
  let room = most;
  for (const part of parts) {
    if (typeof part !== "string") lists.push(part);
    else {
      const line = shortened(part, LONGEST_SENTENCE);
      found.set(part, { lines: [line], isCut: line !== part });
      room -= line.length + 1;
    }
  }
  lists.sort((a, b) => lengthOf(a.items) - lengthOf(b.items));
  for (const [i, list] of lists.entries()) {
    const one = fittedList(list, Math.floor(room / (lists.length - i)));
    found.set(list, one);
    room -= lengthOf(one.lines);
  }
  const shown = parts.flatMap((part) => found.get(part) ?? []);
  return { lines: shown.flatMap(({ lines }) => lines), isCut: shown.some(({ isCut }) => isCut) };
}

function lengthOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length + 1, 0);
}

function fittedList({ items, total }: Listed, most: number): Fitted {
  const lines: string[] = [];
  let [room, shown] = [most, 0];
  for (const [i, item] of items.entries()) {
    const isLast = i === total - 1;
    if (item.length + 1 > room - (isLast ? 0 : REST)) break;
    lines.push(item);
    room -= item.length + 1;
    shown += 1;
  }
  const cut = items[shown];
  // Cut an item only if it has several lines or is the first item, because the beginning of a path would look like
  // another path.
  if (cut !== undefined && (shown === 0 || cut.includes("\n")) && room - REST >= SMALLEST_PIECE) {
    const piece = shortened(cut, room - REST - 1);
    lines.push(piece);
    shown += 1;
    if (shown === total) return { lines, isCut: true };
  }
  const rest = total - shown;
  if (rest > 0) lines.push(`… and ${groupedDigits(rest)} more`);
  return { lines, isCut: rest > 0 || cut !== undefined };
}

/** Returns how many of the first items have at most `most` characters together; at least 1 if there are any items. */
export function countThatFits<T>(items: readonly T[], lengthOf: (item: T) => number, most: number): number {
  let room = most;
  const end = items.findIndex((item) => {
    room -= lengthOf(item);
    return room < 0;
  });
  return end < 0 ? items.length : Math.max(end, Math.min(1, items.length));
}
