import { posix } from "node:path";
import type { ShellWord } from "./shell-words.ts";
import { addAll } from "../../util/long-lists.ts";

/**
 * The option names in one word. The word `-abc` is a bundle of the options `-a`, `-b` and `-c`. If one of the letters
 * takes a value, this letter is the last name, and the rest of the word is its value.
 */
interface OptionNames {
  readonly names: readonly string[];
  /** The value of the last name; omitted if the word has no value. */
  readonly value?: ShellWord;
  /** True if the value of the last name is the next word, whatever this word looks like. */
  readonly takesNext: boolean;
}

/** Splits an option: `--name`, `--name=value`, `-abc`, `-nvalue`. `valued` lists the options that take a value. */
function namesOf(option: ShellWord, valued: ReadonlySet<string>): OptionNames {
  const { text, known } = option;
  const withValue = (names: readonly string[], at: number): OptionNames => {
    // In `-n$X`, the value is `$X`. The text of this value is empty here, because only a shell knows the text.
    if (at === text.length && known) return { names, takesNext: true };
    return { names, value: cutBefore(option, at), takesNext: false };
  };
  if (text.startsWith("--")) {
    const equals = text.indexOf("=");
    if (equals >= 0) return { names: [text.slice(0, equals)], value: cutBefore(option, equals + 1), takesNext: false };
    return valued.has(text) ? withValue([text], text.length) : { names: [text], takesNext: false };
  }
  const names: string[] = [];
  for (let at = 1; at < text.length; at += 1) {
    const name = `-${text[at]}`;
    names.push(name);
    if (valued.has(name)) return withValue(names, at + 1);
  }
  return { names, takesNext: false };
}

export function takesNext(option: ShellWord, valued: ReadonlySet<string>): boolean {
  return namesOf(option, valued).takesNext;
}

/** The words after a program's name, split into options and operands. */
export interface GivenOptions {
  /** The names of the given options. The letters of a bundle are separate names. */
  readonly options: ReadonlySet<string>;
  /** Maps each option that has values to these values, in the order of the words. */
  readonly values: ReadonlyMap<string, readonly ShellWord[]>;
  readonly operands: readonly ShellWord[];
}

/** The rules by which `readOptions` tells options from operands. */
interface OptionRules {
  /**
   * True if the first operand is a command, and the words after it are the command's arguments. Default: options may be
   * anywhere.
   */
  readonly endsAtOperand?: boolean;
  /** True if `-1` is an operand, as in the npm package `commander`. Default: `-1` is an option. */
  readonly hasNumbers?: boolean;
}

const NUMBER = /^-\.?\d/;

const isOption = (text: string): boolean => text.length > 1 && text.startsWith("-");

/** Splits words into options and operands, as getopt does. `valued` lists the options that take a value. */
export function readOptions(
  words: readonly ShellWord[],
  valued: ReadonlySet<string>,
  { endsAtOperand = false, hasNumbers = false }: OptionRules = {},
): GivenOptions {
  const options = new Set<string>();
  const values = new Map<string, ShellWord[]>();
  const operands: ShellWord[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at];
    if (word === undefined) break;
    const isEnd = word.text === "--" && word.known;
    const isOperand = !isOption(word.text) || (hasNumbers && NUMBER.test(word.text));
    if (isEnd || (endsAtOperand && isOperand)) {
      addAll(operands, words.slice(isEnd ? at + 1 : at));
      break;
    }
    if (isOperand) {
      operands.push(word);
      continue;
    }
    const { names, value, takesNext: isNext } = namesOf(word, valued);
    for (const name of names) options.add(name);
    if (isNext) at += 1;
    const given = isNext ? words[at] : value;
    if (given === undefined) continue;
    const name = names.at(-1) ?? "";
    const all = values.get(name);
    if (all === undefined) values.set(name, [given]);
    else all.push(given);
  }
  return { options, values, operands };
}

/** Returns the word without its first `at` characters. */
export function cutBefore(word: ShellWord, at: number): ShellWord {
  return { ...word, text: word.text.slice(at), glob: word.glob < at ? -1 : word.glob - at };
}

