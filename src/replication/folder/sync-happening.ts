/** Something that happened to one sync. */
export type SyncHappening =
  /** It is another state, or further. */
  | { readonly kind: "state" }
  | { readonly kind: "applied"; readonly from: number; readonly to: number; readonly paths: number }
  | { readonly kind: "pushed"; readonly accepted: number; readonly rejected: number }
  | { readonly kind: "conflict"; readonly path: string; readonly state: "open" | "settled" }
  | { readonly kind: "halted"; readonly reason: string; readonly hint?: string }
  | { readonly kind: "degraded"; readonly reason: string };
