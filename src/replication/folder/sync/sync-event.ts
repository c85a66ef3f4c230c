import type { RejectedEntry } from "../../../core/records/write-back.ts";

/** Something that happened to one sync. */
export type SyncEvent =
  /** It is another state, or further. */
  | { readonly kind: "state" }
  | { readonly kind: "applied"; readonly from: number; readonly to: number; readonly paths: number }
  | { readonly kind: "pushed"; readonly accepted: number; readonly rejected: number; readonly refused?: number }
  | { readonly kind: "conflict"; readonly path: string; readonly state: "open" | "settled" }
  | { readonly kind: "halted"; readonly reason: string; readonly hint?: string }
  | { readonly kind: "degraded"; readonly reason: string };

/** What an origin has overtaken is looked at again; what it refuses for what it is stays as it is here. */
const OVERTAKEN: ReadonlySet<string> = new Set(["stale", "causal-lie"]);

/** What became of changes that were written back. */
export function pushed(accepted: number, rejected: readonly RejectedEntry[]): SyncEvent {
  const refused = rejected.filter(({ reason }) => !OVERTAKEN.has(reason)).length;
  return { kind: "pushed", accepted, rejected: rejected.length, ...(refused === 0 ? {} : { refused }) };
}
