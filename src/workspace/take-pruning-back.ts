import { ChronicleError } from "../core/errors.ts";
import { encodePrune, pruneRecordId } from "../core/prune-record.ts";
import { isGraceOver } from "../core/tombstone.ts";
import { withCommit } from "./commit.ts";
import type { Context } from "./context.ts";
import { givenUpInLog, type LoggedPruning } from "./pruning-in-log.ts";
import { refuseUnsigned } from "./signing.ts";

const NOTHING_PRUNED = { floorSeq: 0, kept: [], keptActions: [] };

/**
 * Brings back what the pruning of this event, and those since, have given up: an event says that what was kept before is kept again.
 * Throws `NOT_FOUND` where its contents may have been freed.
 */
export async function takePruningBack(context: Context, event: number): Promise<void> {
  // Nothing is freed by what was found out before.
  using _lease = await context.blobs.lease();
  await withCommit(context, async (commit) => {
    await refuseUnsigned(context, "bringing back what was pruned");
    const { prunings: all } = await givenUpInLog(context.log, context.workspaceId);
    const at = all.findIndex(({ seq }) => seq === event);
    if (at === -1 || !isKept(all.slice(at), context.now())) throw gone(event);
    const { floorSeq, kept, keptActions } = all[at - 1] ?? NOTHING_PRUNED;
    const record = encodePrune({
      ...{ floorSeq, kept, keptActions, actions: 0, snapshots: 0, pendingBytes: 0 },
      ...{ cause: "brought-back", actor: context.actor },
    });
    await commit.append([{ op: "upsert", recordId: pruneRecordId(context.workspaceId), record }]);
  });
}

/** Is everything there still that was kept before the first of them? */
function isKept(since: readonly LoggedPruning[], now: number): boolean {
  const [first] = since;
  return first?.cause === "asked" && !isGraceOver(first.ts, now) && since.every((one) => one.now !== true);
}

function gone(event: number): ChronicleError {
  return new ChronicleError("NOT_FOUND", `what event ${event} has given up cannot be brought back any more`, {
    hint: "it is kept for 24 hours, unless somebody has said --now; `chronicle unforget` lists what can be brought back",
    data: { event },
  });
}
