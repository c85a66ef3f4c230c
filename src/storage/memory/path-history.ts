import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import {
  childOf,
  compareNames,
  comparePaths,
  isRootName,
  nameOf,
  nodeAbove,
  ROOT,
  type WorkspacePath,
} from "../../core/values/path.ts";
import { upperBound } from "../../util/upper-bound.ts";
import type { EntryPage, IterationRow } from "../index-store.ts";

/** The names that a folder ever contained; sorted on demand. */
interface Names {
  readonly all: Set<string>;
  sorted: readonly string[] | undefined;
}

const seqOf = (row: IterationRow): number => row.seq;

/** Every iteration of every path, in plain maps and sorted arrays. */
export class PathHistory {
  readonly #paths = new Map<WorkspacePath, IterationRow[]>();
  readonly #folders = new Map<WorkspacePath, Names>();
  #bySeq: IterationRow[] = [];

  /** Adds all rows, or none: throws `INTEGRITY_VIOLATION` if a path would have two iterations at one seq. */
  add(rows: readonly IterationRow[]): void {
    this.#refuseDuplicates(rows);
    for (const row of rows) {
      const known = this.#paths.get(row.path) ?? this.#begin(row.path);
      known.splice(upperBound(known, seqOf, row.seq), 0, row);
    }
    const last = this.#bySeq.at(-1)?.seq ?? 0;
    const ascending = rows.every((row, at) => row.seq >= (rows[at - 1]?.seq ?? last));
    for (const row of rows) this.#bySeq.push(row);
    if (!ascending) this.#bySeq.sort((a, b) => a.seq - b.seq);
  }

  iterations(path: WorkspacePath): readonly IterationRow[] {
    return this.#paths.get(path)?.slice() ?? [];
  }

  at(path: WorkspacePath, seq: number): IterationRow | undefined {
    const rows = this.#paths.get(path);
    return rows?.[upperBound(rows, seqOf, seq) - 1];
  }

  /** The children of a folder that exist at a seq, by name. */
  children(folder: WorkspacePath, seq: number): IterationRow[] {
    const rows: IterationRow[] = [];
    for (const name of this.#namesIn(folder)) {
      const row = this.at(childOf(folder, name), seq);
      if (row?.entry !== undefined) rows.push(row);
    }
    return rows;
  }

  /**
   * Yields everything that exists at a seq at or beneath a path (`undefined`: in every root), in path order, or a page
   * of it. Without recursion, because trees may be very deep.
   */
  *beneath(folder: WorkspacePath | undefined, seq: number, { depth, after }: EntryPage = {}): Generator<IterationRow> {
    const path = folder ?? ROOT;
    const isWanted = (row: IterationRow | undefined): row is IterationRow =>
      row?.entry !== undefined && (after === undefined || comparePaths(row.path, after) > 0);
    const own = this.at(path, seq);
    if (isWanted(own)) yield own;
    const stack = depth === 0 ? [] : [{ path, names: this.#namesIn(path)[Symbol.iterator]() }];
    for (let here = stack.at(-1); here !== undefined; here = stack.at(-1)) {
      const name = here.names.next().value;
      if (name === undefined) {
        stack.pop();
        continue;
      }
      if (folder === ROOT && isRootName(name)) continue;
      const child = childOf(here.path, name);
      const row = this.at(child, seq);
      if (isWanted(row)) yield row;
      if (stack.length < (depth ?? Number.POSITIVE_INFINITY))
        stack.push({ path: child, names: this.#namesIn(child)[Symbol.iterator]() });
    }
  }

  /** Returns the last iteration with this content. */
  withContent(hash: Hash, ordinary: boolean): IterationRow | undefined {
    return this.#bySeq.findLast(({ entry }) => entry?.hash === hash && !(ordinary && entry.class === "protected"));
  }

  /** Returns those of the contents that some iteration has. */
  withContents(hashes: readonly Hash[]): ReadonlySet<Hash> {
    const all = new Set(this.#bySeq.map((row) => row.entry?.hash));
    return new Set(hashes.filter((hash) => all.has(hash)));
  }

  between(after: number, upTo: number): readonly IterationRow[] {
    return this.#bySeq.slice(upperBound(this.#bySeq, seqOf, after), upperBound(this.#bySeq, seqOf, upTo));
  }

  touched(after: number, upTo: number): WorkspacePath[] {
    const rows = this.between(after, upTo);
    return [...new Set(rows.map((row) => row.path))].sort(comparePaths);
  }

  named(name: string): WorkspacePath[] {
    return [...this.#paths.keys()].filter((path) => path !== "" && nameOf(path) === name).sort(comparePaths);
  }

  protected(): WorkspacePath[] {
    const rows = this.#bySeq.filter(({ entry }) => entry?.class === "protected");
    return [...new Set(rows.map(({ path }) => path))].sort(comparePaths);
  }

  #refuseDuplicates(rows: readonly IterationRow[]): void {
    const seen = new Set<string>();
    for (const row of rows) {
      const key = `${row.seq}/${row.path}`;
      if (seen.has(key) || this.at(row.path, row.seq)?.seq === row.seq) {
        throw new ChronicleError("INTEGRITY_VIOLATION", `index: two iterations of one path at seq ${row.seq}`, {
          data: { path: row.path, seq: row.seq },
        });
      }
      seen.add(key);
    }
  }

  #begin(path: WorkspacePath): IterationRow[] {
    const rows: IterationRow[] = [];
    this.#paths.set(path, rows);
    let child = path;
    for (let parent = nodeAbove(child); parent !== undefined; parent = nodeAbove(child)) {
      const names = this.#folders.get(parent) ?? { all: new Set<string>(), sorted: undefined };
      if (names.all.has(nameOf(child))) break;
      names.all.add(nameOf(child));
      names.sorted = undefined;
      this.#folders.set(parent, names);
      child = parent;
    }
    return rows;
  }

  #namesIn(folder: WorkspacePath): readonly string[] {
    const names = this.#folders.get(folder);
    if (names === undefined) return [];
    names.sorted ??= [...names.all].sort(compareNames);
    return names.sorted;
  }
}
