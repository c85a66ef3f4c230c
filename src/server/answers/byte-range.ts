/** Bytes from `start` to `end` (exclusive). */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Returns the range that a `Range` header requests (RFC 9110 §14). `undefined`: the whole content, since there is no
 * header, or its unit or syntax is unknown, which a server ignores. `unsatisfiable`: the content has no byte of the
 * range, or the header requests several ranges.
 */
export function rangeOf(header: string | undefined, size: number): ByteRange | "unsatisfiable" | undefined {
  const wanted = /^bytes=(.*)$/i.exec(header ?? "")?.[1];
  if (wanted === undefined) return undefined;
  if (wanted.includes(",")) return "unsatisfiable";
  const [, first = "", last = ""] = /^\s*(\d{0,15})-(\d{0,15})\s*$/.exec(wanted) ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") return suffix(Number(last), size);
  const start = Number(first);
  const end = last === "" ? size : Math.min(Number(last) + 1, size);
  if (last !== "" && Number(last) < start) return undefined;
  return start >= size ? "unsatisfiable" : { start, end };
}

function suffix(length: number, size: number): ByteRange | "unsatisfiable" {
  return length === 0 || size === 0 ? "unsatisfiable" : { start: Math.max(0, size - length), end: size };
}
