/** Longest delay of a timer. */
const LONGEST_MS = 2 ** 31 - 1;

/** Keeps this process from exiting by itself until disposed of, even if nothing else is pending. */
export function keepAlive(): Disposable {
  const timer = setInterval(() => undefined, LONGEST_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
