import { leastOf } from "../../util/long-lists.ts";

/**
 * Which states of a pruned history are kept, and so which contents: what `gc` may free and what `verify` may miss is
 * decided here, and nowhere else.
 */

/** What a pruning keeps: every state from the floor on, and those named below it (ascending). */
export interface KeptStates {
  readonly floorSeq: number;
  readonly kept: readonly number[];
}

/** Keeps each state that one of several prunings keeps. `undefined` stands for no pruning, which keeps everything. */
export function keptByAny(all: readonly (KeptStates | undefined)[]): KeptStates | undefined {
  const prunings = all.filter((one) => one !== undefined);
  if (prunings.length === 0 || prunings.length < all.length) return undefined;
  const floorSeq = leastOf(prunings.map((one) => one.floorSeq));
  const kept = new Set(prunings.flatMap((one) => one.kept).filter((state) => state < floorSeq));
  return { floorSeq, kept: [...kept].sort((a, b) => a - b) };
}

/** Does the one keep each state that the other keeps? */
export function keepsAllOf(one: KeptStates, other: KeptStates): boolean {
  for (let state = other.floorSeq; state < one.floorSeq; state += 1) if (!keepsState(one, state)) return false;
  return other.kept.every((state) => keepsState(one, state));
}

/** Can the state after this event still be gone back to? */
export function keepsState(pruning: KeptStates | undefined, state: number): boolean {
  return pruning === undefined || state >= pruning.floorSeq || pruning.kept[firstFrom(pruning.kept, state)] === state;
}

/** Is something that was so from event `since` until it was replaced by event `until` (`undefined`: still) kept? */
export function keepsSpan(pruning: KeptStates | undefined, since: number, until: number | undefined): boolean {
  if (pruning === undefined || until === undefined || until > pruning.floorSeq) return true;
  const state = pruning.kept[firstFrom(pruning.kept, since)];
  return state !== undefined && state < until;
}

/** The index of the first of the ascending numbers that is not below the value. */
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
 * Goes through a history in its order and hands over each content that a kept state needs. Holds one content for each
 * record that is in force at the floor, not more.
 */
export class NeededContents<T> {
  readonly #pruning: KeptStates | undefined;
  readonly #need: (content: T) => void;
  readonly #inForce = new Map<string, InForce<T>>();

  constructor(pruning: KeptStates | undefined, need: (content: T) => void) {
    this.#pruning = pruning;
    this.#need = need;
  }

  /** From event `seq` on the record has this content (`undefined`: none). Seqs never fall. */
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

  /** The history is at its end. */
  finish(): void {
    this.#reachFloor();
  }

  /** What is in force at the floor is needed. */
  #reachFloor(): void {
    for (const { content } of this.#inForce.values()) this.#need(content);
    this.#inForce.clear();
  }
}
