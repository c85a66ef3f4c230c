import type { VerifyProblemShape as Problem } from "../../api/shapes.ts";
import type { BaseEntry } from "../../core/log/base.ts";
import { sameRecorded } from "../../core/values/entry.ts";
import { markOf } from "../../core/log/commit-mark.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { LogEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { displayPath, type WorkspacePath } from "../../core/values/path.ts";
import { noteRemoteWork, remoteWorkIn, type RemoteWorkRow } from "../../core/records/remote-work.ts";
import type { CommitRow, EventRow, IndexHead, IndexStore, IterationRow, TreeRow } from "../../storage/index-store.ts";
import { yieldToEventLoop, Breather, withBreaths } from "../../util/yield-to-event-loop.ts";
import { addAll, leastOf } from "../../util/long-lists.ts";
import { eventRow, iterationsOf, type PlacedEvent } from "../log/project.ts";

/** The maximum number of differences that are listed. Further differences are only counted. */
const MOST_TOLD = 20;

/**
 * The number of rows per query in the search for the first event that has a line in the log (`#beginsElsewhere`). An
 * index can begin with many rows that came from a base. The events of these rows have no line any more.
 */
const SOME_EVENTS = 2_000;

/**
 * Compares an index with the log while the log is replayed. No data is lost if they differ, because the index can be
 * rebuilt from the log.
 */
export class IndexAudit {
  readonly #index: IndexStore;
  readonly #known: IndexHead;
  readonly #trees = new Map<number, TreeRow[]>();
  readonly #latest = new Map<WorkspacePath, TreeRow>();
  #treeSeq = 0;
  readonly #open = new Map<string, number>();
  readonly #work = new Map<string, RemoteWorkRow>();
  readonly #faults: string[] = [];
  /** The first event that was compared. The rows of earlier events came from a base. */
  #first: number | undefined;
  #count = 0;
  /** The row of the commit that was read last (`row`), and the event for which the row was read (`from`). */
  #commit: { readonly from: number; readonly row: CommitRow } | undefined;
  /** True if the index and the log begin at different compactions. In that case, nothing is reported. */
  #isElsewhere = false;

  private constructor(index: IndexStore, known: IndexHead) {
    this.#index = index;
    this.#known = known;
  }

