import { isGitName, isRefValue, REF } from "../../core/records/git-record.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import { isSameStat } from "../files/same-stat.ts";
import { folderOfRef, type GitFolderPair, gitPath, linkOnTheWay, readBytes, UnreadableGit } from "./git-folder-pair.ts";
import { ReadBudget, Reftable, UnusableTable } from "./reftable.ts";

/** The folder in which git keeps the tables (reftables). */
export const TABLES = "reftable";
/** The file that lists the tables, the oldest first. Each table has only the changes since the tables before it. */
export const TABLES_LIST = "reftable/tables.list";

const MOST_LIST_BYTES = 1024 ** 2;
const MOST_TABLE_BYTES = 64 * 1024 ** 2;
/**
 * The maximum number of tables. Git keeps few tables: it joins them until each is at most half as large as the previous
 * one.
 */
const MOST_TABLES = 1_000;
const MOST_STACK_BYTES = 2 * MOST_TABLE_BYTES;
const IS_TABLE = /^[\w-]+\.(?:ref|log)$/;
/**
 * The maximum number of times that the tables are read. They are read again if git has joined some of them meanwhile.
 */
const MOST_TRIES = 5;

/**
 * Matches the names of the refs outside of `refs/`, except HEAD. MERGE_HEAD and FETCH_HEAD look like refs, but are
 * files.
 */
const ROOT_REF = /^(?!FETCH_HEAD$|MERGE_HEAD$)(?:[A-Z][A-Z_-]*_HEAD|AUTO_MERGE|BISECT_EXPECTED_REV|MERGE_AUTOSTASH)$/;

/**
 * True for the name of a ref outside of `refs/`. The ref is a file or is in a table, like the other refs of its
 * repository.
 */
export function isRootRef(name: string): boolean {
  return ROOT_REF.test(name);
}

const NO_MOVE = /^0+ 0+ /;

interface Table {
  readonly name: string;
  readonly stat: FileStat;
  readonly table: Reftable;
  readonly refs: ReadonlyMap<string, string | undefined>;
  /** The part of a `ReadBudget` that reading the refs took. */
  readonly spent: number;
}

/** The refs of a stack of tables. */
export interface StackedRefs {
  readonly all: ReadonlyMap<string, string>;
  /**
   * The refs of the largest table and of the tables before it, without the refs that later tables delete. These refs
   * change seldom. The key differs after each change.
   */
  readonly settled: { readonly key: string; readonly refs: ReadonlyMap<string, string> };
}

/** The tables of one git folder. Remembers the tables that it has read, because git never changes a table. */
class TableStack {
  readonly #fs: ConfinedFs;
  readonly #hashBytes: 20 | 32;
  /** The path of the folder of the tables. */
  readonly #folder: string;
  #list: { readonly stat: FileStat; readonly names: readonly string[] } | undefined;
  #tables: readonly Table[] = [];
  #stacked: { readonly of: readonly Table[]; readonly refs: StackedRefs } | undefined;

  constructor(fs: ConfinedFs, hashBytes: 20 | 32, folder = TABLES) {
    this.#fs = fs;
    this.#hashBytes = hashBytes;
    this.#folder = folder;
  }

  refs(): StackedRefs {
    const tables = this.#now();
    if (this.#stacked?.of === tables) return this.#stacked.refs;
    const refs = stacked(tables);
    this.#stacked = { of: tables, refs };
    return refs;
  }

  /** Returns the lines of a reflog, the oldest first. */
  log(name: string): string[] {
    const lines = new Map<bigint, string | undefined>();
    const budget = new ReadBudget();
    for (const { table } of this.#now()) {
      for (const { index, line } of usable(() => table.log(name, budget))) lines.set(index, line);
    }
    const inOrder = [...lines].sort(([a], [b]) => (a < b ? -1 : 1));
    // A line from zeros to zeros says only that there is a reflog.
    return inOrder.flatMap(([, line]) => (line === undefined || NO_MOVE.test(line) ? [] : line));
  }

  #now(): readonly Table[] {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const found = this.#read(this.#names());
      if (found === undefined) this.#list = undefined;
      else if (found.length === this.#tables.length && found.every((one, i) => one === this.#tables[i])) {
        return this.#tables;
      } else return (this.#tables = found);
    }
    throw new UnreadableGit("a table of its refs is missing");
  }

