import { compileGlob } from "./ignore-glob.ts";
import { matchName } from "./ignore-match.ts";

/** Names in a folder that a command is about to sweep away. */
export interface NameSweep {
  /** A shell's pattern; `undefined`: all of them. */
  readonly names?: string;
  /** True if everything beneath those that are folders is swept, too. */
  readonly deep: boolean;
  /** A name that is left alone even if the pattern matches it. */
  readonly spares?: string;
}

/** True if this is one of the names. Also true if the pattern cannot be fully evaluated. */
export function sweepsName({ names, spares }: NameSweep, name: string): boolean {
  if (name === spares) return false;
  // A shell's alternatives (`{a,b}`) are not part of git's globs, so any name may match.
  if (names === undefined || names.includes("{")) return true;
  if (name.startsWith(".") && !names.startsWith(".")) return false;
  const glob = compileGlob(names, false);
  return glob === undefined || matchName(glob, name);
}
