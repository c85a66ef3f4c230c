import { cutBefore, type GivenOptions, hasAny, innermost, readOptions, takesNext, valuesOf } from "./shell-options.ts";
import type { ShellWord } from "./shell-words.ts";
import { optional } from "../../util/optional.ts";

/** The paths that a command will touch according to its arguments. */
export interface Arguments {
  readonly paths: readonly ShellWord[];
  /** True if the command also touches everything beneath `paths`. */
  readonly deep: boolean;
  /**
   * The folder to which the command changes before it works (`git -C`). Default: the folder in which the command is
   * started.
   */
  readonly from?: ShellWord;
  /** The name of a folder beneath `paths` that is not touched. */
  readonly spares?: string;
  /**
   * True for a command that selects by itself which paths beneath `paths` it touches, such as `find -name`.
   * `shellPaths` then forecasts no changes of paths that the workspace's filter excludes.
   */
  readonly chooses?: true;
  /** A target that the sources replace. If the target is a folder, the sources are put into it. */
  readonly into?: { readonly target: ShellWord; readonly sources: readonly ShellWord[]; readonly deep: boolean };
}

type Reader = (words: readonly ShellWord[]) => Arguments | undefined;

const plain = (paths: readonly ShellWord[], deep = false): Arguments => ({ paths, deep });

/** Splits words into options and operands. `valued` lists the options that take a value, separated by blanks. */
function parse(words: readonly ShellWord[], valued: string): GivenOptions {
  return readOptions(words, new Set(valued.split(" ")));
}

function remove(words: readonly ShellWord[]): Arguments {
  const given = parse(words, "");
  return plain(given.operands, hasAny(given, "-r -R --recursive"));
}

function operandsOf(valued: string): Reader {
  return (words) => plain(parse(words, valued).operands);
}

/** Matches a mode of `chmod` that looks like an option: `-x`, `-w,g+r`. */
const MINUS_MODE = /^-[rwxXstugoa0-7][rwxXstugoa0-7,+=-]*$/;

interface Change {
  /** The mode or the owner; `undefined` if the command copies the mode or owner of another path (`--reference`). */
  readonly what: ShellWord | undefined;
  readonly paths: readonly ShellWord[];
  readonly deep: boolean;
}

function readChange(words: readonly ShellWord[]): Change {
  const end = words.findIndex(({ text }) => text === "--");
  const minus = words.findIndex(({ text }, at) => (end < 0 || at < end) && MINUS_MODE.test(text));
  const given = parse(words.toSpliced(minus < 0 ? words.length : minus, 1), "");
  const deep = hasAny(given, "-R --recursive");
  if (given.options.has("--reference")) return { what: undefined, paths: given.operands, deep };
  if (minus >= 0) return { what: words[minus], paths: given.operands, deep };
  return { what: given.operands[0], paths: given.operands.slice(1), deep };
}

/** Reads the paths of `chmod`, `chown` or `chgrp`. */
function change(words: readonly ShellWord[]): Arguments {
  const { paths, deep } = readChange(words);
  return plain(paths, deep);
}

/**
 * Returns true if a `chmod` only adds permissions for the owner of its paths. Such a `chmod` exposes nothing and locks
 * nobody out.
 */
export function isOnlyGivenToOwner(words: readonly ShellWord[]): boolean {
  const { what } = readChange(words);
  return what?.known === true && /^u\+[rwxX]+(?:,u\+[rwxX]+)*$/.test(what.text);
}

/**
 * Reads `chown OWNER PATH…` and `chgrp GROUP PATH…`. Sets `chooses`, because a forecast of excluded paths is not
 * needed: Chronicle does not record owners.
 */
function changeOwner(words: readonly ShellWord[]): Arguments {
  return { ...change(words), chooses: true };
}

/**
 * Returns a function that reads the arguments of `cp`, `mv`, `ln` or `install`. The target is the last operand, or the
 * value of `-t`.
 */
