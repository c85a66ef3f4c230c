/** The longest that a timer may wait. */
const LONGEST_MS = 2 ** 31 - 1;

/** Keeps this process from ending by itself until it is disposed of, though nothing else may be going on for a while. */
export function keepAlive(): Disposable {
  const timer = setInterval(() => undefined, LONGEST_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
