import { takesNext } from "./shell-options.ts";
import type { ShellWord } from "./shell-words.ts";
import { addAll } from "../../util/long-lists.ts";
import { optional } from "../../util/optional.ts";

/** The paths that a command will touch according to its arguments. */
export interface Arguments {
  readonly paths: readonly ShellWord[];
  /** True if everything beneath `paths` is touched, too. */
  readonly deep: boolean;
  /** The folder in which the command works. Default: the one in which it is started. */
  readonly from?: ShellWord;
  /** A name beneath `paths` that is left alone. */
  readonly spares?: string;
  /** Set if the command touches only some of the paths beneath, and selects them itself. */
  readonly chooses?: true;
  /** A target that the sources replace. If the target is a folder, the sources are put into it. */
  readonly into?: { readonly target: ShellWord; readonly sources: readonly ShellWord[]; readonly deep: boolean };
}

interface Parsed {
  readonly options: readonly ShellWord[];
  readonly values: ReadonlyMap<string, ShellWord>;
  readonly operands: readonly ShellWord[];
}

type Reader = (words: readonly ShellWord[]) => Arguments | undefined;

const plain = (paths: readonly ShellWord[], deep = false): Arguments => ({ paths, deep });

/** Splits words into options and operands. `valued` has the options whose value is a separate word. */
function parse(words: readonly ShellWord[], valued: string): Parsed {
  const takes = new Set(valued === "" ? [] : valued.split(" "));
  const options: ShellWord[] = [];
  const values = new Map<string, ShellWord>();
  const operands: ShellWord[] = [];
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i];
    if (word === undefined) break;
    if (word.text === "--" && word.known) {
      addAll(operands, words.slice(i + 1));
      break;
    }
    if (!word.text.startsWith("-") || word.text === "-") {
      operands.push(word);
      continue;
    }
    options.push(word);
    const value = words[i + 1];
    if (takes.has(word.text) && value !== undefined) {
      values.set(word.text, value);
      i += 1;
    } else if (word.text.startsWith("--") && word.text.includes("=")) {
      const at = word.text.indexOf("=");
      values.set(word.text.slice(0, at), cutBefore(word, at + 1));
    }
  }
  return { options, values, operands };
}

function cutBefore(word: ShellWord, at: number): ShellWord {
  return { ...word, text: word.text.slice(at), glob: word.glob < at ? -1 : word.glob - at };
}

/** Returns true if one of these short options (also in a bundle), or the long option, is given. */
function has(options: readonly ShellWord[], short: string, long = ""): boolean {
  return options.some(({ text }) => {
    if (text.startsWith("--")) return long !== "" && (text === long || text.startsWith(`${long}=`));
    return [...short].some((letter) => text.slice(1).includes(letter));
  });
}

function remove(words: readonly ShellWord[]): Arguments {
  const { options, operands } = parse(words, "");
  return plain(operands, has(options, "rR", "--recursive"));
}

function operandsOf(valued: string): Reader {
  return (words) => plain(parse(words, valued).operands);
}

/** Reads `chmod MODE PATH…` and `chown OWNER PATH…`. */
function change(words: readonly ShellWord[]): Arguments {
  // In `chmod -x file`, the mode looks like an option.
  const { options, operands } = parse(words, "");
  const given = has(options, "", "--reference") || options.some((one) => /^-[rwxXst]+$/.test(one.text));
  return plain(given ? operands : operands.slice(1), has(options, "R", "--recursive"));
}

/** The same as `change`, but with `chooses`. Excluded paths need not be examined, because owners are not recorded. */
function changeOwner(words: readonly ShellWord[]): Arguments {
  return { ...change(words), chooses: true };
}

