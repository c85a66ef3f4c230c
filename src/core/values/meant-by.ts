/**
 * Returns the items with exactly the typed id. If there are none, returns the items whose ids begin with it. An empty
 * text matches no item. Every shortened id is resolved by this rule. Therefore, a complete id never matches an item
 * with a longer id.
 */
export function meantBy<T>(all: readonly T[], asked: string, idOf: (one: T) => string): readonly T[] {
  const exact = all.filter((one) => idOf(one) === asked);
  return exact.length > 0 || asked === "" ? exact : all.filter((one) => idOf(one).startsWith(asked));
}

const SHOWN = /^[\da-f]{8,}$/;

/**
 * Returns true if the text can be an id in the shortened form that lists show: eight or more hex digits. Fewer digits
 * can also be a number or a duration, and match too many ids. One digit matches a sixteenth of all ids.
 */
export function isShownBeginning(text: string): boolean {
  return SHOWN.test(text);
}
