import { compileGlob } from "./ignore-glob.ts";
import { matchName } from "./ignore-match.ts";

/** Names in a folder that a command is about to sweep away. */
export interface NameSweep {
  /** A shell's pattern; `undefined`: all of them. */
  readonly names?: string;
  /** What lies beneath those that are folders as well. */
  readonly deep: boolean;
  /** A name that is left alone whatever the pattern says. */
  readonly spares?: string;
}

/** Is this one of the names? Of a pattern that is not known to the end: yes. */
export function sweepsName({ names, spares }: NameSweep, name: string): boolean {
  if (name === spares) return false;
  // A shell's alternatives (`{a,b}`) are not git's: whatever they choose from is meant.
  if (names === undefined || names.includes("{")) return true;
  if (name.startsWith(".") && !names.startsWith(".")) return false;
  const glob = compileGlob(names, false);
  return glob === undefined || matchName(glob, name);
}
