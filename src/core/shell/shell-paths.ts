import { posix } from "node:path";
import type { NameSweep } from "../filter/name-sweep.ts";
import { argumentsOf, type Arguments } from "./shell-arguments.ts";
import { foldersOfPrefixes, isScriptFlag, SHELLS, withoutPrefixes } from "./shell-options.ts";
import { parseShell, type ShellCommand, type ShellWord } from "./shell-words.ts";
import { optional } from "../../util/optional.ts";

/** The place in which a shell line runs. */
export interface ShellPlace {
  /** The working folder, as an absolute path. */
  readonly cwd: string;
  /** The value of `~` and `$HOME`; `undefined` if the home folder is unknown. */
  readonly home?: string | undefined;
}

/** A path that a command will probably create, overwrite, move or delete. */
export interface ShellTarget {
  /** The path, absolute and normalised. */
  readonly path: string;
  /** True if the command may also touch everything beneath the path. */
  readonly deep: boolean;
  /**
   * The names beneath the path that the command may touch even if these paths are not recorded. Set only for a deep
   * target. Default: none.
   */
  readonly sweeps?: readonly NameSweep[];
}

/** The maximum number of targets of one line. Further targets are left out. */
const MAX_TARGETS = 1_000;

/** The maximum length of a working folder's path, in characters. A folder with a longer path counts as unknown. */
export const MAX_FOLDER = 4_096;

/**
 * Returns the paths that a shell line will probably create, overwrite, move or delete. The result is only a forecast,
 * with at most `MAX_TARGETS` paths. Words whose value only the shell knows are left out: words with `$(…)`, or with
 * variables other than `$HOME` and `$PWD`. A path with a wildcard is replaced by the folder before the wildcard. Never
 * throws. Takes time linear in the length of the line.
 */
export function shellPaths(line: string, place: ShellPlace): ShellTarget[] {
  const forecast = new Forecast(place.home);
  forecast.read(line, place.cwd, 0);
  return forecast.targets;
}

class Forecast {
  readonly #found = new Map<string, boolean>();
  readonly #sweeps = new Map<string, Map<string, NameSweep>>();
  readonly #home: string | undefined;

  constructor(home: string | undefined) {
    this.#home = home;
  }

