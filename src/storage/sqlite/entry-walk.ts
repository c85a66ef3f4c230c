import { childOf, decodeName, type WorkspacePath } from "../../core/path.ts";
import type { IterationRow } from "../index-store.ts";
import { type IterationTable, iterationRow, type NamedRow } from "./iteration-table.ts";
import { numberAt } from "./statements.ts";

/** A folder of the walk: what is left of its entries and of its folders. */
interface Frame {
  readonly path: WorkspacePath;
  readonly entries: Cursor;
  readonly folders: Cursor;
}

/** Looks one row ahead. */
class Cursor {
  readonly #rows: Iterator<NamedRow>;
  next: NamedRow | undefined;

  constructor(rows: Iterator<NamedRow>) {
    this.#rows = rows;
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
  return b === undefined ? -1 : Buffer.compare(a.name, b.name);
}

/**
 * Everything in a folder (given by path and number) at a seq, with what is beneath, in path order. Without recursion, and
 * with a page of rows for each folder on the way down: neither depth nor width of the tree is held in memory.
 */
export function* walkEntries(
  table: IterationTable,
  top: { readonly path: WorkspacePath; readonly id: number },
  seq: number,
): Generator<IterationRow> {
  const frame = (path: WorkspacePath, id: number): Frame => {
    return { path, entries: new Cursor(table.entriesIn(id, seq)), folders: new Cursor(table.foldersIn(id)) };
  };
  const stack = [frame(top.path, top.id)];
  for (let here = stack.at(-1); here !== undefined; here = stack.at(-1)) {
    const entry = here.entries.next;
    const folder = here.folders.next;
    const first = order(entry, folder);
    if (entry !== undefined && first <= 0) {
      yield iterationRow(childOf(here.path, decodeName(entry.name)), entry.row);
      here.entries.advance();
    }
    if (folder !== undefined && first >= 0) {
      here.folders.advance();
      stack.push(frame(childOf(here.path, decodeName(folder.name)), numberAt(folder.row, 0)));
    }
    if (entry === undefined && folder === undefined) stack.pop();
  }
}
