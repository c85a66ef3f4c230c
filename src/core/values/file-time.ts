/** The first and the last time that 64 bits of nanoseconds since 1970 can hold. */
const EARLIEST_NS = -(2n ** 63n);
const LATEST_NS = 2n ** 63n - 1n;

const EARLIEST_MS = Number(EARLIEST_NS / 1_000_000n);
const LATEST_MS = Number(LATEST_NS / 1_000_000n);

/** Clamps a file's time to the range that can be stored: 1677-09-21 to 2262-04-11. */
export function keptTime(ns: bigint): bigint {
  if (ns > LATEST_NS) return LATEST_NS;
  return ns < EARLIEST_NS ? EARLIEST_NS : ns;
}

/** True if a recorded time, in milliseconds, is the file's own. False if it may have been clamped. */
export function isKeptTime(ms: number): boolean {
  return ms > EARLIEST_MS && ms < LATEST_MS;
}
