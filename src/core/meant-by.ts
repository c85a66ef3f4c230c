/**
 * Those that a typed id stands for: those whose id it is, and only where there is none those whose id begins with it. The
 * empty text stands for none. This is the one rule for shortened ids: an id that was given whole never means another one.
 */
export function meantBy<T>(all: readonly T[], asked: string, idOf: (one: T) => string): readonly T[] {
  const exact = all.filter((one) => idOf(one) === asked);
  return exact.length > 0 || asked === "" ? exact : all.filter((one) => idOf(one).startsWith(asked));
}
