/**
 * Finds the items for which a typed id stands: those with exactly this id, or, only if there are none, those whose id
 * begins with it. The empty text stands for none. This is the only rule for shortened ids, so a complete id never
 * stands for another item.
 */
export function meantBy<T>(all: readonly T[], asked: string, idOf: (one: T) => string): readonly T[] {
  const exact = all.filter((one) => idOf(one) === asked);
  return exact.length > 0 || asked === "" ? exact : all.filter((one) => idOf(one).startsWith(asked));
}

const SHOWN = /^[\da-f]{8,}$/;

/**
 * Returns true if the text is hex digits, at least as many as the shortened ids in lists have. A shorter text that
 * reads as a number or a duration is never treated as the beginning of an id, because each digit begins a
 * sixteenth of all ids.
 */
export function isShownBeginning(text: string): boolean {
  return SHOWN.test(text);
}
