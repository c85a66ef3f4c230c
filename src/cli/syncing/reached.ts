import type { SyncApi, SyncShape } from "../../api/sync-api.ts";

/** Longest wait for an answer of the origin, in milliseconds: a running origin answers at once. */
const PATIENCE_MS = 2_000;
/** A refused sync is offline for a moment, until the refusal is recorded; in milliseconds. */
const SETTLING_MS = 300;

/**
 * Waits until it is known whether a sync's origin can be reached, and whether the folder may follow it, or for a moment
 * at most. Returns the last state.
 */
export async function reached(syncs: SyncApi, begun: SyncShape): Promise<SyncShape> {
  const isOpen = ({ state, applied }: SyncShape): boolean =>
    state === "connecting" || state === "offline" || (state === "syncing" && applied === 0);
  if (!isOpen(begun)) return begun;
  const enough = new AbortController();
  let timer = setTimeout(() => enough.abort(), PATIENCE_MS);
  let last = begun;
  try {
    for await (const event of syncs.events(begun.id, enough.signal)) {
      if (event.kind !== "state") continue;
      last = event.sync;
      if (!isOpen(last)) break;
      if (last.state !== "offline") continue;
      clearTimeout(timer);
      timer = setTimeout(() => enough.abort(), SETTLING_MS);
    }
  } finally {
    clearTimeout(timer);
  }
  return last;
}
