import { posix } from "node:path";
import type { ShellWord } from "./shell-words.ts";

const PREFIXES: ReadonlySet<string> = new Set(
  "sudo doas env nohup time command exec builtin nice ionice stdbuf setsid then do else if while until ! {".split(" "),
);
/** Options of the prefixes that take a value of their own. */
const PREFIX_VALUES: ReadonlySet<string> = new Set("-u -g -n -C -S -c --user --group --chdir --adjustment".split(" "));
/** Programs that run a shell line. */
export const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "dash", "zsh", "ksh", "ash"]);
/** `NAME=value`. */
export const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*\+?=/;

/** Is the word after this option of a shell a line to run? */
export function isScriptFlag(option: string): boolean {
  return /^-[a-zA-Z]*c[a-zA-Z]*$/.test(option);
}

/** Without `sudo -u x`, `env A=b`, `A=b`, `timeout 5` and what begins a block. */
export function withoutPrefixes(words: readonly ShellWord[]): readonly ShellWord[] {
  let at = 0;
  let prefixed = false;
  for (;;) {
    const text = words[at]?.text;
    if (text === undefined) return [];
    if (ASSIGNMENT.test(text)) at += 1;
    else if (prefixed && text.startsWith("-")) at += PREFIX_VALUES.has(text) ? 2 : 1;
    else if (posix.basename(text) === "timeout") {
      at += 1;
      while ((words[at]?.text ?? "").startsWith("-")) at += /^-[sk]$/.test(words[at]?.text ?? "") ? 2 : 1;
      at += 1;
    } else if (PREFIXES.has(posix.basename(text))) {
      prefixed = true;
      at += 1;
    } else return words.slice(at);
  }
}
