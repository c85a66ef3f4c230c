import {
  childOf,
  compareNames,
  comparePaths,
  isRootName,
  isWithin,
  nameOf,
  nodeAbove,
  pathToBytes,
  ROOT,
  rootFolderOf,
  type WorkspacePath,
} from "../../core/values/path.ts";
import type { EntryPage, IterationRow } from "../index-store.ts";
import type { FolderTable } from "./folder-table.ts";
import { type IterationTable, iterationRow, type NamedRow } from "./iteration-table.ts";
import { DamagedCell, numberAt } from "./statements.ts";

interface Frame {
  readonly path: WorkspacePath;
  readonly id: number;
  readonly entries: Cursor;
  readonly folders: Cursor;
}

/** An iterator of rows. `next` is the row that comes next. */
class Cursor {
  readonly #rows: Iterator<NamedRow>;
  next: NamedRow | undefined;

  constructor(rows: Iterable<NamedRow>) {
    this.#rows = rows[Symbol.iterator]();
    this.advance();
  }

  advance(): void {
    const step = this.#rows.next();
    this.next = step.done === true ? undefined : step.value;
  }
}

/** Compares two rows by name. `undefined` comes after every row. */
function order(a: NamedRow | undefined, b: NamedRow | undefined): number {
  if (a === undefined) return b === undefined ? 0 : 1;
  return b === undefined ? -1 : compareNames(a.name, b.name);
}

/**
 * The request for the entries beneath the folder `path` as of the event `seq`. `id`: the folder's number
 * (`FolderTable`).
 */
export interface EntryWalk extends EntryPage {
  readonly seq: number;
  readonly id: number;
  readonly path: WorkspacePath;
  /** True if the path `""` means the top of all roots, not the first root's folder. */
  readonly everyRoot: boolean;
}

/**
 * Yields the entries beneath a folder at a seq, in path order, down to `depth`. With `after`, the walk begins after
 * that path. Memory holds some rows of each folder from the top to the current one, never all rows of a wide folder.
 * The walk does not recurse, so a deep tree cannot overflow the call stack.
 */
export function* walkEntries(
  table: IterationTable,
  folders: FolderTable,
  { seq, depth = Number.POSITIVE_INFINITY, ...top }: EntryWalk,
): Generator<IterationRow> {
  const [entriesIn, foldersIn] = [table.entriesAhead(seq), table.foldersAhead()];
  const frame = (path: WorkspacePath, id: number, behind?: Buffer): Frame => {
    return {
      path,
      id,
      entries: new Cursor(behind === undefined ? entriesIn(id) : table.entriesIn(id, seq, behind)),
      folders: new Cursor(behind === undefined ? foldersIn(id) : table.foldersIn(id, behind)),
    };
  };
  const isOther = (folder: NamedRow): boolean => !top.everyRoot && isRootName(folder.name);
  const stack = depth < 1 ? [] : framesBehind(folders, top, frame).slice(0, depth);
  const open = new Set(stack.map(({ id }) => id));
  for (let here = stack.at(-1); here !== undefined; here = stack.at(-1)) {
    const entry = here.entries.next;
    const folder = here.folders.next;
    const first = order(entry, folder);
    if (entry !== undefined && first <= 0) {
      yield iterationRow(childOf(here.path, entry.name), entry.row);
      here.entries.advance();
    }
    if (folder !== undefined && first >= 0) {
      here.folders.advance();
      if (stack.length < depth && !isOther(folder)) {
        const id = numberAt(folder.row, 0);
        if (open.has(id)) throw new DamagedCell(`folder ${id} is within itself`);
        open.add(id);
        stack.push(frame(childOf(here.path, folder.name), id));
      }
    }
    if (entry === undefined && folder === undefined) {
      stack.pop();
      open.delete(here.id);
    }
  }
}

/**
 * Returns the folders that a walk has open right after it has yielded `after`: from the top folder down to `after`
 * itself.
 */
function framesBehind(
  folders: FolderTable,
  { path, id, after, everyRoot }: Omit<EntryWalk, "seq">,
  frame: (path: WorkspacePath, id: number, behind?: Buffer) => Frame,
): Frame[] {
  if (after === undefined || after === path || !(everyRoot || isWithin(after, path))) {
    // In path order, the paths of the other roots come after the path `""` of the first root, but before all other
    // paths of the first root.
    const isBefore =
      after === undefined || comparePaths(after, path) <= 0 || (path === ROOT && rootFolderOf(after) !== ROOT);
    return isBefore ? [frame(path, id)] : [];
  }
  const frames: Frame[] = [];
  let child = after;
  for (let folder = nodeAbove(child); folder !== undefined && child !== path; folder = nodeAbove(child)) {
    const known = folder === path ? id : folders.find(folder);
    if (known !== undefined) frames.push(frame(folder, known, pathToBytes(nameOf(child))));
    child = folder;
  }
  const own = folders.find(after);
  return own === undefined ? frames.reverse() : [...frames.reverse(), frame(after, own)];
}