/** Reads `cp`, `mv`, `ln` and `install`. The target is the last operand, or the value of `-t`. */
function transfer(tool: string): Reader {
  return (words) => {
    const { options, values, operands } = parse(words, "-t -S -m -o -g --target-directory --suffix --mode");
    if (tool === "install" && has(options, "d", "--directory")) return plain(operands);
    const named = values.get("-t") ?? values.get("--target-directory");
    const target = named ?? (operands.length > 1 ? operands.at(-1) : undefined);
    const sources = named === undefined && operands.length > 1 ? operands.slice(0, -1) : operands;
    const moved = tool === "mv" ? sources : [];
    if (target === undefined) return plain(tool === "ln" ? sources.map(lastName) : moved, tool === "mv");
    const deep = tool === "mv" || has(options, "rRa", "--recursive");
    return { paths: moved, deep, into: { target, sources, deep } };
  };
}

/** Returns the name of the link that `ln -s TARGET` makes in the current folder: the last component of the target. */
function lastName(word: ShellWord): ShellWord {
  const slash = word.text.replace(/\/+$/, "").lastIndexOf("/");
  return cutBefore(word, slash + 1);
}

/** Reads `sed -i SCRIPT FILE…` and `perl -pi -e CODE FILE…`. */
function inPlace(tool: string): Reader {
  return (words) => {
    const valued = tool === "sed" ? "-e -f -l --expression --file" : "-e -E -I -M";
    const split = words.flatMap((word) => bundledScript(tool, word));
    const { options, operands } = parse(split, valued);
    if (!options.some(({ text }) => text.startsWith("--in-place") || /^-[a-zA-Z0-9]*i/.test(text))) return undefined;
    const scripted = options.some(({ text }) => /^(?:-[eEf]|--expression|--file)/.test(text));
    return plain(scripted ? operands : operands.slice(1));
  };
}

/** Splits `-pie` into `-pi -e`, so that the next word is read as the script. */
function bundledScript(tool: string, word: ShellWord): ShellWord[] {
  const bundle =
    tool === "perl" ? /^(-[a-zA-Z0-9]*[a-zA-Z0-9.])([eE])$/.exec(word.text) : /^(-[nrEsiz]+)([ef])$/.exec(word.text);
  const [, flags, last] = bundle ?? [];
  if (flags === undefined || last === undefined) return [word];
  return [
    { ...word, text: flags },
    { ...word, text: `-${last}` },
  ];
}

function dd(words: readonly ShellWord[]): Arguments {
  return plain(words.filter(({ text }) => text.startsWith("of=")).map((word) => cutBefore(word, 3)));
}

