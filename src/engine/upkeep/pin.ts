import { encodeAction } from "../../core/records/action-record.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { EventDraft } from "../../core/values/event.ts";
import { keepsAction } from "../../core/records/prune-record.ts";
import { encodePin, pinRecordId } from "../../core/records/pin-record.ts";
import { isShownBeginning, meantBy } from "../../core/values/meant-by.ts";
import { actionById, findAction } from "../facts/actions.ts";
import { withCommit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { pruningInForce } from "../facts/pruning.ts";
import { listSnapshots, type Snapshot } from "../read/snapshot.ts";

/**
 * Pins a snapshot or an action. If `pinned` is false, unpins the snapshot or action instead. A pinned snapshot or
 * action is not pruned, unless the pruning ignores pins (`keepPinned: false`). Records nothing if the pin is already as
 * requested.
 *
 * `id` stands for the first of these that exists:
 *
 * 1. The action whose complete id is `id`.
 * 2. The snapshot with this number, or with this name, or with an id that is or begins with `id` (in this order).
 * 3. The action that `findAction` finds.
 *
 * Throws `NOT_FOUND` if nothing matches, and `AMBIGUOUS` if several snapshots or actions match. Throws `PRUNED` if the
 * snapshot or action is to be pinned, but its state cannot be restored any more.
 */
export async function pin(context: Context, id: string, pinned = true): Promise<void> {
  // The complete id of an action always means that action. It is never read as the beginning of a snapshot's id.
  const isAction = (await actionById(context, id)) !== undefined;
  const snapshots = isAction ? [] : meantSnapshots(await listSnapshots(context), id);
  const [snapshot, other] = snapshots;
  if (other !== undefined) {
    throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(id)} matches ${snapshots.length} snapshots`, {
      hint: "give more of the id",
    });
  }
  if (snapshot === undefined) return pinAction(context, id, pinned);
  if (pinned && (snapshot.prunedBy ?? snapshot.compactedBy) !== undefined) throw gone(`snapshot ${snapshot.number}`);
  await withCommit(context, async (commit) => {
    if (snapshot.pinned === pinned) return;
    const record = encodePin({ pinned, actor: context.caller.actor });
    await commit.append([{ op: "upsert", recordId: pinRecordId(snapshot.id), record }]);
  });
}

/**
 * Returns the snapshots with this number. If there are none, returns the snapshots with this name. If there are none
 * either, returns the snapshots whose ids are this text or begin with the text. A text that can only be a number (see
 * `isOnlyNumber`) is not compared with names and ids.
 */
function meantSnapshots(all: readonly Snapshot[], text: string): readonly Snapshot[] {
  const numbered = /^\d{1,9}$/.test(text) ? all.filter(({ number }) => number === Number(text)) : [];
  if (numbered.length > 0 || isOnlyNumber(text)) return numbered;
  const called = all.filter(({ name }) => name === text);
  return called.length > 0 ? called : meantBy(all, text, ({ id }) => id);
}

/** True if a text has only digits, but too few to be read as the beginning of an id. */
function isOnlyNumber(text: string): boolean {
  return /^\d+$/.test(text) && !isShownBeginning(text);
}

async function pinAction(context: Context, id: string, pinned: boolean): Promise<void> {
  // A short number is compared only with complete ids of actions, never with the beginnings of ids.
  const asked = isOnlyNumber(id) ? actionById(context, id) : findAction(context, id);
  const found = await asked.catch((error: unknown) => {
    if (!(error instanceof ChronicleError) || error.code !== "NOT_FOUND") throw error;
    return undefined;
  });
  if (found === undefined) {
    throw new ChronicleError("NOT_FOUND", `there is no snapshot and no action ${JSON.stringify(id)}`, {
      hint: "`chronicle list --snapshots` and `chronicle actions` list them",
      data: { action: id },
    });
  }
  if (pinned && !keepsAction(await pruningInForce(context), found.fromSeq))
    throw gone(`the action ${found.id.slice(0, 8)}`);
  await withCommit(context, async (commit) => {
    const action = (await actionById(context, found.id)) ?? found;
    if (action.pinned === pinned) return;
    const draft: EventDraft = {
      op: "upsert",
      recordId: `action:${action.id}`,
      record: encodeAction({ ...action, pinned }),
      recursionDepth: action.recursionDepth,
    };
    await commit.append([draft]);
  });
}

function gone(what: string): ChronicleError {
  return new ChronicleError("PRUNED", `${what} cannot be restored any more: there is nothing left to pin`, {
    hint: "`chronicle actions` and `chronicle list --snapshots` show what is kept",
  });
}
