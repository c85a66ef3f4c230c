import { sealEvents } from "../core/log/chain.ts";
import { asCommit } from "../core/log/commit-mark.ts";
import type { EventDraft, Head, SealedEvent } from "../core/values/event.ts";

/** Seals drafts as one commit. */
export function sealCommit(head: Head, drafts: readonly EventDraft[], ts: string, historyId = "test"): SealedEvent[] {
  return sealEvents(head, asCommit(drafts, historyId, { first: head.seq + 1 }), ts);
}
