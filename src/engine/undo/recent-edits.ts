import type { RecentItem } from "../../api/recent-api.ts";
import type { Context } from "../log/context.ts";
import type { Snapshot } from "../read/snapshot.ts";
import { type Burst, QUIET_MS } from "./recent-changes.ts";
import { type RecentLine, whoOf } from "./recent-line.ts";
import { isStateGone } from "./recent-state.ts";

/** A moment at which the whole folder was scanned. Changes that are recorded later were made after this moment. */
export interface WholeLook {
  readonly seq: number;
  readonly ts: string;
}

interface Beside {
  readonly after: number;
  /** The moments, in ascending order of their seqs. */
  readonly looks: readonly WholeLook[];
}

/** Returns the line of a burst. `snapshot`: the snapshot that was taken right after the burst. */
export function lineOfBurst(context: Context, burst: Burst, { after, looks }: Beside, snapshot?: Snapshot): RecentLine {
  const { kind, first, last, lastTs, own, actor } = burst;
  const fromSeq = first - 1;
  const look = kind === "edit" ? looks.findLast((one) => one.seq < first) : undefined;
  return {
    kind,
    id: `seq:${fromSeq}`,
    seq: last,
    fromSeq,
    timestamp: lastTs,
    summary: summaryOf(burst),
    actor,
    who: whoOf(actor),
    changed: own.size,
    own,
    isCut: fromSeq <= after && after > 0,
    more: async () => ({
      ...(look === undefined ? {} : { changed_since: look.ts }),
      ...(snapshot === undefined ? {} : { snapshot: snapshot.number }),
      ...(await idBefore(context, first)),
      back: await backTo(context, first),
    }),
  };
}

function summaryOf({ kind, actor, candidates }: Burst): string {
  const count = candidates === "" ? 0 : candidates.split(" ").length;
  if (count > 1) return `edits: any of ${count} pieces of work may have made them`;
  if (actor === "ambiguous") return "edits: it is not known who made them";
  if (kind === "watch") return "edits, seen by a watch";
  return whoOf(actor) === "person" ? "edits outside of recorded work" : `edits that ${actor} reported`;
}

/**
 * Returns the command that restores the state before event `first`; an empty text if that state is no longer kept. No
 * state within a commit can be restored, so the command names the state before the commit of the event.
 */
export async function backTo(context: Context, first: number): Promise<string> {
  const before = await beforeCommit(context, first);
  return (await isStateGone(context, before)) ? "" : `chronicle restore seq:${before}`;
}

/** Returns the id of a burst: the moment right before the commit of its first event. */
async function idBefore(context: Context, first: number): Promise<Pick<RecentItem, "id" | "short_id">> {
  const id = `seq:${await beforeCommit(context, first)}`;
  return { id, short_id: id };
}

async function beforeCommit({ index }: Context, seq: number): Promise<number> {
  const commit = await index.commitFrom(seq);
  return (commit === undefined || commit.first > seq ? seq : commit.first) - 1;
}

/**
 * Returns a map from the id of each snapshot to the burst of edits directly before the snapshot. Leaves out snapshots
 * without such edits.
 */
export function burstsOfSnapshots(
  snapshots: readonly Snapshot[],
  bursts: readonly Burst[],
): ReadonlyMap<string, Burst> {
  const found = new Map<string, Burst>();
  let at = bursts.length - 1;
  for (const [i, snapshot] of [...snapshots.entries()].reverse()) {
    while (at >= 0 && (bursts[at]?.first ?? 0) > snapshot.seq) at -= 1;
    const burst = bursts[at];
    const isNear =
      burst !== undefined &&
      burst.next > snapshot.seq &&
      burst.last > (snapshots[i - 1]?.seq ?? 0) &&
      Math.abs(Date.parse(snapshot.ts) - Date.parse(burst.lastTs)) <= QUIET_MS;
    if (isNear) found.set(snapshot.id, burst);
  }
  return found;
}
