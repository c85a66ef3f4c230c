/** Nanoseconds since 1970 are kept in 64 bits: the first and the last time that those can say. */
const EARLIEST_NS = -(2n ** 63n);
const LATEST_NS = 2n ** 63n - 1n;

const EARLIEST_MS = Number(EARLIEST_NS / 1_000_000n);
const LATEST_MS = Number(LATEST_NS / 1_000_000n);

/** A time of a file, as near as it can be kept: between 1677-09-21 and 2262-04-11. */
export function keptTime(ns: bigint): bigint {
  if (ns > LATEST_NS) return LATEST_NS;
  return ns < EARLIEST_NS ? EARLIEST_NS : ns;
}

/** Is a recorded time, in milliseconds, the file's own? Else it was earlier or later than can be kept. */
export function isKeptTime(ms: number): boolean {
  return ms > EARLIEST_MS && ms < LATEST_MS;
}
