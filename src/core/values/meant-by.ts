/**
 * Returns the items whose id equals the typed text. If no id equals the text, returns the items whose ids begin with
 * the text. Therefore, a complete id never matches a longer id. An empty text matches no item. This rule
 * applies to every shortened id.
 */
export function meantBy<T>(all: readonly T[], asked: string, idOf: (one: T) => string): readonly T[] {
  const exact = all.filter((one) => idOf(one) === asked);
  return exact.length > 0 || asked === "" ? exact : all.filter((one) => idOf(one).startsWith(asked));
}

const SHOWN = /^[\da-f]{8,}$/;

/**
 * Returns true if the text can be the shortened form of an id that the program prints: eight or more hex digits. Fewer
 * digits match too many ids (one digit matches a sixteenth of all ids). Such a text can also be a number or a duration.
 */
export function isShownBeginning(text: string): boolean {
  return SHOWN.test(text);
}
