import type { RejectedEntry } from "../../../core/records/write-back.ts";

/** An event of one sync. */
export type SyncEvent =
  /** Its state has changed, or it has advanced. */
  | { readonly kind: "state" }
  | { readonly kind: "applied"; readonly from: number; readonly to: number; readonly paths: number }
  | { readonly kind: "pushed"; readonly accepted: number; readonly rejected: number; readonly refused?: number }
  | { readonly kind: "conflict"; readonly path: string; readonly state: "open" | "settled" }
  | { readonly kind: "halted"; readonly reason: string; readonly hint?: string }
  | { readonly kind: "degraded"; readonly reason: string };

/**
 * The reasons of changes that the origin has overtaken, which are compared again. Changes refused for what they are
 * stay here.
 */
const OVERTAKEN: ReadonlySet<string> = new Set(["stale", "causal-lie"]);

/** Returns the event for the answers to changes that were written back. */
export function pushed(accepted: number, rejected: readonly RejectedEntry[]): SyncEvent {
  const refused = rejected.filter(({ reason }) => !OVERTAKEN.has(reason)).length;
  return { kind: "pushed", accepted, rejected: rejected.length, ...(refused === 0 ? {} : { refused }) };
}
