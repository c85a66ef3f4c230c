import type { WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { Listing, KnownRow, NotedPath } from "./stat-table.ts";
import {
  childOf,
  comparePaths,
  isRoot,
  isRootName,
  nameOf,
  nodeAbove,
  ROOT,
  splitRoot,
} from "../../core/values/path.ts";
import { NotedMap, type KnownGitFolders } from "../git/git-folders.ts";
import { knownRow, NO_ROW, StatTable, StatTableBuilder, columnsOver } from "./stat-table.ts";
import type { KnownGit } from "../git/root-git.ts";
import { isSameStat } from "../files/same-stat.ts";

/**
 * The maximum number of changes that the cache keeps beside the table. If half the number of the table's rows is more,
 * that is the maximum. If there are more changes, they are merged into the table.
 */
const MOST_CHANGES = 65_536;
/** The initial capacity, in rows, of a table that `putAll` fills. */
const FIRST_ROWS = 64;

/** An ignore file as it was last read. `racy`: `stat` may not reveal a later change of the file. */
export interface KnownRules {
  readonly stat: FileStat;
  readonly text: string;
  readonly racy: boolean;
}

/** A name that the rules exclude in a folder, and why. */
export interface ExcludedName {
  readonly name: string;
  readonly detail: string;
  readonly isFolder: boolean;
}

/**
 * A child of a folder: a path directly in the folder. The cache remembers an entry for the child, or for a path beneath
 * the child.
 */
export interface KnownChild {
  readonly name: string;
  readonly path: WorkspacePath;
  /** The child's row in the table, or `NO_ROW`. */
  readonly row: number;
  /**
   * The state of the child, if it was noted after the table was made; otherwise `undefined`. This state overrides the
   * row.
   */
  readonly over: KnownRow | undefined;
}

/**
 * The number of remembered paths of a root, and the total size of the files among them. `root` is null for the first
 * root.
 */
export interface RootTotal {
  readonly root: string | null;
  readonly entries: number;
  readonly bytes: number;
}

/** Changes since the cache was last saved to a file. */
export interface Unsaved {
  readonly paths: ReadonlySet<WorkspacePath>;
  readonly listings: ReadonlySet<WorkspacePath>;
  readonly excluded: ReadonlySet<WorkspacePath>;
  readonly rules: ReadonlySet<WorkspacePath>;
  readonly git: ReadonlySet<WorkspacePath>;
  readonly gitFolders: ReadonlySet<string>;
  /** True if `paths` is incomplete, because further paths have changed. */
  readonly everything: boolean;
}

/**
 * The last known state of the disk: the entry and stat of each path, the last listing of each folder, the ignore files
 * and the git repositories. Entries and stats are in a table with one array per column. Changes since the table was
 * made are kept beside it.
 *
 * A path is racily clean (`racy`) if it was changed at most two seconds before it was read. The times of such a path
 * may not reveal a change after the read. The stat is therefore not trusted until the path has been read again. A path
 * that was noted with `isCertain` is never racily clean.
 */
export class StatCache {
  #table: StatTable;
  /** Maps each path that was noted after the table was made to its state; `null` if the path was removed. */
  readonly #changes = new Map<WorkspacePath, KnownRow | null>();
  /**
   * Maps the path of each folder to the names of its changed children. A child is changed if `#changes` has the child,
   * or a path beneath the child.
   */
  readonly #changedIn = new Map<string, Set<string>>();
  /**
   * Maps a folder to its last listing. Has entries for the roots, and for the folders that were listed after the table
   * was made.
   */
  readonly #listings = new Map<WorkspacePath, Listing>();
  readonly #notedPaths = new Set<WorkspacePath>();
  readonly #notedListings = new Set<WorkspacePath>();
  /** Maps the path of each folder to the names in the folder that the rules exclude. */
  readonly excluded = new NotedMap<readonly ExcludedName[]>();
  /** Maps the path of each ignore file in the roots to the file as it was last read. */
  readonly rules = new NotedMap<KnownRules>();
  /**
   * Maps the topmost folder of each git repository to the repository. A repository whose topmost folder is above a root
   * is found under the path of the root.
   */
  readonly git = new NotedMap<KnownGit>();
  /** The folders in which git keeps its own state (such as `.git`), of present and earlier repositories. */
  readonly gitFolders: KnownGitFolders = new NotedMap();
  readonly #totals = new Map<string | undefined, { entries: number; bytes: number }>();
  /** The number of results of `pin` that are not disposed of yet. */
  #pins = 0;
  /** True if the table has unsaved rows whose paths are not in `#notedPaths`. */
  #isUnnoted = false;

  /** `totals`: the `allTotals` saved with this table. If absent, the totals are counted from the table. */
  constructor(table: StatTable = emptyTable(), totals?: Iterable<RootTotal>) {
    this.#table = table;
    if (totals === undefined) this.#countAll(table);
    for (const { root, entries, bytes } of totals ?? []) this.#totals.set(root ?? undefined, { entries, bytes });
  }

  #countAll(table: StatTable): void {
    for (let top = 0; top < table.rows; top = table.endOf(top)) {
      const total = this.#totalOf(table.nameOf(top));
      for (let row = top; row < table.endOf(top); row += 1) {
        const kind = table.kindOf(row);
        if (kind !== undefined) total.entries += 1;
        if (kind === "file") total.bytes += table.sizeOf(row);
      }
    }
  }

  totals(root: string | undefined): { readonly entries: number; readonly bytes: number } {
    return this.#totals.get(root) ?? { entries: 0, bytes: 0 };
  }

  get allTotals(): readonly RootTotal[] {
    return [...this.#totals].map(([root, { entries, bytes }]) => ({ root: root ?? null, entries, bytes }));
  }

  get unsaved(): Unsaved {
    return {
      paths: this.#notedPaths,
      listings: this.#notedListings,
      excluded: this.excluded.noted,
      rules: this.rules.noted,
      git: this.git.noted,
      gitFolders: this.gitFolders.noted,
      everything: this.#isUnnoted,
    };
  }

  markSaved(): void {
    this.#notedPaths.clear();
    this.#notedListings.clear();
    this.excluded.clearNotes();
    this.rules.clearNotes();
    this.git.clearNotes();
    this.gitFolders.clearNotes();
    this.#isUnnoted = false;
  }

  get(path: WorkspacePath): KnownRow | undefined {
    const changed = this.#changes.get(path);
    if (changed !== undefined) return changed ?? undefined;
    const row = this.#table.find(path);
    return row === NO_ROW ? undefined : this.#table.knownAt(row, path);
  }

  /** Remembers a path from a saved file, with its saved value of `racy`. */
  restore(known: KnownRow): void {
    this.#change(known.entry.path, known);
  }

  /** Remembers a path that was read at or after `readAtNs` (ns since the epoch). */
  put(known: NotedPath, readAtNs: bigint): void {
    this.#change(known.entry.path, knownRow(known, readAtNs));
    this.#mergeIfLarge();
  }

  /**
   * Like `put`, for many paths. If the cache is empty and not pinned, the paths that come in path order go directly
   * into the table. A path that is kept beside the table, as a change, takes ten times as much memory.
   */
  putAll(known: Iterable<NotedPath>, readAtNs: bigint): void {
    if (this.#table.rows > 0 || this.#changes.size > 0 || this.#pins > 0) {
      for (const one of known) this.put(one, readAtNs);
      return;
    }
    const late: NotedPath[] = [];
    this.#table = this.#fill(known, { readAtNs, late });
    this.#isUnnoted = true;
    for (const path of [...this.#listings.keys()])
      if (this.#table.kindOf(this.#table.find(path)) === "dir") this.#listings.delete(path);
    for (const one of late) this.put(one, readAtNs);
  }

  #fill(known: Iterable<NotedPath>, given: { readonly readAtNs: bigint; readonly late: NotedPath[] }): StatTable {
    const builder = new StatTableBuilder(FIRST_ROWS, FIRST_ROWS * 16);
    let last: string | undefined;
    for (const one of known) {
      const { entry } = one;
      if (last !== undefined && comparePaths(last, entry.path) >= 0) {
        given.late.push(one);
        continue;
      }
      last = entry.path;
      const row = knownRow(one, given.readAtNs);
      this.#count(row, 1);
      builder.add(entry.path, row, entry.kind === "dir" ? this.#listings.get(entry.path) : undefined);
    }
    return builder.finish();
  }

  /** Prevents merges into the table until the result is disposed of. Row numbers stay valid until then. */
  pin(): Disposable {
    this.#pins += 1;
    return {
      [Symbol.dispose]: () => {
        this.#pins -= 1;
        this.#mergeIfLarge();
      },
    };
  }

  #mergeIfLarge(): void {
    if (this.#pins === 0 && this.#changes.size > Math.max(MOST_CHANGES, this.#table.rows / 2)) this.merge();
  }

  remove(path: WorkspacePath): void {
    this.#change(path, undefined);
  }

  /** Returns what is known of a path; `undefined` if nothing is remembered at the path or beneath it. */
  child(path: WorkspacePath): KnownChild | undefined {
    const found: KnownChild[] = [];
    this.#pushChild(found, { name: nameOf(path), path, row: this.#table.find(path) }, true);
    const [child] = found;
    const holds = child !== undefined && (this.kindOf(child) !== undefined || this.#holdsSome(child));
    return holds ? child : undefined;
  }

  rowOf(path: WorkspacePath): number {
    return this.#table.find(path);
  }

  /**
   * Returns the known children of a folder. `row`: the folder's row in the table. The children are sorted only if there
   * are no changes in the folder. The result never has the folders of further roots.
   */
  children(folder: WorkspacePath, row: number): KnownChild[] {
    const found: KnownChild[] = [];
    const changed = this.#changedIn.get(folder);
    const seen = changed === undefined ? undefined : new Set<string>();
    if (row !== NO_ROW || folder === "") {
      const table = this.#table;
      for (let at = table.firstChild(row); at < table.endOf(row); at = table.endOf(at)) {
        const name = table.nameOf(at);
        if (folder === ROOT && isRootName(name)) continue;
        seen?.add(name);
        this.#pushChild(found, { name, path: childOf(folder, name), row: at }, changed?.has(name) === true);
      }
    }
    for (const name of changed ?? []) {
      if (seen?.has(name) !== true && !isRootName(name))
        this.#pushChild(found, { name, path: childOf(folder, name), row: NO_ROW }, true);
    }
    return found;
  }

  /** Yields the remembered paths beneath a folder, children before their folders. */
  *beneath(folder: WorkspacePath, row: number): Generator<WorkspacePath> {
    const stack = this.children(folder, row).map((child) => ({ child, open: false }));
    while (stack.length > 0) {
      const top = stack.at(-1);
      if (top === undefined) return;
      const inner = top.open ? [] : this.children(top.child.path, top.child.row);
      if (inner.length > 0) {
        top.open = true;
        for (const child of inner) stack.push({ child, open: false });
      } else {
        stack.pop();
        if (this.kindOf(top.child) !== undefined) yield top.child.path;
      }
    }
  }

  kindOf(child: KnownChild): KnownRow["entry"]["kind"] | undefined {
    if (child.over !== undefined) return child.over.entry.kind;
    return child.row === NO_ROW || this.#changes.get(child.path) === null ? undefined : this.#table.kindOf(child.row);
  }

  /** Returns the size in bytes; 0 for anything but a file. */
  bytesOf(child: KnownChild): number {
    if (this.kindOf(child) !== "file") return 0;
    return child.over?.entry.size ?? this.#table.sizeOf(child.row);
  }

  modeOf(child: KnownChild): number {
    return child.over?.entry.mode ?? this.#table.modeOf(child.row);
  }

  /** True if `stat`, which was just read, proves that a file or link is as remembered. */
  isUnchanged(child: KnownChild, stat: FileStat): boolean {
    if (child.over !== undefined) return !child.over.racy && isSameStat(child.over.stat, stat);
    return this.#table.hasStat(child.row, stat) && !this.#table.isRacy(child.row);
  }

  listing(folder: WorkspacePath, row: number): Listing | undefined {
    return this.#listings.get(folder) ?? (row === NO_ROW ? undefined : this.#table.listingOf(row));
  }

  putListing(folder: WorkspacePath, listing: Listing): void {
    if (isSameListing(this.listing(folder, this.#table.find(folder)), listing)) return;
    this.#listings.set(folder, listing);
    this.#notedListings.add(folder);
  }

  /** Merges every change into the table, and returns the new table. Must not be called while the rows are pinned. */
  merge(): StatTable {
    if (this.#changes.size === 0 && this.#listings.size === 0) return this.#table;
    const keys = [...this.#changes.keys()].sort(comparePaths);
    const bytes = keys.reduce((sum, path) => sum + path.length, 0);
    const builder = new StatTableBuilder(this.#table.rows + keys.length, this.#table.names.length + bytes);
    this.#pour(builder, keys);
    this.#table = builder.finish();
    this.#changes.clear();
    this.#changedIn.clear();
    for (const path of [...this.#listings.keys()])
      if (this.#table.kindOf(this.#table.find(path)) === "dir") this.#listings.delete(path);
    return this.#table;
  }

  /** The listings of the roots. A root has no entry, so no row of the table holds its listing. */
  get rootListings(): readonly (readonly [WorkspacePath, Listing])[] {
    return [...this.#listings].filter(([path]) => isRoot(path));
  }

  #pour(builder: StatTableBuilder, keys: readonly WorkspacePath[]): void {
    const table = this.#table;
    let next = 0;
    for (const [row, path] of pathsOf(table)) {
      let key = keys[next];
      for (; key !== undefined && comparePaths(key, path) < 0; key = keys[next]) {
        this.#pourChange(builder, key);
        next += 1;
      }
      if (key === path) {
        this.#pourChange(builder, key, row);
        next += 1;
      } else if (table.kindOf(row) !== undefined) builder.copy(path, table, row, this.#listings.get(path));
    }
    for (const key of keys.slice(next)) this.#pourChange(builder, key);
  }

  #pourChange(builder: StatTableBuilder, path: WorkspacePath, row = NO_ROW): void {
    const known = this.#changes.get(path);
    if (known === undefined || known === null) return;
    builder.add(path, known, known.entry.kind === "dir" ? this.listing(path, row) : undefined);
  }

  #pushChild(found: KnownChild[], child: Omit<KnownChild, "over">, changed: boolean): void {
    const over = changed ? this.#changes.get(child.path) : undefined;
    if (over === null && !this.#holdsSome(child)) return;
    found.push({ ...child, over: over ?? undefined });
  }

  /** True if there may be remembered paths beneath a path, even if the path itself was removed. */
  #holdsSome(child: Omit<KnownChild, "over">): boolean {
    const { row, path } = child;
    return this.#changedIn.has(path) || (row !== NO_ROW && this.#table.endOf(row) > row + 1);
  }

  #change(path: WorkspacePath, known: KnownRow | undefined): void {
    const before = this.get(path);
    this.#count(before, -1);
    this.#count(known, 1);
    if (before === undefined && known === undefined) return;
    this.#notedPaths.add(path);
    this.#changes.set(path, known ?? null);
    this.#mark(path);
    if (known === undefined) {
      this.#listings.delete(path);
      this.excluded.delete(path);
    }
  }

  #count(known: KnownRow | undefined, sign: 1 | -1): void {
    if (known === undefined) return;
    const total = this.#totalOf(known.entry.path);
    total.entries += sign;
    if (known.entry.kind === "file") total.bytes += sign * known.entry.size;
  }

  #totalOf(path: string): { entries: number; bytes: number } {
    const { root } = splitRoot(path as WorkspacePath);
    let total = this.#totals.get(root);
    if (total === undefined) this.#totals.set(root, (total = { entries: 0, bytes: 0 }));
    return total;
  }

  #mark(path: WorkspacePath): void {
    let at = path;
    for (let folder = nodeAbove(at); folder !== undefined; folder = nodeAbove(at)) {
      const names = this.#changedIn.get(folder);
      if (names !== undefined) {
        names.add(nameOf(at));
        return;
      }
      this.#changedIn.set(folder, new Set([nameOf(at)]));
      at = folder;
    }
  }
}

function isSameListing(a: Listing | undefined, b: Listing): boolean {
  if (a === undefined || a.mtimeNs !== b.mtimeNs || a.ctimeNs !== b.ctimeNs || a.ino !== b.ino) return false;
  return a.dev === b.dev && a.racy === b.racy && a.marks.every((word, i) => word === b.marks[i]);
}

function* pathsOf(table: StatTable): Generator<[number, WorkspacePath]> {
  const folders: { readonly path: WorkspacePath; readonly end: number }[] = [];
  for (let row = 0; row < table.rows; row += 1) {
    while (folders.length > 0 && (folders.at(-1)?.end ?? 0) <= row) folders.pop();
    const path = childOf(folders.at(-1)?.path ?? ROOT, table.nameOf(row));
    if (table.endOf(row) > row + 1) folders.push({ path, end: table.endOf(row) });
    yield [row, path];
  }
}

function emptyTable(): StatTable {
  return new StatTable(columnsOver(new ArrayBuffer(0), 0, 0), Buffer.alloc(0), 0);
}