  /**
   * Begins the audit of an index up to its present head. The index may grow during the audit; the new rows are not
   * compared.
   */
  static async begin(index: IndexStore): Promise<IndexAudit> {
    const audit = new IndexAudit(index, await index.head());
    await audit.#guarded(async () => {
      for (const fault of await index.check()) audit.#tell(`its database is damaged: ${fault}`);
      audit.#treeSeq = await index.treeSeq();
      for (const row of await index.treeRows()) {
        const last = audit.#latest.get(row.folder);
        if (row.seq <= audit.#treeSeq && (last === undefined || row.seq > last.seq)) audit.#latest.set(row.folder, row);
        const known = audit.#trees.get(row.seq);
        if (known === undefined) audit.#trees.set(row.seq, [row]);
        else known.push(row);
      }
    });
    return audit;
  }

  get seq(): number {
    return this.#known.seq;
  }

  /** True if folder hashes, or the head, are to be compared right after this event. */
  isMilestone(seq: number): boolean {
    return seq === this.#known.seq || seq === this.#treeSeq || this.#trees.has(seq);
  }

  /**
   * Compares the next events of the log. `bases` maps the seq of an event to the entries of the base that the event
   * names.
   */
  async events(placed: readonly PlacedEvent[], bases: ReadonlyMap<number, readonly BaseEntry[]>): Promise<void> {
    const mine = placed.filter(({ event }) => event.seq <= this.#known.seq);
    const [first, last] = [mine[0]?.event.seq, mine.at(-1)?.event.seq];
    if (first === undefined || last === undefined) return;
    if (this.#first === undefined && (await this.#beginsElsewhere(first))) this.#isElsewhere = true;
    this.#first ??= first;
    if (this.#isElsewhere) return;
    for (const row of remoteWorkIn(mine.map(({ event }) => event))) noteRemoteWork(this.#work, row);
    await this.#guarded(async () => {
      this.#compareEvents(mine, await this.#index.events({ from: first, to: last }));
      for (const { event } of mine) await this.#compareCommit(event);
      const expected = mine.flatMap(({ event }) => [...iterationsOf(event)]);
      for (const { event } of mine) addAll(expected, (bases.get(event.seq) ?? []).map(rowOfBase));
      // The rows of a base can be of earlier events, whose lines a compaction has removed.
      const from = Math.min(first, leastOf(expected.map((row) => row.seq)));
      await this.#compareIterations(expected, this.#index.rowsBetween(from - 1, last));
    });
  }

  /** Compares the state right after an event: folder hashes, and the head of the index. */
  async milestone(
    at: Pick<IndexHead, "seq" | "offset" | "frontier">,
    hashOf: (folder: WorkspacePath) => Hash | undefined,
  ): Promise<void> {
    for (const { folder, hash } of this.#isElsewhere ? [] : (this.#trees.get(at.seq) ?? [])) {
      if (hashOf(folder) !== hash) this.#tell(`the hash of the folder ${displayPath(folder)} at event ${at.seq}`);
    }
    this.#trees.delete(at.seq);
    if (at.seq === this.#treeSeq) this.#compareLatest(hashOf);
    if (at.seq !== this.#known.seq || this.#isElsewhere) return;
    const { offset, frontier } = this.#known;
    if (offset !== at.offset || frontier.join() !== at.frontier.join()) this.#tell("the end of the log");
  }

  #compareLatest(hashOf: (folder: WorkspacePath) => Hash | undefined): void {
    for (const [folder, { hash, seq }] of this.#isElsewhere ? [] : this.#latest) {
      const now = hashOf(folder);
      // A folder that is gone has no hash.
      if (now !== undefined && now !== hash)
        this.#tell(`the hash of the folder ${displayPath(folder)} of event ${seq}`);
    }
  }

  /**
   * Returns the differences. Returns `[]` if the index was emptied during the audit, or if the index and the log begin
   * at different compactions.
   */
  async finish(): Promise<Problem[]> {
    const isSame = await this.#guarded(async () => {
      const now = await this.#index.head();
      if (now.seq < this.#known.seq || this.#isElsewhere) return false;
      await this.#tellStrayIterations(Number.MIN_SAFE_INTEGER, 0);
      await this.#tellStrayIterations(now.seq, Number.MAX_SAFE_INTEGER);
      const strange = [
        ...(await this.#index.events({ from: Number.MIN_SAFE_INTEGER, to: 0, limit: 1 })),
        ...(await this.#index.events({ from: now.seq + 1, to: Number.MAX_SAFE_INTEGER, limit: 1 })),
      ];
      for (const { seq } of strange) this.#tell(`an event ${seq} that was never recorded`);
      for (const seq of this.#trees.keys()) {
        const isCompared = seq >= (this.#first ?? Number.POSITIVE_INFINITY) && seq <= this.#known.seq;
        if (isCompared || seq < 1) this.#tell(`folder hashes of event ${seq}`);
      }
      if (now.seq === this.#known.seq) {
        for (const seq of this.#trees.keys())
          if (seq > now.seq) this.#tell(`folder hashes of event ${seq}, which was never recorded`);
        await this.#compareWhole();
      }
      return true;
    });
    if (isSame === false) return [];
    const more = this.#count - this.#faults.length;
    const told = more > 0 ? [...this.#faults, `${more} more`] : this.#faults;
    return told.map((detail) => ({
      kind: "index-wrong",
      where: "index.db",
      detail: `${detail} (\`chronicle rebuild\`)`,
    }));
  }

  async #tellStrayIterations(after: number, upTo: number): Promise<void> {
    for await (const rows of withBreaths(this.#index.rowsBetween(after, upTo)))
      for (const row of rows) this.#tell(`${shown(row)}, whose event was never recorded`);
  }

  async #compareWhole(): Promise<void> {
    const open = await this.#index.openRecords("");
    const first = this.#first ?? Number.POSITIVE_INFINITY;
    for (const { recordId, seq } of open) {
      if (seq >= first && this.#open.get(recordId) !== seq) this.#tell(`${recordId} counts as open`);
    }
    const known = new Set(open.map((row) => row.recordId));
    for (const recordId of this.#open.keys())
      if (!known.has(recordId)) this.#tell(`${recordId} does not count as open`);
    const work = [...this.#work.values()].sort((a, b) => a.lastSeq - b.lastSeq || a.firstSeq - b.firstSeq);
    if (JSON.stringify(await this.#index.remoteWork()) !== JSON.stringify(work)) this.#tell("rows of remote work");
    if (this.#treeSeq > this.#known.seq) this.#tell(`folder hashes up to event ${this.#treeSeq}`);
  }

  /**
   * True if the index and the log begin at different compactions, because an archive was dropped or put back. The next
   * catch-up then rebuilds the index.
   */
  async #beginsElsewhere(first: number): Promise<boolean> {
    const found = await this.#guarded(async () => {
      for (let from = 1; ;) {
        const rows = await this.#index.events({ from, to: this.#known.seq, limit: SOME_EVENTS });
        const own = rows.find((row) => row.offset >= 0 && (row.seq <= first || row.op === "compact"));
        if (own !== undefined) return own.seq !== first && (own.seq < first || own.op === "compact");
        const last = rows.at(-1);
        if (last === undefined) return false;
        from = last.seq + 1;
        await yieldToEventLoop();
      }
    });
    return found === true;
  }

  async #compareCommit(event: LogEvent): Promise<void> {
    const row = await this.#commitOf(event.seq);
    const mark = markOf(event);
    const isSame =
      mark === undefined
        ? row?.last !== event.seq
        : row?.last === event.seq && row.first === mark.first && row.isRooted === (mark.root !== undefined);
    if (!isSame) this.#tell(`the commit that ends at event ${event.seq}`);
  }

  /**
   * Returns the first commit in the index that ends at or after the event. All events of a commit have the same answer,
   * so the last answer is kept and reused.
   */
  async #commitOf(seq: number): Promise<CommitRow | undefined> {
    const known = this.#commit;
    if (known !== undefined && seq > known.from && seq <= known.row.last) return known.row;
    const row = await this.#index.commitFrom(seq);
    this.#commit = row === undefined ? undefined : { from: seq, row };
    return row;
  }

  #compareEvents(placed: readonly PlacedEvent[], rows: readonly EventRow[]): void {
    const found = new Map(rows.map((row) => [row.seq, row]));
    for (const one of placed) {
      const expected = eventRow(one);
      const row = found.get(expected.seq);
      found.delete(expected.seq);
      this.#open.delete(expected.recordId);
      if (expected.open) this.#open.set(expected.recordId, expected.seq);
      if (row === undefined || !sameEvent(expected, row)) this.#tell(`event ${expected.seq} (${expected.recordId})`);
    }
    for (const seq of found.keys()) this.#tell(`event ${seq}, which is not in the log`);
  }

  async #compareIterations(
    expected: readonly IterationRow[],
    batches: AsyncIterable<readonly IterationRow[]>,
  ): Promise<void> {
    const missing = new Map<string, IterationRow>();
    const breather = new Breather();
    for (const row of expected) {
      missing.set(keyOf(row), row);
      await breather.after(1);
    }
    for await (const rows of withBreaths(batches)) {
      for (const row of rows) {
        const wanted = missing.get(keyOf(row));
        missing.delete(keyOf(row));
        if (wanted === undefined) this.#tell(`${shown(row)}, which was never recorded`);
        else if (!sameIteration(wanted, row)) this.#tell(shown(wanted));
      }
    }
    for (const row of missing.values()) this.#tell(shown(row));
  }

  #tell(detail: string): void {
    this.#count += 1;
    if (this.#faults.length < MOST_TOLD) this.#faults.push(`the index differs from the log: ${detail}`);
  }

  /**
   * Returns the result of `work`. If the index is damaged, notes the damage as a difference, and resolves to
   * `undefined`.
   */
  async #guarded<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ChronicleError) || error.code !== "INTEGRITY_VIOLATION") throw error;
      this.#tell(error.message);
      return undefined;
    }
  }
}

function rowOfBase({ path, seq, iteration, entry }: BaseEntry): IterationRow {
  return { path, seq, iteration, entry };
}

function keyOf({ path, seq }: IterationRow): string {
  return `${seq}/${path}`;
}

function shown({ path, iteration, seq }: IterationRow): string {
  return `iteration ${iteration} of ${displayPath(path)} (event ${seq})`;
}

function sameEvent(a: EventRow, b: EventRow): boolean {
  const isSamePlace = a.offset === b.offset && a.length === b.length;
  return a.ts === b.ts && a.op === b.op && a.recordId === b.recordId && a.hash === b.hash && isSamePlace;
}

function sameIteration(a: IterationRow, b: IterationRow): boolean {
  return a.iteration === b.iteration && sameRecorded(a.entry, b.entry);
}
