import { leastOf } from "../../util/long-lists.ts";

/**
 * This module alone decides which states of a pruned history are kept. The kept states determine which contents `gc`
 * may free, and which contents may be missing when `verify` looks for them.
 */

/**
 * The states that a pruning keeps: every state from the floor on, and the states in `kept`, which are below the floor.
 * The seq of an event stands for the state right after this event. `kept` is ascending.
 */
export interface KeptStates {
  readonly floorSeq: number;
  readonly kept: readonly number[];
}

/**
 * Merges prunings. The result keeps each state that at least one of the prunings keeps. `undefined`, as an argument and
 * as the result, means that every state is kept. For an empty list, returns `undefined`.
 */
export function keptByAny(all: readonly (KeptStates | undefined)[]): KeptStates | undefined {
  const prunings = all.filter((one) => one !== undefined);
  if (prunings.length === 0 || prunings.length < all.length) return undefined;
  const floorSeq = leastOf(prunings.map((one) => one.floorSeq));
  const kept = new Set(prunings.flatMap((one) => one.kept).filter((state) => state < floorSeq));
  return { floorSeq, kept: [...kept].sort((a, b) => a - b) };
}

/** Returns true if `one` keeps every state that `other` keeps. */
export function keepsAllOf(one: KeptStates, other: KeptStates): boolean {
  for (let state = other.floorSeq; state < one.floorSeq; state += 1) if (!keepsState(one, state)) return false;
  return other.kept.every((state) => keepsState(one, state));
}

/** Returns true if the state right after the event with the seq `state` can still be restored. */
export function keepsState(pruning: KeptStates | undefined, state: number): boolean {
  return pruning === undefined || state >= pruning.floorSeq || pruning.kept[firstFrom(pruning.kept, state)] === state;
}

/**
 * Returns true if a kept state needs a value that event `since` set. `until` is the event that replaced the value;
 * `undefined` if the value is still current.
 */
export function keepsSpan(pruning: KeptStates | undefined, since: number, until: number | undefined): boolean {
  if (pruning === undefined || until === undefined || until > pruning.floorSeq) return true;
  const state = pruning.kept[firstFrom(pruning.kept, since)];
  return state !== undefined && state < until;
}

function firstFrom(numbers: readonly number[], value: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((numbers[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface InForce<T> {
  readonly since: number;
  readonly content: T;
}

/**
 * Finds the contents that the kept states need. Calls `need` for each such content as soon as the need is known. Holds
 * at most one content of each record in memory.
 */
export class NeededContents<T> {
  readonly #pruning: KeptStates | undefined;
  readonly #need: (content: T) => void;
  readonly #inForce = new Map<string, InForce<T>>();

  constructor(pruning: KeptStates | undefined, need: (content: T) => void) {
    this.#pruning = pruning;
    this.#need = need;
  }

  /**
   * Notes the content that a record has from event `seq` on; `undefined` if the record has no content then. The seqs of
   * successive calls must not decrease.
   */
  set(recordId: string, seq: number, content: T | undefined): void {
    if (this.#pruning === undefined || seq > this.#pruning.floorSeq) {
      this.#reachFloor();
      if (content !== undefined) this.#need(content);
      return;
    }
    const before = this.#inForce.get(recordId);
    if (before !== undefined && keepsSpan(this.#pruning, before.since, seq)) this.#need(before.content);
    if (content === undefined) this.#inForce.delete(recordId);
    else this.#inForce.set(recordId, { since: seq, content });
  }

  /** Must be called at the end of the history. Calls `need` for the contents that are current at the end. */
  finish(): void {
    this.#reachFloor();
  }

  #reachFloor(): void {
    for (const { content } of this.#inForce.values()) this.#need(content);
    this.#inForce.clear();
  }
}
