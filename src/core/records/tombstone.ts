import type { Hash } from "../values/hash.ts";

/** The grace period, in milliseconds, for which given-up data is kept. */
export const GRACE_MS = 24 * 3_600_000;

/**
 * Returns true if the grace period that began at `since` is over at `now`. Both times are in milliseconds since the
 * epoch.
 */
export function isGraceOver(since: number, now: number): boolean {
  return since + GRACE_MS <= now;
}

/**
 * A part of a history that a person has given up: the contents of a pruning, or a range of archived events. `event`:
 * the event of the pruning. `first` and `last`: the first and the last event of the range.
 */
export type GivenUpPart =
  | { readonly kind: "pruning"; readonly event: number }
  | { readonly kind: "archive"; readonly first: number; readonly last: number };

/**
 * The note about a forgotten history, or about a given-up part of a history. The note is stored outside of the store.
 */
export interface Tombstone {
  /** The id of the workspace; for a part, the result of `partId`. */
  readonly id: string;
  /** Set if only a part of this workspace's history was given up. */
  readonly part?: GivenUpPart & { readonly workspace: string };
  /** The name of the workspace. Omitted if the workspace had no name. */
  readonly name?: string;
  /** The workspace's first folder; `""` if the workspace had no folder. */
  readonly path: string;
  /** The store's folder. */
  readonly store: string;
  /** The time at which the data was given up. */
  readonly forgotten: string;
  /** The time from which the data may be freed. */
  readonly until: string;
  /** The time at which the data was freed. Omitted if the data has not been freed. */
  readonly freed?: string;
  /** The workspace's last signed head; `null` if no head was kept. */
  readonly head: { readonly seq: number; readonly hash: Hash } | null;
  /** The process that gave up the data, the ancestors of the process, and the actor's name. */
  readonly by: { readonly pid: number; readonly ancestors: readonly number[]; readonly actor: string };
}

/** Returns the id of a given-up part: `<workspace id>.pruning-<event>` or `<workspace id>.archive-<last event>`. */
export function partId(workspace: string, part: GivenUpPart): string {
  return `${workspace}.${part.kind}-${part.kind === "pruning" ? part.event : part.last}`;
}

export function encodeTombstone(stone: Tombstone): string {
  return `${JSON.stringify(stone, null, 2)}\n`;
}

/**
 * Decodes a tombstone. Returns `undefined` if the text is not JSON, or lacks one of `id`, `path`, `store`, `forgotten`
 * and `until`. Does not check the other fields.
 */
export function parseTombstone(text: string): Tombstone | undefined {
  try {
    const value = JSON.parse(text) as Partial<Tombstone> | null;
    const texts = [value?.id, value?.path, value?.store, value?.forgotten, value?.until];
    if (texts.some((one) => typeof one !== "string") || Number.isNaN(Date.parse(value?.until ?? ""))) return undefined;
    return value as Tombstone;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
