import { compileGlob } from "./ignore-glob.ts";
import { matchName } from "./ignore-match.ts";

/** A sweep: names in a folder that a command is about to remove or overwrite. */
export interface NameSweep {
  /** The shell pattern of the names; `undefined` if all names are swept. */
  readonly names?: string;
  /** True if everything beneath the swept folders is removed or overwritten, too. */
  readonly deep: boolean;
  /** A name that is left alone, even if the pattern matches it. */
  readonly spares?: string;
}

/** Returns true if the sweep includes the name. Also returns true if the pattern cannot be fully evaluated. */
export function sweepsName({ names, spares }: NameSweep, name: string): boolean {
  if (name === spares) return false;
  // A pattern with a `{` counts as a match for any name, because git's globs have no alternatives (`{a,b}`).
  if (names === undefined || names.includes("{")) return true;
  if (name.startsWith(".") && !names.startsWith(".")) return false;
  const glob = compileGlob(names, false);
  return glob === undefined || matchName(glob, name);
}

/**
 * The maximum number of words to which one component of a path is expanded (`a{b,c}` to `ab` and `ac`). A component
 * with more words matches every name.
 */
const MOST_ALTERNATIVES = 100;

/**
 * The maximum length, in characters, of a component with wildcards that is compared with names. A longer component
 * matches every name.
 */
const MOST_CHARACTERS = 255;

/**
 * Returns a function that tests names against a path component that contains `*`, `?`, `[…]` or `{a,b}`. Returns
 * `undefined` if the component contains none of these. A pattern that begins with a wildcard does not match a name with
 * a leading dot.
 */
export function globPattern(part: string): ((name: string) => boolean) | undefined {
  if (!/[*?[{]/.test(part)) return undefined;
  const words = part.length > MOST_CHARACTERS ? undefined : expanded(part);
  if (words === undefined) return () => true;
  const globs = words.map((one) => ({ compiled: compileGlob(one, false), takesDot: !/^[*?[]/.test(one) }));
  return (name) =>
    globs.some(
      ({ compiled, takesDot }) =>
        compiled !== undefined && (takesDot || !name.startsWith(".")) && matchName(compiled, name),
    );
}

/** Expands `a{b,c}` to `ab` and `ac`. Returns `undefined` for more than `MOST_ALTERNATIVES` words. */
function expanded(part: string): string[] | undefined {
  const all: string[] = [];
  const open = [part];
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    const [group, words] = /\{([^{}]*,[^{}]*)\}/.exec(one) ?? [];
    if (group === undefined || words === undefined) all.push(one);
    else for (const word of words.split(",")) open.push(one.replace(group, () => word));
    if (all.length + open.length > MOST_ALTERNATIVES) return undefined;
  }
  return all;
}
