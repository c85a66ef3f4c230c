/**
 * Matches each character that is invisible or that reorders the text around it: control characters, direction marks,
 * zero-width characters, tags, unpaired surrogates, line separators. The pattern is global. Therefore, set its
 * `lastIndex` to 0 before each call of `test`.
 */
export const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

const VARIANT = /^[\ufe0e\ufe0f]$/u;
const JOINER = /^[\u200c\u200d]$/u;
const PICTURE = /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{Regional_Indicator}|[#*0-9])\ufe0f?$/u;
const PICTURE_NEXT = /^\p{Extended_Pictographic}/u;
/** Matches a letter of a script in which a joiner (`JOINER`) is part of a word's spelling. */
const JOINING =
  /[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mong}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Mymr}\p{scx=Khmr}\p{scx=Tibt}]/u;

/**
 * Replaces each invisible character by the result of `escape`. Three kinds of characters stay, because they have a
 * visible effect: variation selectors of emoji, joiners between emoji, and joiners between letters of certain scripts
 * (`JOINING`).
 */
export function withVisible(text: string, escape: (char: string) => string): string {
  return text.replace(INVISIBLE, (char: string, at: number) => (isShown(text, char, at) ? char : escape(char)));
}

function isShown(text: string, char: string, at: number): boolean {
  if (!VARIANT.test(char) && !JOINER.test(char)) return false;
  const before = text.slice(Math.max(0, at - 4), at);
  if (VARIANT.test(char)) return PICTURE.test(before);
  const after = text.slice(at + 1, at + 3);
  if (char === "\u200d" && PICTURE.test(before) && PICTURE_NEXT.test(after)) return true;
  return JOINING.test(before.slice(-1)) && JOINING.test(after.slice(0, 1));
}
