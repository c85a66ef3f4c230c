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
import {
  type EntryPage,
  type IterationRow,
  type PrivateBound,
  checkIndexBatch,
  ENTRY_BATCH,
  type CommitRow,
  type EventRow,
  type StoredTree,
  type IndexBatch,
  type IndexHead,
  type IndexStore,
  type IterationPage,
  type NameMatch,
  type SeqRange,
  type TickRange,
  type TickRow,
  type TurnName,
  type TreeRow,
} from "../index-store.ts";
import { type ClockJump, clockJumpsIn } from "../../core/values/clock-jumps.ts";
import { EMPTY_HEAD } from "../../core/values/event.ts";
import { noteRemoteWork, type RemoteWorkRow } from "../../core/records/remote-work.ts";
import { addAll } from "../../util/long-lists.ts";

const EMPTY_INDEX_HEAD: IndexHead = { ...EMPTY_HEAD, offset: 0, frontier: [] };

const endOf = (row: CommitRow): number => row.last;
const seqOf = (row: { readonly seq: number }): number => row.seq;

/** The state of an index in memory. Indexes that share a state act as one index opened by several processes. */
export interface MemoryIndexState {
  head: IndexHead;
  events: EventRow[];
  jumps: ClockJump[];
  commits: CommitRow[];
  records: Map<string, EventRow[]>;
  history: PathHistory;
  tree: Map<WorkspacePath, Omit<TreeRow, "folder">[]>;
  treeSeq: number;
  damagedSeq: number;
  privateBound: PrivateBound | undefined;
  remoteWork: Map<string, RemoteWorkRow>;
  /** Maps the seq of the first event of a tick's record to the tick. */
  ticks: Map<number, TickRow>;
}

export function emptyMemoryIndex(): MemoryIndexState {
  return {
    head: EMPTY_INDEX_HEAD,
    events: [],
    jumps: [],
    commits: [],
    records: new Map(),
    history: new PathHistory(),
    tree: new Map(),
    treeSeq: 0,
    damagedSeq: 0,
    privateBound: undefined,
    remoteWork: new Map(),
    ticks: new Map(),
  };
}

/** An index in memory. It lives as long as its state. */
export class MemoryIndexStore implements IndexStore {
  readonly #state: MemoryIndexState;

  constructor(state: MemoryIndexState = emptyMemoryIndex()) {
    this.#state = state;
  }

  async head(): Promise<IndexHead> {
    return this.#state.head;
  }

  /** Does nothing, because answers are always current. */
  fresh(): void {}

