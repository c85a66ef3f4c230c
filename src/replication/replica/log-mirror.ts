import type { LoggedErasure } from "../../core/records/erasures.ts";
import type { Head, LogEvent, SealedEvent } from "../../core/values/event.ts";
import type { FileRecord } from "../../core/values/file-record.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { HistoryAnchor } from "../../core/log/history-anchor.ts";
import { comparePaths, type WorkspacePath } from "../../core/values/path.ts";
import type { IndexStore, IterationRow } from "../../storage/index-store.ts";
import { Signal } from "../../util/signal.ts";
import type { Mirror } from "./mirror.ts";
import { MirrorPart, type MirrorFiles } from "./mirror-part.ts";

export interface MirrorPlaces {
  /**
   * Returns the anchors after which the parts start, oldest first; `undefined` stands for a part that starts at the
   * first event. There is at least one part. The last part is in force.
   */
  list(): readonly (HistoryAnchor | undefined)[];
  open(anchor: HistoryAnchor | undefined): Promise<MirrorFiles>;
  /** Durably creates a part that starts after this anchor. The part is then in force. */
  begin(anchor: HistoryAnchor): void;
  /**
   * Removes a closed part from the mirror. The lines of the part stay on disk, in another folder. `last` is the seq of
   * the last of these lines.
   */
  giveUp(anchor: HistoryAnchor | undefined, last: number): void;
}

/**
 * A mirror that consists of parts, each with its own log. After each full reconciliation, a new part starts at the
 * state that was taken over from the origin. This part is then in force. Earlier parts are kept until the replica's
 * folder has applied the state at which the new part starts.
 */
export class LogMirror implements Mirror {
  readonly changed = new Signal<void>();
  readonly #places: MirrorPlaces;
  /** At least one part, oldest first. */
  readonly #parts: MirrorPart[];

  /** Only the process that follows the origin may open the mirror. Throws `LOG_DAMAGED` if a part is damaged. */
  static async open(places: MirrorPlaces): Promise<LogMirror> {
    const parts: MirrorPart[] = [];
    try {
      for (const anchor of places.list()) parts.push(await openPart(places, anchor));
      return new LogMirror(places, parts);
    } catch (error) {
      for (const part of parts) await part.close();
      throw error;
    }
  }

  private constructor(places: MirrorPlaces, parts: MirrorPart[]) {
    this.#places = places;
    this.#parts = parts;
  }

  get workspace(): string {
    return this.#present.workspace;
  }

  get start(): number {
    return this.#present.start;
  }

  get head(): Head {
    return this.#present.head;
  }

  hashAt(seq: number): Promise<Hash | undefined> {
    return this.#partAt(seq).hashAt(seq);
  }

  async append(events: readonly SealedEvent[]): Promise<void> {
    await this.#present.append(events);
    this.changed.emit();
  }

  iterationAt(path: WorkspacePath, seq: number): Promise<IterationRow | undefined> {
    return this.#at(seq, (index, upTo) => index.iterationAt(path, upTo));
  }

  iterationsAt(paths: readonly WorkspacePath[], seq: number): Promise<readonly (IterationRow | undefined)[]> {
    return this.#at(seq, (index, upTo) => index.iterationsAt(paths, upTo));
  }

  childrenAt(folder: WorkspacePath, seq: number): Promise<readonly IterationRow[]> {
    return this.#at(seq, (index, upTo) => index.childrenAt(folder, upTo));
  }

  async *entriesAt(seq: number, beneath?: WorkspacePath): AsyncGenerator<readonly IterationRow[]> {
    yield* await this.#at(seq, async (index, upTo) => index.entriesAt(upTo, beneath));
  }

  protectedNames(): Promise<readonly string[]> {
    return this.#present.protectedNames();
  }

