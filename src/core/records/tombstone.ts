import type { Hash } from "../values/hash.ts";

/** How long what was given up is kept all the same, in milliseconds. */
export const GRACE_MS = 24 * 3_600_000;

/** May what was given up at `since` be freed? Both in milliseconds since the epoch. A time that is still to come is not over. */
export function isGraceOver(since: number, now: number): boolean {
  return since + GRACE_MS <= now;
}

/** A part of a history that a person has given up: what a pruning lets go, or a span of archived events. */
export type GivenUpPart =
  | { readonly kind: "pruning"; readonly event: number }
  | { readonly kind: "archive"; readonly first: number; readonly last: number };

/** What is noted of a history that was forgotten, or of a part that was given up, apart from the store. */
export interface Tombstone {
  /** That of the workspace; of a part: its own, which begins with that of the workspace. */
  readonly id: string;
  /** Only a part of the history of this workspace was given up. */
  readonly part?: GivenUpPart & { readonly workspace: string };
  readonly name?: string;
  /** Its first folder; empty: it had none. */
  readonly path: string;
  /** The store's folder. */
  readonly store: string;
  readonly forgotten: string;
  /** From then on it may be freed. */
  readonly until: string;
  /** When it was freed; not there: it was not. */
  readonly freed?: string;
  /** Its last signed head; `null`: none was kept. */
  readonly head: { readonly seq: number; readonly hash: Hash } | null;
  /** Who has forgotten it: the process, those around it, and the name under which it acted. */
  readonly by: { readonly pid: number; readonly ancestors: readonly number[]; readonly actor: string };
}

/** The id of the tombstone of a part. */
export function partId(workspace: string, part: GivenUpPart): string {
  return `${workspace}.${part.kind}-${part.kind === "pruning" ? part.event : part.last}`;
}

/** A tombstone as the text of its file. */
export function encodeTombstone(stone: Tombstone): string {
  return `${JSON.stringify(stone, null, 2)}\n`;
}

/** `undefined` for what is no tombstone. */
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
