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

/** A folder of the walk: what is left of its entries and of its folders. */
interface Frame {
  readonly path: WorkspacePath;
  /** Its number. */
  readonly id: number;
  readonly entries: Cursor;
  readonly folders: Cursor;
}

/** Looks one row ahead. */
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

/** Which of the two names comes first; 0 when they are the same. */
function order(a: NamedRow | undefined, b: NamedRow | undefined): number {
  if (a === undefined) return b === undefined ? 0 : 1;
  return b === undefined ? -1 : compareNames(a.name, b.name);
}

/** What to walk. */
export interface EntryWalk extends EntryPage {
  readonly seq: number;
  /** Its number. */
  readonly id: number;
  readonly path: WorkspacePath;
  /** The path is the top of all roots, not the first root's folder. */
  readonly everyRoot: boolean;
}

/**
 * Everything in a folder at a seq, with what is beneath, in path order. Without recursion, and with a page of rows for
 * each folder on the way down, and one of what comes next: neither depth nor width of the tree is held in memory. Behind a path it begins there.
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

/** The folders that lie open where the walk stands right behind `after`: from the top down to that path itself. */
function framesBehind(
  folders: FolderTable,
  { path, id, after, everyRoot }: Omit<EntryWalk, "seq">,
  frame: (path: WorkspacePath, id: number, behind?: Buffer) => Frame,
): Frame[] {
  if (after === undefined || after === path || !(everyRoot || isWithin(after, path))) {
    // Further roots come before all that the first one holds.
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
