import { type ClockJump, clockJumpsIn } from "../../core/values/clock-jumps.ts";
import { EMPTY_HEAD } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { noteRemoteWork, type RemoteWorkRow } from "../../core/records/remote-work.ts";
import { type WorkspacePath } from "../../core/values/path.ts";
import { addAll } from "../../util/long-lists.ts";
import { upperBound } from "../../util/upper-bound.ts";
import { checkIndexBatch, ENTRY_BATCH } from "../check-index-batch.ts";
import type {
  CommitRow,
  EntryPage,
  EventRow,
  StoredTree,
  IndexBatch,
  IndexHead,
  IndexStore,
  IterationPage,
  IterationRow,
  SeqRange,
  TreeRow,
} from "../index-store.ts";
import { PathHistory } from "./path-history.ts";

const EMPTY_INDEX_HEAD: IndexHead = { ...EMPTY_HEAD, offset: 0, frontier: [] };

const endOf = (row: CommitRow): number => row.last;
const seqOf = (row: { readonly seq: number }): number => row.seq;

/** The state of an index in memory. Indexes that share a state stand for several processes. */
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
  remoteWork: Map<string, RemoteWorkRow>;
}

/** The state of an empty index. */
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
    remoteWork: new Map(),
  };
}

/** An index in memory; it lives as long as its state. */
export class MemoryIndexStore implements IndexStore {
  readonly #state: MemoryIndexState;

  constructor(state: MemoryIndexState = emptyMemoryIndex()) {
    this.#state = state;
  }

  async head(): Promise<IndexHead> {
    return this.#state.head;
  }

  /** Answers are always current. */
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

  async pathsNamed(name: string): Promise<readonly WorkspacePath[]> {
    return this.#state.history.named(name);
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

  async treeHashAt(folder: WorkspacePath, seq: number): Promise<Hash | undefined> {
    const rows = this.#state.tree.get(folder);
    return rows?.[upperBound(rows, seqOf, seq) - 1]?.hash;
  }

  async damagedSeq(): Promise<number> {
    return this.#state.damagedSeq;
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

  /** No other process writes it. */
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