function transfer(tool: string): Reader {
  const valued = `-t -S --target-directory --suffix${tool === "install" ? " -m -o -g --mode --owner --group" : ""}`;
  return (words) => {
    const given = parse(words, valued);
    const { operands } = given;
    if (tool === "install" && hasAny(given, "-d --directory")) return plain(operands);
    const named = valuesOf(given, "-t --target-directory").at(-1);
    const target = named ?? (operands.length > 1 ? operands.at(-1) : undefined);
    const sources = named === undefined && operands.length > 1 ? operands.slice(0, -1) : operands;
    const moved = tool === "mv" ? sources : [];
    if (target === undefined) return plain(tool === "ln" ? sources.map(lastName) : moved, tool === "mv");
    const deep = tool === "mv" || hasAny(given, "-r -R -a --recursive --archive");
    return { paths: moved, deep, into: { target, sources, deep } };
  };
}

/** Returns the name of the link that `ln -s TARGET` makes in the current folder: the last component of the target. */
function lastName(word: ShellWord): ShellWord {
  const slash = word.text.replace(/\/+$/, "").lastIndexOf("/");
  return cutBefore(word, slash + 1);
}

/** Returns a function that reads the arguments of `sed -i SCRIPT FILE…` or `perl -pi -e CODE FILE…`. */
function inPlace(tool: "sed" | "perl"): Reader {
  const scripts = tool === "sed" ? "-e -f --expression --file" : "-e -E";
  const valued = `${scripts} ${tool === "sed" ? "-l --line-length" : "-I -M"}`;
  return (words) => {
    const given = parse(
      words.map((word) => withoutSuffix(tool, word)),
      valued,
    );
    if (!hasAny(given, "-i --in-place")) return undefined;
    return plain(hasAny(given, scripts) ? given.operands : given.operands.slice(1));
  };
}

/** Removes the suffix for backup copies, which can follow `-i` in the same word (`-i.bak`). */
function withoutSuffix(tool: "sed" | "perl", word: ShellWord): ShellWord {
  const flags = tool === "sed" ? /^-[nrEsuz]*i/ : /^-[acnplsStTuUvwWX0-9]*i/;
  return { ...word, text: flags.exec(word.text)?.[0] ?? word.text };
}

function dd(words: readonly ShellWord[]): Arguments {
  return plain(words.filter(({ text }) => text.startsWith("of=")).map((word) => cutBefore(word, 3)));
}

