/**
 * Those that a typed id stands for: those whose id it is, and only where there is none those whose id begins with it. The
 * empty text stands for none. This is the one rule for shortened ids: an id that was given whole never means another one.
 */
export function meantBy<T>(all: readonly T[], asked: string, idOf: (one: T) => string): readonly T[] {
  const exact = all.filter((one) => idOf(one) === asked);
  return exact.length > 0 || asked === "" ? exact : all.filter((one) => idOf(one).startsWith(asked));
}

const SHOWN = /^[\da-f]{8,}$/;

/**
 * Is it as long a beginning of an id as lists show? A shorter text that reads as a number or a length of time is never the beginning
 * of an id: of sixteen ids, one begins with any given digit.
 */
export function isShownBeginning(text: string): boolean {
  return SHOWN.test(text);
}
