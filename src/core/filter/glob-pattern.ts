import { compileGlob } from "./ignore-glob.ts";
import { matchName } from "./ignore-match.ts";

/** So many words one part is expanded to. */
const MOST_ALTERNATIVES = 100;
/** A longer part is no name. */
const MOST_CHARACTERS = 255;

/**
 * Which names one part of a path stands for that holds `*`, `?`, `[…]` or `{a,b}`; `undefined`: it holds none. What begins with a
 * wildcard takes no leading dot.
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

/** `a{b,c}` as `ab` and `ac`. */
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
