import { posix } from "node:path";
import type { ShellWord } from "./shell-words.ts";
import { addAll } from "../../util/long-lists.ts";

/** The names in an option. In a bundle of letters, the first letter that takes a value takes the rest of the word. */
interface OptionNames {
  readonly names: readonly string[];
  /** The value of the last name, if it is in the same word. */
  readonly value?: string;
  /** True if the value of the last name is the next word, whatever this word looks like. */
  readonly takesNext: boolean;
}

/** Splits an option: `--name`, `--name=value`, `-abc`, `-nvalue`. `valued` has the options that take a value. */
function namesOf(option: string, valued: ReadonlySet<string>): OptionNames {
  const equals = option.indexOf("=");
  if (option.startsWith("--")) {
    if (equals < 0) return { names: [option], takesNext: valued.has(option) };
    return { names: [option.slice(0, equals)], value: option.slice(equals + 1), takesNext: false };
  }
  const names: string[] = [];
  for (let at = 1; at < option.length; at += 1) {
    const name = `-${option[at]}`;
    names.push(name);
    if (!valued.has(name)) continue;
    const value = option.slice(at + 1);
    return value === "" ? { names, takesNext: true } : { names, value, takesNext: false };
  }
  return { names, takesNext: false };
}

export function takesNext(option: string, valued: ReadonlySet<string>): boolean {
  return namesOf(option, valued).takesNext;
}

/** The words after a program's name, split as commander splits them. */
export interface GivenOptions {
  /** The names of the given options. The letters of a bundle are separate names. */
  readonly options: ReadonlySet<string>;
  /** The last value of each option that has one. */
  readonly values: ReadonlyMap<string, ShellWord>;
  readonly operands: readonly ShellWord[];
}

const isOption = (text: string): boolean => text.length > 1 && text.startsWith("-") && !/^-\.?\d/.test(text);

/**
 * Splits words into options and operands. `until` says whether options may be anywhere up to the end, or only before
 * the first operand. In the latter case, the first operand is a command, and the remaining words are its arguments.
 */
export function readOptions(
  words: readonly ShellWord[],
  valued: ReadonlySet<string>,
  until: "the end" | "the first operand",
): GivenOptions {
  const options = new Set<string>();
  const values = new Map<string, ShellWord>();
  const operands: ShellWord[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at];
    if (word === undefined) break;
    const isEnd = word.text === "--";
    if (isEnd || (until === "the first operand" && !isOption(word.text))) {
      addAll(operands, words.slice(isEnd ? at + 1 : at));
      break;
    }
    if (!isOption(word.text)) {
      operands.push(word);
      continue;
    }
    const { names, value, takesNext: isNext } = namesOf(word.text, valued);
    for (const name of names) options.add(name);
    if (isNext) at += 1;
    const given = value === undefined ? (isNext ? words[at] : undefined) : { ...word, text: value, glob: -1 };
    if (given !== undefined) values.set(names.at(-1) ?? "", given);
  }
  return { options, values, operands };
}

/** Programs and words of the shell before a command, each with its own options that take a value. */
const PREFIXES: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    sudo:
      "-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --close-from --chdir --chroot " +
      "--command-timeout --other-user --role --type",
    doas: "-u -C -a",
    env: "-u -C -a -S --unset --chdir --argv0 --split-string",
    time: "-f -o --format --output",
    nice: "-n --adjustment",
    ionice: "-c -n -p -P -u --class --classdata --pid --pgid --uid",
    stdbuf: "-i -o -e --input --output --error",
    exec: "-a",
    timeout: "-k -s --kill-after --signal",
    ...Object.fromEntries("nohup command builtin setsid coproc".split(" ").map((name) => [name, ""])),
    ...Object.fromEntries("then do else elif if while until ! {".split(" ").map((name) => [name, ""])),
  }).map(([name, options]) => [name, new Set(options.split(" "))]),
);
export const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "dash", "zsh", "ksh", "ash"]);
export const ASSIGNMENT = /^[A-Za-z_][A-Za-z0-9_]*\+?=/;

/** Returns true if the word after this shell option is a line to run. */
export function isScriptFlag(option: string): boolean {
  return /^-[a-zA-Z]*c[a-zA-Z]*$/.test(option);
}

const SPLIT = /^(?:-S|--split-string(?:=|$))/;
const ENV: ShellWord = { text: "env", known: true, glob: -1 };

/** Removes prefixes of a command: `sudo -u x`, `env A=b`, `A=b`, `timeout 5`, and words that begin a block. */
export function withoutPrefixes(words: readonly ShellWord[]): readonly ShellWord[] {
  const at = afterPrefixes(words);
  if (!SPLIT.test(words[at]?.text ?? "")) return words.slice(at);
  // Only one line of `env -S` is read, and none within it.
  const inner = [ENV, ...splitString(words.slice(at))];
  return inner.slice(afterPrefixes(inner));
}

/** The options by which a prefix names the folder in which the command runs. */
const FOLDERS: Readonly<Record<string, RegExp>> = {
  env: /^(?:-C|--chdir(?:=|$))/,
  sudo: /^(?:-D|--chdir(?:=|$))/,
};

/** Returns the folders that the prefixes of a command name (`env -C DIR`, `sudo -D DIR`), in their order. */
export function foldersOfPrefixes(words: readonly ShellWord[]): readonly ShellWord[] {
  const folders: ShellWord[] = [];
  let option: RegExp | undefined;
  for (const [at, word] of words.slice(0, afterPrefixes(words)).entries()) {
    option = FOLDERS[posix.basename(word.text)] ?? option;
    const flag = option?.exec(word.text)?.[0];
    if (flag === undefined) continue;
    const attached = word.text.slice(flag.length);
    const folder = attached === "" ? words[at + 1] : { ...word, text: attached };
    if (folder !== undefined) folders.push(folder);
  }
  return folders;
}

/** Returns the index of the command, or of the option of `env` whose value is the command. */
function afterPrefixes(words: readonly ShellWord[]): number {
  let prefix = "";
  /** The number of the prefix's own operands that still follow. */
  let operands = 0;
  for (let at = 0; ; at += 1) {
    const text = words[at]?.text;
    if (text === undefined) return at;
    const valued = PREFIXES.get(prefix);
    if (ASSIGNMENT.test(text)) continue;
    if (valued !== undefined && text.startsWith("-")) {
      if (prefix === "env" && SPLIT.test(text)) return at;
      if (takesNext(text, valued)) at += 1;
    } else if (operands > 0) operands -= 1;
    else if (PREFIXES.has(posix.basename(text))) {
      prefix = posix.basename(text);
      operands = prefix === "timeout" ? 1 : 0;
    } else return at;
  }
}

function splitString([option, next, ...rest]: readonly ShellWord[]): readonly ShellWord[] {
  const within = option?.text.replace(SPLIT, "") ?? "";
  const line = within === "" ? next : option;
  const texts = (within === "" ? (next?.text ?? "") : within).split(/\s+/).filter((text) => text !== "");
  const behind = within === "" || next === undefined ? rest : [next, ...rest];
  return [...texts.map((text) => ({ text, known: line?.known === true, glob: -1 })), ...behind];
}