/** Reads `find PATH… -delete`, `find PATH… -exec rm {} +` and `find PATH… -fprint FILE`. */
function find(words: readonly ShellWord[]): Arguments | undefined {
  const starts: ShellWord[] = [];
  let at = 0;
  while (/^-[HLP]$/.test(words[at]?.text ?? "")) at += 1;
  for (; at < words.length; at += 1) {
    const word = words[at];
    if (word === undefined || /^[-(!]/.test(word.text)) break;
    starts.push(word);
  }
  const written = words.filter((_, i) => /^-(?:fprint|fprint0|fprintf|fls)$/.test(words[i - 1]?.text ?? ""));
  const acts = words.some((word, i) => {
    if (word.text === "-delete") return true;
    return /^-(?:exec|execdir|ok|okdir)$/.test(word.text) && isChanging(words, i + 1);
  });
  if (!acts) return written.length > 0 ? plain(written) : undefined;
  return { ...plain([...(starts.length > 0 ? starts : [HERE]), ...written], true), ...choiceOf(words) };
}

/**
 * Returns how `find` restricts the paths. A test of names or paths (`-name`, `-path` …) sets `chooses`, unless the test
 * is negated. Without such a test, a word that contains `.git` is assumed to exclude the folder `.git`.
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

/** Reads the command that `xargs` runs, without the arguments that `xargs` adds from its input. */
function xargs(words: readonly ShellWord[]): Arguments | undefined {
  let at = 0;
  let tool = words[at];
  while (tool?.text.startsWith("-") === true) {
    at += takesNext(tool, XARGS_VALUED) ? 2 : 1;
    tool = words[at];
  }
  if (tool === undefined || !tool.known) return undefined;
  const name = tool.text.slice(tool.text.lastIndexOf("/") + 1);
  if (name === "xargs") return undefined;
  return argumentsOf(name, words.slice(at + 1));
}

/** The options that `git` takes before its subcommand, and that have a value. */
export const GIT_VALUED: ReadonlySet<string> = new Set(
  "-C -c --git-dir --work-tree --namespace --config-env".split(" "),
);

/**
 * Reads `git clean -x`, `git clean -X` and `git stash --all`. Only these commands need a forecast, because they remove
 * ignored files, which are stored nowhere else. Other commands of git change only tracked files, and new files that a
 * full scan of the workspace finds.
 */
function git(words: readonly ShellWord[]): Arguments | undefined {
  const before = readOptions(words, GIT_VALUED, { endsAtOperand: true });
  const [verb, ...rest] = before.operands;
  const isClean = verb?.text === "clean";
  const given = parse(rest, isClean ? "-e --exclude" : "-m --message");
  const takesIgnored = isClean ? hasAny(given, "-x -X") : verb?.text === "stash" && hasAny(given, "-a --all");
  if (!takesIgnored) return undefined;
  const paths = isClean && given.operands.length > 0 ? given.operands : [HERE];
  const tree = valuesOf(before, "--work-tree").at(-1);
  const touched = tree === undefined ? paths : [...paths, tree];
  return { ...plain(touched, true), spares: ".git", ...optional({ from: innermost(valuesOf(before, "-C")) }) };
}

/**
 * Reads `rsync … DEST`. `rsync` may overwrite anything beneath a local DEST. With `--delete`, `rsync` may also remove
 * anything beneath DEST.
 */
function rsync(words: readonly ShellWord[]): Arguments | undefined {
  const { options, operands } = parse(words, "-e -f -T -B -M --rsh --exclude --include --filter --files-from");
  const target = operands.length > 1 ? operands.at(-1) : undefined;
  if (target === undefined || /^[^/]*:/.test(target.text)) return undefined;
  const deletes = [...options].some((name) => name.startsWith("--del"));
  return { ...plain([target], true), ...(deletes ? {} : { chooses: true }) };
}

const HERE: ShellWord = { text: ".", known: true, glob: -1 };

/**
 * Returns a function that reads the arguments of a program whose options name the files that it writes. `names` lists
 * these options. `others` lists the program's other short options that take a value. In a bundle of letters, the
 * letters after such an option are the value of the option.
 */
function outputOptions(names: string, others: string): Reader {
  return (words) => {
    const given = parse(words, `${names} ${others}`);
    return plain(valuesOf(given, names).filter(({ text }) => text !== "-"));
  };
}

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["rm", remove],
  ["rmdir", operandsOf("")],
  ["unlink", operandsOf("")],
  ["shred", operandsOf("-n -s --iterations --size")],
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
  [
    "curl",
    outputOptions(
      "-o -D -c --output --dump-header --cookie-jar",
      "-A -b -C -d -e -E -F -H -K -m -P -Q -r -t -T -u -U -w -x -X -y -Y -z",
    ),
  ],
  [
    "wget",
    outputOptions(
      "-O -o -a --output-document --output-file --append-output",
      "-A -B -D -e -i -I -l -P -Q -R -t -T -U -w -X",
    ),
  ],
  ["sort", outputOptions("-o --output", "-k -S -t -T")],
]);

/**
 * Returns the paths that a command touches; `undefined` if the command touches no paths, or is unknown (`make`, `npm`
 * …).
 */
export function argumentsOf(tool: string, words: readonly ShellWord[]): Arguments | undefined {
  return READERS.get(tool)?.(words);
}
