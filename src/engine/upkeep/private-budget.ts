import { encodePrune, pruneRecordId, type GivenUpPrivates } from "../../core/records/prune-record.ts";
import { keepsState } from "../../core/tree/kept-states.ts";
import { withCommit, type Commit } from "../commit/commit.ts";
import { type PrivateItem, type PrivateUse, privateBound, privateUse } from "../facts/private-use.ts";
import { pruningInForce } from "../facts/pruning.ts";
import type { Context } from "../log/context.ts";
import { privateRoom, takeBudgetAsked } from "../log/private-room.ts";
import { signingFault } from "../log/signing.ts";
import { applyLimit, pendingBytes } from "./prune.ts";

/**
 * Gives up the oldest private contents if a change has recorded private contents, and all of them now exceed the budget
 * (`max_private_bytes`). Those of work that is going on stay. The event of a pruning says what was given up, and `gc`
 * frees it. See `applyLimit` for the lease and the errors.
 *
 * If the process is killed before the event is recorded, the next change that records private contents does it.
 */
export async function keepToBudget(context: Context): Promise<void> {
  if (!takeBudgetAsked(context) || privateRoom(context) === Number.POSITIVE_INFINITY) return;
  await applyLimit(context, () => giveUpBeyondBudget(context));
}

/** Returns false if nothing was given up. */
async function giveUpBeyondBudget(context: Context): Promise<boolean> {
  const room = privateRoom(context);
  const bound = await privateBound(context);
  if (bound !== undefined && bound <= room) {
    await noteBound(context, bound);
    return false;
  }
  const found = await privateUse(context);
  await noteBound(context, found.bytes);
  if (found.bytes <= room) return false;
  // An open operation needs what it puts back. An unsigned history proves nothing, so nothing of it is given up.
  if ((await context.index.openRecords("intent:")).length > 0) return false;
  if ((await signingFault(context)) !== undefined) return false;
  return withCommit(context, async (commit) => {
    const isSame = (await commit.head()).seq === found.seq;
    const use = isSame ? found : await privateUse(context);
    const gone = excessOf(use, room);
    if (gone.length === 0) return false;
    await append(context, commit, { use, gone });
    return true;
  });
}

async function noteBound({ index }: Context, bytes: number): Promise<void> {
  await index.notePrivateBound({ seq: (await index.head()).seq, bytes });
}

/**
 * Returns the oldest items, so many that the rest fits into the budget. Further small items go as well, as long as nine
 * tenths of the budget stay used. If the rest only just fitted, every new item would cause a pruning.
 */
function excessOf({ bytes, items }: PrivateUse, room: number): readonly PrivateItem[] {
  const wanted = room - Math.floor(room / 10);
  const gone: PrivateItem[] = [];
  let left = bytes;
  for (const one of left > room ? items : []) {
    if (one.isOpen) continue;
    if (left <= room && left - one.bytes < wanted) break;
    left -= one.bytes;
    gone.push(one);
  }
  return gone;
}

interface GivingUp {
  readonly use: PrivateUse;
  readonly gone: readonly PrivateItem[];
}

/** Appends the event of a pruning that gives up no state, only private contents. The lock must be held. */
async function append(context: Context, commit: Commit, { use, gone }: GivingUp): Promise<void> {
  const before = await pruningInForce(context);
  const bytes = Math.round(gone.reduce((sum, one) => sum + one.bytes, 0));
  const record = encodePrune({
    floorSeq: before?.floorSeq ?? 0,
    kept: before?.kept ?? [],
    keptActions: before?.keptActions ?? [],
    actions: 0,
    snapshots: 0,
    cause: "limits",
    pendingBytes: (await pendingBytes(context)) + bytes,
    privates: givenUpNow({ use, gone }, before?.privates, bytes),
    actor: context.caller.actor,
  });
  await commit.append([{ op: "upsert", recordId: pruneRecordId(context.workspaceId), record }]);
  await noteBound(context, Math.max(0, use.bytes - bytes));
}

function givenUpNow({ use, gone }: GivingUp, before: GivenUpPrivates | undefined, bytes: number): GivenUpPrivates {
  const all = new Set(gone);
  const floorSeq = Math.max(before?.floorSeq ?? 0, (gone.at(-1)?.seq ?? 0) + 1);
  const isKept = (one: PrivateItem): boolean => !all.has(one) && one.seq < floorSeq;
  const kept = use.items.filter(isKept).map(({ seq }) => seq);
  return {
    floorSeq,
    kept: before === undefined ? kept : kept.filter((seq) => keepsState(before, seq)),
    records: (before?.records ?? 0) + gone.length,
    bytes: (before?.bytes ?? 0) + bytes,
  };
}