/** Reads `find PATH… -delete` and `find PATH… -exec rm {} +`. */
function find(words: readonly ShellWord[]): Arguments | undefined {
  const starts: ShellWord[] = [];
  let at = 0;
  while (/^-[HLP]$/.test(words[at]?.text ?? "")) at += 1;
  for (; at < words.length; at += 1) {
    const word = words[at];
    if (word === undefined || /^[-(!]/.test(word.text)) break;
    starts.push(word);
  }
  const acts = words.some((word, i) => {
    if (/^-(?:delete|fprint|fprint0|fprintf|fls)$/.test(word.text)) return true;
    return /^-(?:exec|execdir|ok|okdir)$/.test(word.text) && isChanging(words, i + 1);
  });
  if (!acts) return undefined;
  return { ...plain(starts.length > 0 ? starts : [HERE], true), ...choiceOf(words) };
}

/**
 * Returns how `find` restricts the paths. A name test that is not negated sets `chooses`. If there is no such test, a
 * word with `.git` in it means that `find` spares that folder.
 */
function choiceOf(words: readonly ShellWord[]): Pick<Arguments, "spares" | "chooses"> {
  const isNot = (i: number): boolean => words[i]?.text === "!" || words[i]?.text === "-not";
  const chooses = words.some(({ text }, i) => /^-i?(?:name|path|wholename|regex)$/.test(text) && !isNot(i - 1));
  if (chooses) return { chooses };
  return words.some(({ text }) => text.includes(".git")) ? { spares: ".git" } : {};
}

/** Returns true if the command that `find` runs changes something, judged by the command's name and options. */
function isChanging(words: readonly ShellWord[], at: number): boolean {
  const tool = words[at];
  const end = words.findIndex((word, i) => i > at && (word.text === ";" || word.text === "+"));
  if (tool === undefined || !tool.known) return false;
  const name = tool.text.slice(tool.text.lastIndexOf("/") + 1);
  if (name === "find" || name === "xargs") return false;
  return argumentsOf(name, words.slice(at + 1, end < 0 ? undefined : end)) !== undefined;
}

export const XARGS_VALUED: ReadonlySet<string> = new Set(
  "-I -n -P -L -d -s -a -E --arg-file --delimiter --max-args --max-chars --max-procs".split(" "),
);

/** Reads the arguments that `xargs` has on its command line, not those that it reads from its input. */
function xargs(words: readonly ShellWord[]): Arguments | undefined {
  let at = 0;
  while ((words[at]?.text ?? "").startsWith("-")) at += takesNext(words[at]?.text ?? "", XARGS_VALUED) ? 2 : 1;
  const tool = words[at];
  if (tool === undefined || !tool.known) return undefined;
  const name = tool.text.slice(tool.text.lastIndexOf("/") + 1);
  if (name === "xargs") return undefined;
  return argumentsOf(name, words.slice(at + 1));
}

/**
 * Reads `git clean -x` and `git stash --all`. They remove ignored files, which are stored nowhere else. Every other
 * path that git changes is tracked, or is a new file that a full scan of the workspace finds.
 */
function git(words: readonly ShellWord[]): Arguments | undefined {
  let at = 0;
  let from: ShellWord | undefined;
  while ((words[at]?.text ?? "").startsWith("-")) {
    const option = words[at]?.text ?? "";
    if (option === "-C") from = words[at + 1];
    at += option === "-C" || option === "-c" ? 2 : 1;
  }
  const { options, operands } = parse(words.slice(at + 1), "-e --exclude -m --message");
  const verb = words[at]?.text;
  const takesIgnored = verb === "clean" ? has(options, "xX") : verb === "stash" && has(options, "a", "--all");
  if (!takesIgnored) return undefined;
  const paths = verb === "clean" && operands.length > 0 ? operands : [HERE];
  return { ...plain(paths, true), spares: ".git", ...optional({ from }) };
}

/** Reads `rsync … DEST`. Anything beneath a local folder may be overwritten, and with `--delete` also removed. */
function rsync(words: readonly ShellWord[]): Arguments | undefined {
  const { options, operands } = parse(words, "-e -f -T -B -M --rsh --exclude --include --filter --files-from");
  const target = operands.length > 1 ? operands.at(-1) : undefined;
  if (target === undefined || /^[^/]*:/.test(target.text)) return undefined;
  const deletes = options.some(({ text }) => text.startsWith("--del"));
  return { ...plain([target], true), ...(deletes ? {} : { chooses: true }) };
}

const HERE: ShellWord = { text: ".", known: true, glob: -1 };

function outputOption(...names: readonly string[]): Reader {
  return (words) => {
    const { values } = parse(words, names.join(" "));
    return plain(names.flatMap((name) => values.get(name) ?? []));
  };
}

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["rm", remove],
  ["rmdir", operandsOf("")],
  ["unlink", operandsOf("")],
  ["shred", operandsOf("-n -s")],
  ["mv", transfer("mv")],
  ["cp", transfer("cp")],
  ["ln", transfer("ln")],
  ["install", transfer("install")],
  ["touch", operandsOf("-d -r -t --date --reference")],
  ["mkdir", operandsOf("-m --mode")],
  ["truncate", operandsOf("-s -r --size --reference")],
  ["tee", operandsOf("")],
  ["chmod", change],
  ["chown", changeOwner],
  ["chgrp", changeOwner],
  ["sed", inPlace("sed")],
  ["gsed", inPlace("sed")],
  ["perl", inPlace("perl")],
  ["dd", dd],
  ["find", find],
  ["git", git],
  ["rsync", rsync],
  ["xargs", xargs],
  ["curl", outputOption("-o", "--output")],
  ["wget", outputOption("-O", "--output-document")],
  ["sort", outputOption("-o", "--output")],
]);

/** Returns the paths that a command touches; `undefined` if it touches none, or is unknown (`make`, `npm` …). */
export function argumentsOf(tool: string, words: readonly ShellWord[]): Arguments | undefined {
  return READERS.get(tool)?.(words);
}
