import { cutBefore, type GivenOptions, hasAny, innermost, readOptions, valuesOf, within } from "./shell-options.ts";
import { GIT_VALUED } from "./shell-arguments.ts";
import type { ShellWord } from "./shell-words.ts";

/**
 * The paths that a program writes or removes according to its arguments. `personsCommandIn` reports a command that has
 * such a path in a guarded folder. `personsCommandIn` also checks the paths that `argumentsOf` (`shell-arguments.ts`)
 * returns. Therefore, `paths` need not contain these paths. If `deep` is true, everything beneath the paths is
 * affected.
 */
export interface Guarding {
  readonly paths: readonly ShellWord[];
  readonly deep: boolean;
}

type Reader = (words: readonly ShellWord[]) => Guarding;

const HERE: ShellWord = { text: ".", known: true, glob: -1 };
const NOTHING: Guarding = { paths: [], deep: false };

function given(words: readonly ShellWord[], valued: string): GivenOptions {
  return readOptions(words, new Set(valued.split(" ")));
}

/** Returns a reader that returns all operands. `valued` lists the options that take a value, separated by blanks. */
function operands(valued = ""): Reader {
  return (words) => ({ paths: given(words, valued).operands, deep: false });
}

/** Returns a reader that returns the values of certain options. `options` lists these options, separated by blanks. */
function named(options: string): Reader {
  return (words) => ({ paths: valuesOf(given(words, options), options), deep: false });
}

/**
 * Reads the arguments of a compressor. A compressor replaces the files that its operands name, and writes to the file
 * after `-o`.
 */
function compressor(words: readonly ShellWord[]): Guarding {
  const read = given(words, "-S -T -o");
  const isOnlyRead = hasAny(read, "-c -l -t --stdout --list --test");
  return { paths: [...valuesOf(read, "-o"), ...(isOnlyRead ? [] : read.operands)], deep: false };
}

const TAR_VALUED = "-C -f -T -X -K -N -V -L -b -H -g -F -I --directory --file --files-from --exclude-from --exclude";

function tar(words: readonly ShellWord[]): Guarding {
  const read = given(withDash(words), TAR_VALUED);
  const folders = valuesOf(read, "-C --directory");
  if (hasAny(read, "-x --extract --get")) {
    const from = folders.length > 0 ? folders : [HERE];
    // With `--one-top-level=NAME`, `tar` extracts into the folder NAME, which it creates in the folder of `-C`.
    const named = valuesOf(read, "--one-top-level").slice(-1);
    const made = named.flatMap((name) => from.map((folder) => within(folder, name)));
    return { paths: [...from, ...made], deep: false };
  }
  if (hasAny(read, "-t --list -d --diff --compare")) return NOTHING;
  const archives = valuesOf(read, "-f --file");
  return read.options.has("--remove-files")
    ? { paths: [...archives, ...read.operands], deep: true }
    : { paths: archives, deep: false };
}

/**
 * Splits the letters of the old form `tar xfC FILE FOLDER` into options, and puts the value of each option after the
 * option.
 */
function withDash(words: readonly ShellWord[]): readonly ShellWord[] {
  const [first, ...rest] = words;
  if (first === undefined || !/^[a-zA-Z]+$/.test(first.text)) return words;
  const valued = new Set(TAR_VALUED.split(" "));
  const apart: ShellWord[] = [];
  for (const letter of first.text) {
    apart.push({ ...first, text: `-${letter}` });
    const value = valued.has(`-${letter}`) ? rest.shift() : undefined;
    if (value !== undefined) apart.push(value);
  }
  return [...apart, ...rest];
}

function unzip(words: readonly ShellWord[]): Guarding {
  const read = given(words, "-d -x -P");
  if (hasAny(read, "-l -t -p -v -z -Z")) return NOTHING;
  const folders = valuesOf(read, "-d");
  return { paths: folders.length > 0 ? folders : [HERE], deep: false };
}

/**
 * Reads `7z VERB ARCHIVE FILE…`. The options of `7z` can be anywhere. The value of an option is in the same word as the
 * option.
 */
function sevenZip(words: readonly ShellWord[]): Guarding {
  const end = words.findIndex(({ text }) => text === "--");
  const isOption = (text: string, at: number): boolean => text.startsWith("-") && (end < 0 || at < end);
  const options = words.filter(({ text }, at) => isOption(text, at));
  const [first, ...operands] = words.filter(({ text }, at) => !isOption(text, at) && at !== end);
  const verb = first?.text.toLowerCase() ?? "";
  const isGiven = (name: string): boolean => options.some(({ text }) => text === name);
  if (/^[adru]/.test(verb)) {
    const deep = isGiven("-sdel");
    return { paths: deep ? operands : operands.slice(0, 1), deep };
  }
  if (!/^[ex]$/.test(verb) || isGiven("-so")) return NOTHING;
  const folders = options.filter(({ text }) => /^-o./.test(text)).map((word) => cutBefore(word, 2));
  return { paths: folders.length > 0 ? folders : [HERE], deep: false };
}