  async reset(): Promise<void> {
    Object.assign(this.#state, emptyMemoryIndex());
  }

  async apply(batch: IndexBatch): Promise<void> {
    checkIndexBatch(this.#state.head, batch);
    this.#state.history.add([...batch.iterations]);
    addAll(this.#state.jumps, clockJumpsIn(batch.events, this.#state.events.at(-1)?.ts));
    for (const event of batch.events) {
      this.#state.events.push(event);
      const known = this.#state.records.get(event.recordId);
      if (known === undefined) this.#state.records.set(event.recordId, [event]);
      else known.push(event);
    }
    for (const row of batch.remoteWork ?? []) noteRemoteWork(this.#state.remoteWork, row);
    for (const { seq, recordId, ...tick } of batch.ticks ?? []) {
      const first = recordId === undefined ? seq : (this.#state.records.get(recordId)?.[0]?.seq ?? seq);
      this.#state.ticks.set(first, { ...tick, first, last: seq });
    }
    addAll(this.#state.commits, batch.commits ?? []);
    this.#state.head = batch.head;
    if (batch.tree !== undefined) await this.putTreeHashes(batch.head.seq, batch.tree);
  }

  async locate(seq: number): Promise<EventRow | undefined> {
    const row = this.#state.events[upperBound(this.#state.events, seqOf, seq) - 1];
    return row?.seq === seq ? row : undefined;
  }

  async events(range: SeqRange): Promise<readonly EventRow[]> {
    const from = upperBound(this.#state.events, seqOf, range.from - 1);
    const to = Math.max(from, upperBound(this.#state.events, seqOf, range.to));
    const limit = Math.min(range.limit ?? to - from, to - from);
    if (range.descending !== true) return this.#state.events.slice(from, from + limit);
    return this.#state.events.slice(to - limit, to).reverse();
  }

  async record(recordId: string): Promise<EventRow | undefined> {
    return this.#state.records.get(recordId)?.at(-1);
  }

  async records(prefix: string): Promise<readonly EventRow[]> {
    const rows: EventRow[] = [];
    for (const [recordId, events] of this.#state.records) {
      const last = events.at(-1);
      if (last !== undefined && last.op !== "delete" && recordId.startsWith(prefix)) rows.push(last);
    }
    return rows.sort((a, b) => a.seq - b.seq);
  }

  async recordsAcross(prefix: string, seq: number): Promise<readonly EventRow[]> {
    const rows = [...this.#state.records.values()].flatMap((events) => {
      const [first, last] = [events[0], events.at(-1)];
      const isAcross = first !== undefined && last !== undefined && first.seq <= seq && last.seq > seq;
      return isAcross && last.recordId.startsWith(prefix) ? [last] : [];
    });
    return rows.sort((a, b) => a.seq - b.seq);
  }

  async clockJumps(): Promise<readonly ClockJump[]> {
    return this.#state.jumps.slice();
  }

  async openRecords(prefix: string): Promise<readonly EventRow[]> {
    return (await this.records(prefix)).filter((row) => row.open);
  }

  async recordHistory(recordId: string): Promise<readonly EventRow[]> {
    return this.#state.records.get(recordId)?.slice() ?? [];
  }

  async iterations(path: WorkspacePath, { after = 0, limit }: IterationPage = {}): Promise<readonly IterationRow[]> {
    return this.#state.history
      .iterations(path)
      .filter((row) => row.iteration > after)
      .slice(0, limit);
  }

  async iterationAt(path: WorkspacePath, seq: number): Promise<IterationRow | undefined> {
    return this.#state.history.at(path, seq);
  }

  async iterationsAt(paths: readonly WorkspacePath[], seq: number): Promise<readonly (IterationRow | undefined)[]> {
    return paths.map((path) => this.#state.history.at(path, seq));
  }

  async childrenAt(folder: WorkspacePath, seq: number): Promise<readonly IterationRow[]> {
    return this.#state.history.children(folder, seq);
  }

  async *entriesAt(
    seq: number,
    beneath?: WorkspacePath,
    page: EntryPage = {},
  ): AsyncGenerator<readonly IterationRow[]> {
    let batch: IterationRow[] = [];
    for (const row of this.#state.history.beneath(beneath, seq, page)) {
      batch.push(row);
      if (batch.length < ENTRY_BATCH) continue;
      yield batch;
      batch = [];
    }
    if (batch.length > 0) yield batch;
  }

  async touched(after: number, upTo: number): Promise<readonly WorkspacePath[]> {
    return this.#state.history.touched(after, upTo);
  }

  async withContent(hash: Hash, which?: { readonly ordinary?: true }): Promise<IterationRow | undefined> {
    return this.#state.history.withContent(hash, which?.ordinary === true);
  }

  async withContents(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>> {
    return this.#state.history.withContents(hashes);
  }

  async pathsNamed(name: string, which?: NameMatch): Promise<readonly WorkspacePath[]> {
    return this.#state.history.named(name, which?.part === true);
  }

  async protectedPaths(): Promise<readonly WorkspacePath[]> {
    return this.#state.history.protected();
  }

  async commitFrom(seq: number): Promise<CommitRow | undefined> {
    return this.#state.commits[upperBound(this.#state.commits, endOf, seq - 1)];
  }

  async rootedCommit(seq: number): Promise<CommitRow | undefined> {
    return this.#state.commits.findLast(({ last, isRooted }) => isRooted && last <= seq);
  }

  async remoteWork({ naming }: { readonly naming?: string } = {}): Promise<readonly RemoteWorkRow[]> {
    const rows = [...this.#state.remoteWork.values()];
    const meant =
      naming === undefined ? rows : rows.filter(({ session, action }) => session === naming || action === naming);
    return meant.sort((a, b) => a.lastSeq - b.lastSeq || a.firstSeq - b.firstSeq);
  }

  async ticks({ after, upTo, limit, descending = false, kinds }: TickRange): Promise<readonly TickRow[]> {
    const meant = [...this.#state.ticks.values()].filter(
      ({ last, kind }) => last > after && last <= upTo && kinds?.includes(kind) !== false,
    );
    const ordered = meant.sort((a, b) => (descending ? b.last - a.last : a.last - b.last));
    return ordered.slice(0, limit);
  }

  async turnsAfter(seq: number, turns: readonly TurnName[]): Promise<readonly TurnName[]> {
    const later = [...this.#state.ticks.values()].filter(({ last }) => last > seq);
    return turns.filter((one) => later.some(({ session, turn }) => session === one.session && turn === one.turn));
  }

  async treeHashAt(folder: WorkspacePath, seq: number): Promise<Hash | undefined> {
    const rows = this.#state.tree.get(folder);
    return rows?.[upperBound(rows, seqOf, seq) - 1]?.hash;
  }

  async damagedSeq(): Promise<number> {
    return this.#state.damagedSeq;
  }

  async privateBound(): Promise<PrivateBound | undefined> {
    return this.#state.privateBound;
  }

  async notePrivateBound(bound: PrivateBound): Promise<void> {
    this.#state.privateBound = bound;
  }

  async noteDamaged(seq: number): Promise<void> {
    this.#state.damagedSeq = seq;
  }

  async treeSeq(): Promise<number> {
    return this.#state.treeSeq;
  }

  async treeRows(): Promise<readonly TreeRow[]> {
    return [...this.#state.tree].flatMap(([folder, rows]) => rows.map((row) => ({ folder, ...row })));
  }

  async *rowsBetween(after: number, upTo: number): AsyncGenerator<readonly IterationRow[]> {
    yield this.#state.history.between(after, upTo);
  }

  /** Finds no problems, because an index in memory cannot be damaged on disk. */
  async check(): Promise<readonly string[]> {
    return [];
  }

  async putTreeHashes(seq: number, { hashes, after }: StoredTree): Promise<void> {
    for (const [folder, hash] of hashes) {
      const rows = this.#state.tree.get(folder) ?? [];
      this.#state.tree.set(folder, rows);
      const at = upperBound(rows, seqOf, seq);
      rows.splice(rows[at - 1]?.seq === seq ? at - 1 : at, rows[at - 1]?.seq === seq ? 1 : 0, { seq, hash });
    }
    if (this.#state.treeSeq >= after) this.#state.treeSeq = Math.max(this.#state.treeSeq, seq);
  }

  async close(): Promise<void> {}
}

interface Names {
  readonly all: Set<string>;
  sorted: readonly string[] | undefined;
}

const seqOfIteration = (row: IterationRow): number => row.seq;

class PathHistory {
  readonly #paths = new Map<WorkspacePath, IterationRow[]>();
  readonly #folders = new Map<WorkspacePath, Names>();
  #bySeq: IterationRow[] = [];

  /** Adds all rows, or none of them. Throws `INTEGRITY_VIOLATION` if a path would have two iterations at one seq. */
  add(rows: readonly IterationRow[]): void {
    this.#refuseDuplicates(rows);
    for (const row of rows) {
      const known = this.#paths.get(row.path) ?? this.#begin(row.path);
      known.splice(upperBound(known, seqOfIteration, row.seq), 0, row);
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
    return rows?.[upperBound(rows, seqOfIteration, seq) - 1];
  }

  children(folder: WorkspacePath, seq: number): IterationRow[] {
    const rows: IterationRow[] = [];
    for (const name of this.#namesIn(folder)) {
      const row = this.at(childOf(folder, name), seq);
      if (row?.entry !== undefined) rows.push(row);
    }
    return rows;
  }

  /**
   * Yields the entries at or beneath a path as of a seq, or one page of them, in path order. Without a path, yields the
   * entries of every root. Does not recurse, because trees may be very deep.
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

  withContent(hash: Hash, ordinary: boolean): IterationRow | undefined {
    return this.#bySeq.findLast(({ entry }) => entry?.hash === hash && !(ordinary && entry.class === "protected"));
  }

  withContents(hashes: readonly Hash[]): ReadonlySet<Hash> {
    const all = new Set(this.#bySeq.map((row) => row.entry?.hash));
    return new Set(hashes.filter((hash) => all.has(hash)));
  }

  between(after: number, upTo: number): readonly IterationRow[] {
    return this.#bySeq.slice(
      upperBound(this.#bySeq, seqOfIteration, after),
      upperBound(this.#bySeq, seqOfIteration, upTo),
    );
  }

  touched(after: number, upTo: number): WorkspacePath[] {
    const rows = this.between(after, upTo);
    return [...new Set(rows.map((row) => row.path))].sort(comparePaths);
  }

  named(name: string, isPart: boolean): WorkspacePath[] {
    const asked = lowered(name);
    const fits = (own: string): boolean => (isPart ? lowered(own).includes(asked) : own === name);
    return [...this.#paths.keys()].filter((path) => path !== "" && fits(nameOf(path))).sort(comparePaths);
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

/** Returns the number of rows with a key of at most `limit`. The rows must ascend by their key. */
function upperBound<Row>(rows: readonly Row[], keyOf: (row: Row) => number, limit: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const row = rows[middle];
    if (row !== undefined && keyOf(row) <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the text with the letters A to Z in lower case, as SQLite's `lower` does. */
function lowered(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}
