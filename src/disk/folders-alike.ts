import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { addAll } from "../util/long-lists.ts";

/** Absolute names only: the programs that run here must not depend on anybody's PATH. */
const PROGRAMS = ["/usr/bin/ls", "/bin/ls"];

/** Prints one line for each folder, in the given order: permissions with a mark, links, owner, group, label. */
const OPTIONS = ["-ldnbUZ", "--"];

/** Most folders per call: their paths must fit into a program's arguments. */
const AT_ONCE = 200;
const MOST_BYTES = 64 * 1024 * 1024;

/** Groups: the setgid bit; a mark (`+`: an access control list); the group; the label (`?` if the system has none). */
const LINE = /^d[r-][w-][x-][r-][w-]([xsS-])[r-][w-][xtT-]([.+@]?) +\d+ \d+ +(\d+) +(\S+) /;

/** The properties of a new file in a folder. */
interface Makes {
  readonly isPlain: boolean;
  readonly group: string;
  readonly label: string;
}

/**
 * See `Disk.makesAlike`. Node reads no extended attributes, but GNU `ls` shows whether a folder has an access control
 * list, and its label. Returns `undefined` if there is no such program, or if its output for a folder is unexpected.
 */
export async function foldersAlike(folders: readonly string[], like: string): Promise<ReadonlySet<string> | undefined> {
  const program = process.platform === "linux" ? PROGRAMS.find((path) => existsSync(path)) : undefined;
  if (program === undefined) return undefined;
  const [model] = (await askAll(program, [like])) ?? [];
  const found = await askAll(program, folders);
  if (model === undefined || found === undefined) return undefined;
  const isAlike = ({ isPlain, group, label }: Makes): boolean =>
    isPlain && group === model.group && label === model.label;
  return new Set(folders.filter((_, i) => model.isPlain && found[i] !== undefined && isAlike(found[i])));
}

async function askAll(program: string, folders: readonly string[]): Promise<readonly Makes[] | undefined> {
  const found: Makes[] = [];
  for (let at = 0; at < folders.length; at += AT_ONCE) {
    const some = folders.slice(at, at + AT_ONCE);
    const told = linesOf(await run(program, [...OPTIONS, ...some]));
    if (told?.length !== some.length) return undefined;
    addAll(found, told);
  }
  return found;
}

function linesOf(text: string | undefined): Makes[] | undefined {
  const lines = (text ?? "").split("\n").filter((line) => line !== "");
  const found = lines.flatMap((line): Makes[] => {
    const [, bit = "", mark = "", group = "", label = ""] = LINE.exec(line) ?? [];
    return group === "" ? [] : [{ isPlain: !/[sS]/.test(bit) && mark !== "+" && mark !== "@", group, label }];
  });
  return found.length === lines.length ? found : undefined;
}

/** Returns the output of a program; `undefined` if it failed. */
function run(program: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { env: { LC_ALL: "C" }, maxBuffer: MOST_BYTES };
    execFile(program, args, options, (error, stdout) => resolve(error === null ? stdout : undefined));
  });
}