  #names(): readonly string[] {
    const path = `${this.#folder}/tables.list`;
    const stat = this.#fs.peek(gitPath(path));
    if (stat !== undefined && this.#list !== undefined && isSameStat(this.#list.stat, stat)) return this.#list.names;
    const link = linkOnTheWay(this.#fs, path);
    if (link !== undefined) throw new UnreadableGit(`${link} is a link`);
    const read = readBytes(this.#fs, path, MOST_LIST_BYTES);
    if (read === undefined) throw new UnreadableGit("it says that its refs are in a reftable, and has none");
    const names = read.bytes
      .toString("latin1")
      .split("\n")
      .filter((name) => name !== "");
    const isSound = names.length <= MOST_TABLES && new Set(names).size === names.length;
    if (!isSound || !names.every((name) => IS_TABLE.test(name))) throw new UnreadableGit(`${path} is damaged`);
    // Git replaces the list by a new file, so the stat shows every change.
    this.#list = { stat: read.stat, names };
    return names;
  }

  /** Returns the tables; `undefined` if one of them no longer exists. */
  #read(names: readonly string[]): readonly Table[] | undefined {
    const found: Table[] = [];
    const budget = new ReadBudget();
    let bytes = 0;
    for (const name of names) {
      const path = `${this.#folder}/${name}`;
      const stat = this.#fs.peek(gitPath(path));
      const known = this.#tables.find((one) => one.name === name);
      const isSame = known !== undefined && stat !== undefined && isSameStat(known.stat, stat);
      const table = isSame ? known : this.#readTable(name, path, budget);
      if (table === undefined) return undefined;
      if (table === known) usable(() => budget.spend(known.spent), path);
      if ((bytes += table.stat.size) > MOST_STACK_BYTES)
        throw new UnreadableGit(`the tables in ${this.#folder} are too large`);
      found.push(table);
    }
    return found;
  }

  #readTable(name: string, path: string, budget: ReadBudget): Table | undefined {
    if (linkOnTheWay(this.#fs, path) !== undefined) throw new UnreadableGit(`${path} is a link`);
    const read = readBytes(this.#fs, path, MOST_TABLE_BYTES);
    if (read === undefined) return undefined;
    return usable(() => {
      const table = new Reftable(read.bytes, this.#hashBytes);
      const { left } = budget;
      const refs = table.refs(budget);
      return { name, stat: read.stat, table, refs, spent: left - budget.left };
    }, path);
  }
}

function stacked(tables: readonly Table[]): StackedRefs {
  const most = tables.reduce((size, { refs }) => Math.max(size, refs.size), 0);
  const largest = tables.findLastIndex(({ refs }) => refs.size === most);
  const settled = merged(new Map(), tables.slice(0, largest + 1));
  const later = tables.slice(largest + 1);
  const all = later.length === 0 ? settled : merged(new Map(settled), later);
  const key = tables.slice(0, largest + 1).map(({ name }) => name);
  for (const { refs } of later) {
    for (const [name, value] of refs) if (value === undefined && settled.delete(name)) key.push(`-${name}`);
  }
  return { all, settled: { key: key.join("\n"), refs: settled } };
}

/** Applies the refs of the tables to `into`, in the order of the tables, and returns `into`. */
function merged(into: Map<string, string>, tables: readonly Table[]): Map<string, string> {
  for (const { refs } of tables) {
    for (const [name, value] of refs) {
      if (value === undefined) into.delete(name);
      else if (isGitName(name) && (!value.startsWith(REF) || isRefValue(value))) into.set(name, value);
    }
  }
  return into;
}

/** Returns the result of `work`. If a table is unusable, throws `UnreadableGit` with the path of the table. */
function usable<T>(work: () => T, path = "a reftable"): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof UnusableTable) throw new UnreadableGit(`${path} cannot be read: ${error.message}`);
    if (error instanceof RangeError) throw new UnreadableGit(`${path} cannot be read: it is damaged`);
    throw error;
  }
}

/** The refs of a repository that keeps them in tables. Each working tree has tables of its own for its own refs. */
export class TableRefs {
  readonly #folders: GitFolderPair;
  readonly #own: TableStack;
  readonly #common: TableStack;

  constructor(folders: GitFolderPair) {
    this.#folders = folders;
    this.#own = new TableStack(folders.own, folders.hashBytes);
    this.#common = folders.own === folders.common ? this.#own : new TableStack(folders.common, folders.hashBytes);
  }

  /** Returns the value of HEAD, a root ref or a ref; `undefined` if there is none. */
  ref(name: string): string | undefined {
    const isCommon = name.startsWith("refs/") && folderOfRef(this.#folders, name) === this.#folders.common;
    return (isCommon ? this.#common : this.#own).refs().all.get(name);
  }

  /** Returns the refs that all working trees share. */
  shared(): StackedRefs {
    return this.#common.refs();
  }

  /** Yields the names and values of the refs of this working tree alone, without HEAD and root refs. */
  *ownRefs(): Iterable<readonly [string, string]> {
    if (this.#own === this.#common) return;
    for (const [name, value] of this.#own.refs().all) {
      if (name.startsWith("refs/") && folderOfRef(this.#folders, name) === this.#folders.own) yield [name, value];
    }
  }

  /**
   * Returns the content that a root ref, or the list of stashes, would have as a file. `undefined` if there is no such
   * ref or list, or if the name belongs to a file.
   */
  file(name: string): Buffer | undefined {
    if (name === STASH_LOG) {
      const lines = this.ref("refs/stash") === undefined ? [] : this.#common.log("refs/stash");
      return lines.length === 0 ? undefined : Buffer.from(`${lines.join("\n")}\n`);
    }
    const value = isRootRef(name) ? this.ref(name) : undefined;
    return value === undefined ? undefined : Buffer.from(`${value}\n`);
  }

  /** Returns the last lines of HEAD's reflog, the oldest first. */
  headLog(): string {
    return this.#own.log("HEAD").join("\n");
  }
}

/** The list of stashes is the reflog of this ref. */
export const STASH_LOG = "logs/refs/stash";

/** Returns the value of HEAD in the tables of a folder; `undefined` if there is none. */
export function headInTables(fs: ConfinedFs, hashBytes: 20 | 32, folder: string): string | undefined {
  return new TableStack(fs, hashBytes, folder).refs().all.get("HEAD");
}
