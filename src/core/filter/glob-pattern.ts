import { compileGlob } from "./ignore-glob.ts";
import { matchName } from "./ignore-match.ts";

/** Most words to which one part is expanded. */
const MOST_ALTERNATIVES = 100;
/** Longest name. A longer part matches nothing. */
const MOST_CHARACTERS = 255;

/**
 * Returns the test for names that match one part of a path with `*`, `?`, `[…]` or `{a,b}`; `undefined` if the part has
 * none of these. A pattern that begins with a wildcard does not match a leading dot.
 */
export function globPattern(part: string): ((name: string) => boolean) | undefined {
  if (part.length > MOST_CHARACTERS || !/[*?[{]/.test(part)) return undefined;
  const globs = expanded(part).map((one) => ({ compiled: compileGlob(one, false), takesDot: !/^[*?[]/.test(one) }));
  return (name) =>
    globs.some(
      ({ compiled, takesDot }) =>
        compiled !== undefined && (takesDot || !name.startsWith(".")) && matchName(compiled, name),
    );
}

/** Expands `a{b,c}` to `ab` and `ac`. */
function expanded(part: string): string[] {
  const all: string[] = [];
  const open = [part];
  for (let one = open.pop(); one !== undefined && all.length + open.length < MOST_ALTERNATIVES; one = open.pop()) {
    const [group, words] = /\{([^{}]*,[^{}]*)\}/.exec(one) ?? [];
    if (group === undefined || words === undefined) all.push(one);
    else for (const word of words.split(",")) open.push(one.replace(group, () => word));
  }
  return all;
}
