import type { Hash } from "./hash.ts";

/** How long a history that was forgotten is kept, in milliseconds. */
export const GRACE_MS = 24 * 3_600_000;

/** What is noted of a history that was forgotten, apart from the store. */
export interface Tombstone {
  readonly id: string;
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