  async touched(after: number, upTo: number): Promise<readonly WorkspacePath[]> {
    const all = new Set<WorkspacePath>();
    let from = after;
    for (const part of this.#parts) {
      const isNeeded = part === this.#present || from < part.head.seq;
      if (!isNeeded || upTo <= from) continue;
      // In the index of a part, the rows of its base cover the events between the previous part and this part.
      for (const path of await part.ask((index) => index.touched(from, upTo))) all.add(path);
      from = Math.max(from, part.head.seq);
    }
    return [...all].sort(comparePaths);
  }

  treeHash(folder: WorkspacePath): Promise<Hash | undefined> {
    return this.#present.treeHash(folder);
  }

  record(seq: number): Promise<FileRecord | undefined> {
    return this.#partAt(seq).record(seq);
  }

  async records(seqs: Iterable<number>): Promise<ReadonlyMap<number, FileRecord>> {
    const byPart = new Map<MirrorPart, number[]>();
    for (const seq of seqs) {
      const part = this.#partAt(seq);
      const known = byPart.get(part);
      if (known === undefined) byPart.set(part, [seq]);
      else known.push(seq);
    }
    const found = new Map<number, FileRecord>();
    for (const [part, own] of byPart) for (const [seq, record] of await part.records(own)) found.set(seq, record);
    return found;
  }

  async lastErasure(): Promise<number> {
    let last = 0;
    for (const part of this.#parts) last = Math.max(last, await part.lastErasure());
    return last;
  }

  async erasures(): Promise<readonly LoggedErasure[]> {
    // Each part knows only some erasures. If several parts know an erasure, the record in the latest of these parts
    // counts.
    const all = new Map<string, LoggedErasure>();
    for (const part of this.#parts) for (const one of await part.erasures()) all.set(one.recordId, one);
    return [...all.values()].sort((a, b) => a.seq - b.seq);
  }

  proves(paths: readonly WorkspacePath[] | "all", seq: number): Promise<boolean> {
    return this.#partAt(seq).proves(paths, seq);
  }

  makeBase(compaction: LogEvent): Promise<void> {
    return this.#present.makeBase(compaction);
  }

  async startAt(anchor: HistoryAnchor): Promise<void> {
    if (anchor.seq <= this.head.seq) {
      throw new ChronicleError("INTEGRITY_VIOLATION", `this replica holds event ${this.head.seq} already`);
    }
    this.#places.begin(anchor);
    this.#parts.push(await openPart(this.#places, anchor));
    this.changed.emit();
  }

  async rewind(seq: number): Promise<void> {
    while (this.#present.start > 0 && this.#present.start > seq) await this.#leavePresent();
    await this.#present.rewind(seq);
    this.changed.emit();
  }

  async applied(seq: number): Promise<void> {
    if (seq < this.start) return;
    for (const part of this.#parts.splice(0, this.#parts.length - 1)) {
      await part.close();
      this.#places.giveUp(part.anchor, part.head.seq);
    }
  }

  async close(): Promise<void> {
    for (const part of this.#parts) await part.close();
  }

  /**
   * Closes and removes the part in force. The previous part is then in force. If there is no previous part, an empty
   * part that starts at event 1 is in force.
   */
  async #leavePresent(): Promise<void> {
    const part = this.#present;
    await part.close();
    this.#places.giveUp(part.anchor, part.head.seq);
    this.#parts.pop();
    if (this.#parts.length === 0) this.#parts.push(await openPart(this.#places, undefined));
  }

  get #present(): MirrorPart {
    return this.#parts.at(-1) as MirrorPart;
  }

  /** Returns the last part that starts at or before the event, or the first part if there is no such part. */
  #partAt(seq: number): MirrorPart {
    return this.#parts.findLast((part) => part.start <= seq) ?? (this.#parts[0] as MirrorPart);
  }

  #at<T>(seq: number, work: (index: IndexStore, seq: number) => Promise<T>): Promise<T> {
    return this.#partAt(seq).ask((index) => work(index, seq));
  }
}

async function openPart(places: MirrorPlaces, anchor: HistoryAnchor | undefined): Promise<MirrorPart> {
  const files = await places.open(anchor);
  try {
    return await MirrorPart.open(files);
  } catch (error) {
    await files.close();
    throw error;
  }
}