/** Returns true if at least one of these options is given. `names` lists the options, separated by blanks. */
export function hasAny({ options }: GivenOptions, names: string): boolean {
  return names.split(" ").some((name) => options.has(name));
}

/** Returns the values of these options. `names` lists the options, separated by blanks. */
export function valuesOf({ values }: GivenOptions, names: string): ShellWord[] {
  return names.split(" ").flatMap((name) => values.get(name) ?? []);
}

/**
 * Returns the folder that a program reaches when it changes to these folders one after the other; `undefined` if there
 * are no folders.
 */
export function innermost(folders: readonly ShellWord[]): ShellWord | undefined {
  return folders.length === 0 ? undefined : folders.reduce(within);
}

/** Resolves a path that is relative to a folder. Returns an absolute path unchanged. */
export function within(folder: ShellWord, path: ShellWord): ShellWord {
  if (path.text.startsWith("/")) return path;
  const before = `${folder.text}/`;
  const glob = folder.glob >= 0 || path.glob < 0 ? folder.glob : before.length + path.glob;
  return { text: before + path.text, known: folder.known && path.known, glob };
}

/**
 * Maps each program and each keyword of the shell that can precede a command to those of its own options that take a
 * value.
 */
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

const ENV: ShellWord = { text: "env", known: true, glob: -1 };

/** Maps a prefix to its options that name the folder in which the command runs. */
const FOLDERS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["env", new Set(["-C", "--chdir"])],
  ["sudo", new Set(["-D", "--chdir"])],
]);

/**
 * Returns a command without its prefixes: `sudo -u x`, `env A=b`, `A=b`, `timeout 5`, and keywords that begin a block
 * (`then`, `do` …).
 */
export function withoutPrefixes(words: readonly ShellWord[]): readonly ShellWord[] {
  return splitAtCommand(words).command;
}

/** Returns the folders that the prefixes of a command name (`env -C DIR`, `sudo -D DIR`), in the order of the words. */
export function foldersOfPrefixes(words: readonly ShellWord[]): readonly ShellWord[] {
  return splitAtCommand(words).folders;
}

interface Prefixed {
  readonly command: readonly ShellWord[];
  readonly folders: readonly ShellWord[];
}

function splitAtCommand(words: readonly ShellWord[]): Prefixed {
  const { at, folders, line } = readPrefixes(words);
  if (line === undefined) return { command: words.slice(at), folders };
  // If the value of `env -S` has another `env -S`, the value of the inner one is ignored.
  const texts = line.text.split(/\s+/).filter((text) => text !== "");
  const split = texts.map((text) => ({ text, known: line.known, glob: -1 }));
  const inner = [ENV, ...split, ...words.slice(at)];
  const read = readPrefixes(inner);
  return { command: inner.slice(read.at), folders: [...folders, ...read.folders] };
}

interface Prefixes {
  /** The index of the first word after the prefixes. */
  readonly at: number;
  readonly folders: readonly ShellWord[];
  /** The value of `env -S`, from which `env` makes further words. These words precede the word at index `at`. */
  readonly line?: ShellWord | undefined;
}

function readPrefixes(words: readonly ShellWord[]): Prefixes {
  const folders: ShellWord[] = [];
  let prefix = "";
  /** The number of operands of the prefix that are still to come (`timeout` has one: the duration). */
  let operands = 0;
  for (let at = 0; ; at += 1) {
    const word = words[at];
    if (word === undefined) return { at, folders };
    const { text } = word;
    const valued = PREFIXES.get(prefix);
    if (ASSIGNMENT.test(text)) continue;
    if (valued !== undefined && text.startsWith("-")) {
      const { names, value, takesNext: isNext } = namesOf(word, valued);
      const name = names.at(-1) ?? "";
      if (isNext) at += 1;
      const given = isNext ? words[at] : value;
      if (prefix === "env" && (name === "-S" || name === "--split-string")) return { at: at + 1, folders, line: given };
      if (given !== undefined && FOLDERS.get(prefix)?.has(name) === true) folders.push(given);
    } else if (operands > 0) operands -= 1;
    else if (PREFIXES.has(posix.basename(text))) {
      prefix = posix.basename(text);
      operands = prefix === "timeout" ? 1 : 0;
    } else return { at, folders };
  }
}
