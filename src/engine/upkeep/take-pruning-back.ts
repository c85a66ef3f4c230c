import { ChronicleError } from "../../core/values/errors.ts";
import { keepsAllOf, keptByAny } from "../../core/tree/kept-states.ts";
import { encodePrune, pruneRecordId, type PruneRecord } from "../../core/records/prune-record.ts";
import { isGraceOver } from "../../core/records/tombstone.ts";
import { withCommit, type Commit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { loggedPrunings, privatesInForce } from "../facts/pruning.ts";
import type { LoggedPruning } from "../log/recorded-prunings.ts";
import { refuseUnsigned } from "../log/signing.ts";
import { optional } from "../../util/optional.ts";

type Kept = Pick<PruneRecord, "floorSeq" | "kept" | "keptActions">;

const NOTHING_PRUNED: Kept = { floorSeq: 0, kept: [], keptActions: [] };

/**
 * Brings back the states that the pruning of event `event` and later prunings gave up. Records a new pruning, which
 * keeps the states that were kept before event `event`, and the states that are kept now. Returns the seqs of all
 * prunings that no longer give up a state. Throws `NOT_FOUND` if event `event` is not a pruning, or if a given-up
 * content may have been freed. Throws `REFUSED` if the history is not signed.
 */
export async function takePruningBack(context: Context, event: number): Promise<readonly number[]> {
  // The lease keeps garbage collectors from running. A collector that had read the history before the new event would
  // still free the contents.
  using _lease = await context.blobs.lease();
  return await withCommit(context, async (commit) => {
    await refuseUnsigned(context, "bringing back what was pruned");
    const { all, inBase } = await loggedPrunings(context);
    const at = all.findIndex(({ seq }) => seq === event);
    if (at < inBase || !isKept(all.slice(at), context.now())) throw gone(event);
    const before = (i: number): Kept => all[i - 1] ?? NOTHING_PRUNED;
    const now = before(all.length);
    const wanted = keptByEither(before(at), now);
    // Private contents that were given up stay given up.
    const privates = await privatesInForce(context);
    if (!isSame(wanted, now)) await append(context, commit, { ...wanted, ...optional({ privates }) });
    return all.filter((_, i) => keepsAllOf(wanted, before(i))).map(({ seq }) => seq);
  });
}

async function append(context: Context, commit: Commit, wanted: Kept & Pick<PruneRecord, "privates">): Promise<void> {
  const record = encodePrune({
    ...{ ...wanted, actions: 0, snapshots: 0, pendingBytes: 0 },
    ...{ cause: "brought-back", actor: context.caller.actor },
  });
  await commit.append([{ op: "upsert", recordId: pruneRecordId(context.workspaceId), record }]);
}

function keptByEither(a: Kept, b: Kept): Kept {
  const { floorSeq, kept } = keptByAny([a, b]) ?? NOTHING_PRUNED;
  const ofActions = new Set([...a.keptActions, ...b.keptActions]);
  const keptActions = [...ofActions].filter((state) => state < floorSeq).sort((one, other) => one - other);
  return { floorSeq, kept, keptActions };
}

function isSame(a: Kept, b: Kept): boolean {
  const isSameFloor = a.floorSeq === b.floorSeq;
  return isSameFloor && a.kept.join() === b.kept.join() && a.keptActions.join() === b.keptActions.join();
}

/**
 * True if all contents that these prunings gave up are still stored. Only a pruning that a person asked for has a grace
 * period. During the grace period, contents are freed only by a pruning with `now`.
 */
function isKept(since: readonly LoggedPruning[], now: number): boolean {
  const [first] = since;
  return first?.cause === "asked" && !isGraceOver(first.ts, now) && since.every((one) => one.now !== true);
}

function gone(event: number): ChronicleError {
  return new ChronicleError("NOT_FOUND", `the states that event ${event} gave up cannot be brought back any more`, {
    hint: "their contents are kept for 24 hours, unless --now was given; `chronicle unforget` lists what can be brought back",
    data: { event },
  });
}