function zip(words: readonly ShellWord[]): Guarding {
  const read = given(words, "-x -i -b -t -n");
  const moves = hasAny(read, "-m --move");
  return { paths: moves ? read.operands : read.operands.slice(0, 1), deep: moves };
}

const GIT_READS = new Set(
  "log status show diff ls-files ls-tree rev-parse cat-file grep blame describe rev-list show-ref shortlog".split(" "),
);
/** The git verbs whose operands can name folders that git creates or fills. */
const GIT_MAKES = new Set(["clone", "init", "worktree", "submodule"]);

function git(words: readonly ShellWord[]): Guarding {
  const before = readOptions(words, GIT_VALUED, { endsAtOperand: true });
  const [verb, ...rest] = before.operands;
  if (verb === undefined || GIT_READS.has(verb.text)) return NOTHING;
  const behind = given(rest, "-b -o -c -u -m -e --branch --origin --depth --separate-git-dir --output");
  const places = [
    HERE,
    ...valuesOf(before, "--git-dir --work-tree"),
    ...valuesOf(behind, "--separate-git-dir --output"),
    ...(GIT_MAKES.has(verb.text) ? behind.operands : []),
  ];
  const folder = innermost(valuesOf(before, "-C"));
  return { paths: folder === undefined ? places : places.map((place) => within(folder, place)), deep: false };
}

function sqlite(words: readonly ShellWord[]): Guarding {
  return words.some(({ text }) => /^--?readonly$/.test(text)) ? NOTHING : operands()(words);
}

function openssl(words: readonly ShellWord[]): Guarding {
  return { paths: words.filter((_, at) => words[at - 1]?.text === "-out"), deep: false };
}

/** Returns the last operand, if it is a local path. `scp` writes only to the last operand. */
function target(words: readonly ShellWord[]): Guarding {
  const last = given(words, "-P -i -o -F -S -c -l -J").operands.at(-1);
  return { paths: last === undefined || /^[^/]*:/.test(last.text) ? [] : [last], deep: false };
}

/**
 * Returns the operands: the sources and, without `-t`, the target. The sources are included, because a link to a
 * guarded file would permit writes to that file. `argumentsOf` reads the value of `-t`.
 */
function ln(words: readonly ShellWord[]): Guarding {
  return { paths: given(words, "-t -S --target-directory --suffix").operands, deep: false };
}

/** Reads the arguments of a program that changes attributes of paths. */
function attributes(words: readonly ShellWord[]): Guarding {
  const read = given(words, "-m -x -n -v --modify --remove");
  return { paths: read.operands, deep: hasAny(read, "-R --recursive") };
}

const each = (names: string, reader: Reader): (readonly [string, Reader])[] =>
  names.split(" ").map((name) => [name, reader]);

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ...each("tar bsdtar gtar", tar),
  ["unzip", unzip],
  ...each("7z 7za 7zr 7zz", sevenZip),
  ["zip", zip],
  ["cpio", named("-D --directory -O -F --file")],
  ...each("gzip gunzip bzip2 bunzip2 xz unxz lzma zstd unzstd compress uncompress", compressor),
  ["git", git],
  ...each("mount umount fusermount fusermount3", operands("-t -o --types --options")),
  ...each("chattr setfacl setfattr chflags chcon", attributes),
  ...each("ed ex vi vim nvim nano pico emacs micro rename prename", operands("-c -s -S -u")),
  ...each("rimraf trash trash-put srm wipe fallocate mkfifo mknod", (words) => ({
    ...operands("-l -o -m")(words),
    deep: true,
  })),
  ...each("sqlite3 litecli", sqlite),
  ...each("scp", target),
  ["ln", ln],
  [
    "patch",
    (words) => ({
      paths: [...valuesOf(given(words, "-d -o -i -p"), "-d -o"), ...given(words, "-d -o -i -p").operands],
      deep: false,
    }),
  ],
  ["curl", named("--output-dir")],
  ["wget", named("-P --directory-prefix")],
  ["openssl", openssl],
  ["ssh-keygen", named("-f")],
  ["gpg", named("-o --output")],
]);

/** Returns the paths that a command may write or remove; `undefined` for an unknown program. */
export function guardedArguments(tool: string, words: readonly ShellWord[]): Guarding | undefined {
  return READERS.get(tool)?.(words);
}