  get targets(): ShellTarget[] {
    return [...this.#found].map(([path, deep]) => {
      const sweeps = this.#sweeps.get(path);
      return { path, deep, ...(sweeps === undefined ? {} : { sweeps: [...sweeps.values()] }) };
    });
  }

  read(line: string, from: string, depth: number): void {
    const outer: (string | undefined)[] = [];
    let cwd: string | undefined = from;
    for (const step of parseShell(line, this.#variables(line, from))) {
      if (step === "(") outer.push(cwd);
      else if (step === ")") cwd = outer.length > 0 ? outer.pop() : cwd;
      else cwd = this.#command(step, cwd, depth);
    }
  }

  /** Returns the variables with known values, including `$PWD` if the line does not change the current folder. */
  #variables(line: string, cwd: string): Readonly<Record<string, string>> {
    const stays = !/\b(?:cd|pushd|popd)\b/.test(line);
    return { ...optional({ HOME: this.#home }), ...(stays ? { PWD: cwd } : {}) };
  }

  /**
   * Notes the paths that a command touches. Returns the working folder of the next command; `undefined` if this folder
   * is unknown.
   */
  #command(command: ShellCommand, cwd: string | undefined, depth: number): string | undefined {
    for (const output of command.outputs) this.#add(output, cwd, { deep: false });
    const words = withoutPrefixes(command.words);
    const name = words[0];
    if (name === undefined || !name.known) return cwd;
    const tool = posix.basename(name.text);
    const rest = words.slice(1);
    if (tool === "cd" || tool === "pushd") return folderAfter(rest, cwd, this.#home);
    if (tool === "popd") return undefined;
    let at = cwd;
    for (const folder of foldersOfPrefixes(command.words)) at = folderAfter([folder], at, this.#home);
    if (SHELLS.has(tool) || tool === "eval") {
      this.#inner(tool, rest, { cwd: at, depth });
      return cwd;
    }
    const touched = argumentsOf(tool, rest);
    if (touched !== undefined) this.#touch(touched, at);
    return cwd;
  }

  /** Reads the inner line of `sh -c '…'` or `eval …`. Ignores an inner line within another inner line. */
  #inner(
    tool: string,
    rest: readonly ShellWord[],
    at: { readonly cwd: string | undefined; readonly depth: number },
  ): void {
    if (at.depth > 0 || at.cwd === undefined) return;
    if (tool === "eval") {
      if (rest.every((word) => word.known)) this.read(rest.map((word) => word.text).join(" "), at.cwd, 1);
      return;
    }
    const flag = rest.findIndex((word) => isScriptFlag(word.text));
    const script = flag < 0 ? undefined : rest[flag + 1];
    if (script?.known === true) this.read(script.text, at.cwd, 1);
  }

  #touch(touched: Arguments, cwd: string | undefined): void {
    const { paths, into, from } = touched;
    const at = from === undefined ? cwd : folderAfter([from], cwd, this.#home);
    for (const word of paths) this.#add(word, at, touched);
    if (into === undefined) return;
    const { target, sources } = into;
    this.#add(target, cwd, { deep: false });
    // If the target is a folder, the overwritten path is in this folder.
    if (!target.known || target.glob >= 0 || target.text === "") return;
    for (const source of sources) {
      if (!source.known || source.glob >= 0 || source.text === "") continue;
      const name = posix.basename(source.text);
      if (name === "." || name === ".." || name === "") continue;
      this.#add({ ...target, text: `${target.text}/${name}` }, cwd, into);
    }
  }

  #add(word: ShellWord, cwd: string | undefined, how: Pick<Arguments, "deep" | "spares" | "chooses">): void {
    const { deep } = how;
    if (this.#found.size >= MAX_TARGETS || !word.known || word.text === "" || word.text.includes("\0")) return;
    const whole = word.glob < 0 ? word.text : folderBefore(word.text, word.glob);
    if (cwd === undefined && !whole.startsWith("/")) return;
    const path = normalised(cwd ?? "/", whole);
    if (path === "/" || /^\/(?:dev|proc|sys)(?:\/|$)/.test(path)) return;
    this.#found.set(path, deep || word.glob >= 0 || this.#found.get(path) === true);
    if ((deep || word.glob >= 0) && how.chooses !== true) this.#sweep(path, word, how);
  }

  #sweep(path: string, word: ShellWord, { deep, spares }: Pick<Arguments, "deep" | "spares">): void {
    const sweeps = this.#sweeps.get(path) ?? new Map<string, NameSweep>();
    this.#sweeps.set(path, sweeps);
    const names = word.glob < 0 ? undefined : patternIn(word.text, word.glob);
    const isDeep = deep || word.text.includes("/", word.glob);
    sweeps.set(`${isDeep} ${spares ?? ""}/${names ?? ""}`, {
      ...optional({ names }),
      deep: isDeep,
      ...optional({ spares }),
    });
  }
}

function patternIn(text: string, glob: number): string {
  const slash = text.indexOf("/", glob);
  return text.slice(text.lastIndexOf("/", glob) + 1, slash < 0 ? undefined : slash);
}

function folderBefore(text: string, glob: number): string {
  const slash = text.lastIndexOf("/", glob);
  if (slash < 0) return ".";
  return slash === 0 ? "/" : text.slice(0, slash);
}

function normalised(cwd: string, path: string): string {
  return posix.resolve("/", cwd, path);
}

function folderAfter(
  words: readonly ShellWord[],
  cwd: string | undefined,
  home: string | undefined,
): string | undefined {
  const folder = words.find((word) => !/^-[a-zA-Z@]/.test(word.text) && word.text !== "--");
  if (folder === undefined) return home;
  if (!folder.known || folder.glob >= 0 || folder.text === "-" || folder.text.includes("\0")) return undefined;
  if (cwd === undefined && !folder.text.startsWith("/")) return undefined;
  const path = normalised(cwd ?? "/", folder.text);
  return path.length > MAX_FOLDER ? undefined : path;
}
