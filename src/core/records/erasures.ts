import { markOf } from "../log/commit-mark.ts";
import { decodeErase, type EraseRecord } from "./erase-record.ts";
import type { LogEvent, RecordBody } from "../values/event.ts";
import type { Hash } from "../values/hash.ts";
import type { WorkspacePath } from "../values/path.ts";
import type { SeqRanges } from "../values/seq-ranges.ts";

/** An erasure, with the id of its record and the seq of the last event of this record. */
export interface LoggedErasure extends EraseRecord {
  readonly recordId: string;
  readonly seq: number;
  /**
   * Ranges of events. Each of these events ended the recording of a path, because a content of the path was erased.
   * Unlike the same field of an `EraseRecord`, these ranges include the events in the commit that contains the record.
   */
  readonly untracked: SeqRanges;
}

/** Returns the erasure that an event records. Throws `LOG_DAMAGED` for an invalid record. */
export function erasureIn({ recordId, seq, record }: Pick<LogEvent, "recordId" | "seq" | "record">): LoggedErasure {
  const said = decodeErase(record);
  // In the commit of an erase record, only events that end the recording of paths precede this record.
  const first = markOf({ op: "upsert", recordId, record })?.first ?? seq;
  const ofCommit: SeqRanges = first < seq ? [[first, seq - 1]] : [];
  return { ...said, recordId, seq, untracked: [...(said.untracked ?? []), ...ofCommit] };
}

/**
 * The erasures of a history. After an erasure at event E, the store may lack an erased content that an event before E
 * names. If an event after E records the content again, the store must have it.
 */
export class Erasures {
  readonly #due: number | undefined;
  readonly #last = new Map<string, LoggedErasure>();
  #contents: ReadonlyMap<Hash, LoggedErasure> | undefined;
  #aside: ReadonlyMap<Hash, ReadonlyMap<WorkspacePath, LoggedErasure>> | undefined;

  /**
   * `due`: a time in ms since the epoch. If `due` is given, only erasures whose grace period is over at this time are
   * in force. Otherwise, all erasures are in force. An erasure that was withdrawn is never in force.
   */
  constructor(due?: number) {
    this.#due = due;
  }

  /**
   * Adds an event of an erase record. Ignores an event that is not newer than the last known event of the same record.
   * Throws `LOG_DAMAGED` for an invalid record.
   */
  add(recordId: string, seq: number, body: RecordBody): void {
    if (seq <= (this.#last.get(recordId)?.seq ?? 0)) return;
    this.#last.set(recordId, erasureIn({ recordId, seq, record: body }));
    this.#contents = undefined;
    this.#aside = undefined;
  }

  /**
   * Returns the erasure as of the last known event of its record, whether the erasure is in force or not. Returns
   * `undefined` if no event of the record is known.
   */
  last(recordId: string): LoggedErasure | undefined {
    return this.#last.get(recordId);
  }

  /** The erasures in force, sorted by seq. */
  get all(): readonly LoggedErasure[] {
    const inForce = [...this.#last.values()].filter(({ state, until }) => state === "erased" && this.#isDue(until));
    return inForce.sort((a, b) => a.seq - b.seq);
  }

  /** True if at least one erasure was withdrawn. */
  get isSomeWithdrawn(): boolean {
    return [...this.#last.values()].some(({ state }) => state === "withdrawn");
  }

  /** The number of contents for which an erasure is in force. Does not count contents that were kept aside. */
  get size(): number {
    return this.#byContent().size;
  }

  /** Returns the last erasure in force that erases a content; `undefined` if no such erasure is in force. */
  of(hash: Hash): LoggedErasure | undefined {
    return this.#byContent().get(hash);
  }

  /**
   * Returns true if the store may lack a content that event `seq` names. This is so if an erasure in force erases the
   * content and comes after this event.
   */
  license(hash: Hash, seq: number): boolean {
    if (this.#last.size === 0) return false;
    return (this.of(hash)?.seq ?? 0) > seq;
  }

  /** Returns the changes of a plan, without those at paths whose kept-aside content is erased. */
  leftAside<T extends { readonly path: WorkspacePath }>(plan: Hash, changes: readonly T[]): readonly T[] {
    return changes.filter(({ path }) => this.ofAside(plan, path) === undefined);
  }

  /**
   * Returns the last erasure in force that erases the content which a plan keeps aside for a path. Returns `undefined`
   * if no such erasure is in force.
   */
  ofAside(plan: Hash, path: WorkspacePath): LoggedErasure | undefined {
    return this.#byPlan().get(plan)?.get(path);
  }

  #byPlan(): ReadonlyMap<Hash, ReadonlyMap<WorkspacePath, LoggedErasure>> {
    if (this.#aside !== undefined) return this.#aside;
    const all = new Map<Hash, Map<WorkspacePath, LoggedErasure>>();
    for (const one of this.all) {
      for (const { plan, paths } of one.aside ?? []) {
        const known = all.get(plan) ?? new Map<WorkspacePath, LoggedErasure>();
        for (const path of paths) known.set(path, one);
        all.set(plan, known);
      }
    }
    return (this.#aside = all);
  }

  #byContent(): ReadonlyMap<Hash, LoggedErasure> {
    this.#contents ??= new Map(this.all.flatMap((one) => one.contents.map((hash) => [hash, one] as const)));
    return this.#contents;
  }

  #isDue(until: string): boolean {
    return this.#due === undefined || Date.parse(until) <= this.#due;
  }
}
