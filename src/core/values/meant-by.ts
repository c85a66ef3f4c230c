/**
 * Returns the items that a typed id stands for: those with exactly this id; if there are none, those whose ids begin
 * with it. An empty text is the beginning of no id. Every shortened id is resolved by this rule, so a complete id never
 * stands for an item with a longer one.
 */
export function meantBy<T>(all: readonly T[], asked: string, idOf: (one: T) => string): readonly T[] {
  const exact = all.filter((one) => idOf(one) === asked);
  return exact.length > 0 || asked === "" ? exact : all.filter((one) => idOf(one).startsWith(asked));
}

const SHOWN = /^[\da-f]{8,}$/;

/**
 * Returns true if the text may be an id as lists shorten it: eight or more hex digits. Fewer digits may be meant as a
 * number or a duration, and are too few to tell ids apart: one digit begins a sixteenth of all ids.
 */
export function isShownBeginning(text: string): boolean {
  return SHOWN.test(text);
}
