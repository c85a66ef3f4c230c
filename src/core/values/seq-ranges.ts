import type { Json } from "./event.ts";
import { damaged } from "./record-fields.ts";

/**
 * A set of seqs as ascending ranges that do not overlap. `rangesOf` also joins adjacent ranges, but the ranges in a
 * record may be adjacent. This form is compact, because the events of an operation have consecutive seqs.
 */
export type SeqRanges = readonly (readonly [first: number, last: number])[];

/** Returns the ranges of some numbers, which may be in any order. */
export function rangesOf(seqs: Iterable<number>): SeqRanges {
  const ranges: [number, number][] = [];
  for (const seq of [...seqs].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && seq <= last[1] + 1) last[1] = Math.max(last[1], seq);
    else ranges.push([seq, seq]);
  }
  return ranges;
}

export function holdsSeq(ranges: SeqRanges, seq: number): boolean {
  let low = 0;
  let high = ranges.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const [first, last] = ranges[middle] ?? [0, 0];
    if (seq < first) high = middle - 1;
    else if (seq > last) low = middle + 1;
    else return true;
  }
  return false;
}

/** Returns true if the set holds any number from `first` to `last`. */
export function holdsAnySeq(ranges: SeqRanges, first: number, last: number): boolean {
  let low = 0;
  let high = ranges.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ranges[middle]?.[1] ?? 0) < first) low = middle + 1;
    else high = middle;
  }
  const range = ranges[low];
  return range !== undefined && range[0] <= last;
}

/** Decodes the ranges in a record. Throws `LOG_DAMAGED` for invalid ranges. */
export function decodeRanges(value: Json): SeqRanges {
  if (!Array.isArray(value)) return damaged("the ranges are not a list");
  let before = 0;
  return value.map((item: Json): readonly [number, number] => {
    const [first, last] = Array.isArray(item) ? (item as readonly Json[]) : [];
    const sound = Number.isSafeInteger(first) && Number.isSafeInteger(last);
    if (!sound || typeof first !== "number" || typeof last !== "number" || first <= before || last < first)
      return damaged("a range of events is malformed");
    before = last;
    return [first, last];
  });
}
