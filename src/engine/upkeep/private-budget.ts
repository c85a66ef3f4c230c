import { encodePrune, pruneRecordId, type GivenUpPrivates } from "../../core/records/prune-record.ts";
import { keepsState } from "../../core/tree/kept-states.ts";
import { withCommit, type Commit } from "../commit/commit.ts";
import { type PrivateItem, type PrivateUse, privateBound, privateUse } from "../facts/private-use.ts";
import { privatesInForce, pruningInForce } from "../facts/pruning.ts";
import type { Context } from "../log/context.ts";
import { privateRoom, takeBudgetAsked } from "../log/private-room.ts";
import { signingFault } from "../log/signing.ts";
import { applyLimit, isOperationOpen, pendingBytes } from "./prune.ts";

/**
 * Gives up the oldest private contents of the workspace if all its private contents together exceed the budget
 * (`max_private_bytes`). Does nothing unless private contents were recorded, or a pruning was asked for, since the last
 * call. The private contents of open work stay. A pruning event says which private contents were given up. `gc` then
 * frees these contents. See `applyLimit` for the lease and the errors.
 *
 * If the process is killed before the event is recorded, the next change with private contents leads to another call,
 * which gives up the contents.
 */
export async function keepToBudget(context: Context): Promise<void> {
  if (!takeBudgetAsked(context) || privateRoom(context) === Number.POSITIVE_INFINITY) return;
  await applyLimit(context, () => giveUpBeyondBudget(context));
}

/**
 * Gives up the private contents that exceed the budget. Returns false if no contents had to be given up, or if an open
 * operation or an unsigned history prevents the pruning now.
 */
async function giveUpBeyondBudget(context: Context): Promise<boolean> {
  const { index } = context;
  const room = privateRoom(context);
  const bound = await privateBound(context);
  if (bound !== undefined && bound.bytes <= room) {
    await index.notePrivateBound(bound);
    return false;
  }
  const found = await privateUse(context);
  await index.notePrivateBound({ seq: found.seq, bytes: found.bytes });
  if (found.bytes <= room) return false;
  if (await isOperationOpen(context)) return false;
  // An unsigned history proves nothing, so its contents are kept.
  if ((await signingFault(context)) !== undefined) return false;
  return withCommit(context, async (commit) => {
    // Another process may have begun an operation after the first check, before this process got the lock.
    if (await isOperationOpen(context)) return false;
    const isSame = (await commit.head()).seq === found.seq;
    const use = isSame ? found : await privateUse(context);
    const excess = excessOf(use, room);
    if (excess.gone.size === 0) return false;
    await append(context, commit, { use, excess });
    return true;
  });
}

/** The private items to give up, and the number of bytes that `gc` can then free. */
interface Excess {
  readonly gone: ReadonlySet<PrivateItem>;
  readonly bytes: number;
}

/**
 * Returns the items to give up, except items of open work:
 *
 * - Each item that alone exceeds the budget, however new the item is. Such an item does not count when the other items
 *   are compared with the budget.
 * - The oldest of the other items, until the rest fits into the budget. Further items are given up as long as the rest
 *   still fills nine tenths of the budget. Otherwise, the rest would only just fit, and every new item would cause
 *   another pruning.
 */
function excessOf({ sizes, items }: PrivateUse, room: number): Excess {
  const total = ({ contents }: PrivateItem): number => contents.reduce((sum, id) => sum + (sizes[id] ?? 0), 0);
  const isTooBig = (one: PrivateItem): boolean => total(one) > room;
  const others = items.filter((one) => !isTooBig(one));
  const gone = new Set(items.filter((one) => !one.isOpen && isTooBig(one)));
  const names = sizes.map(() => 0);
  for (const one of others) for (const id of one.contents) names[id] = (names[id] ?? 0) + 1;
  const sum = (isMeant: (id: number) => boolean): number =>
    sizes.reduce((bytes, size, id) => (isMeant(id) ? bytes + size : bytes), 0);
  let left = sum((id) => names[id] !== 0);
  const wanted = room - Math.floor(room / 10);
  for (const one of left > room ? others : []) {
    if (one.isOpen) continue;
    const freed = one.contents.reduce((bytes, id) => (names[id] === 1 ? bytes + (sizes[id] ?? 0) : bytes), 0);
    if (left <= room && left - freed < wanted) break;
    for (const id of one.contents) names[id] = (names[id] ?? 0) - 1;
    left -= freed;
    gone.add(one);
  }
  const kept = new Set(items.flatMap((one) => (gone.has(one) ? [] : one.contents)));
  return { gone, bytes: Math.floor(sum((id) => !kept.has(id))) };
}

interface GivingUp {
  readonly use: PrivateUse;
  readonly excess: Excess;
}

/** Appends the event of a pruning that gives up no state, only private contents. The lock must be held. */
async function append(context: Context, commit: Commit, giving: GivingUp): Promise<void> {
  const before = await pruningInForce(context);
  const { use, excess } = giving;
  const record = encodePrune({
    floorSeq: before?.floorSeq ?? 0,
    kept: before?.kept ?? [],
    keptActions: before?.keptActions ?? [],
    actions: 0,
    snapshots: 0,
    cause: "limits",
    pendingBytes: (await pendingBytes(context)) + excess.bytes,
    privates: givenUpNow(giving, await privatesInForce(context)),
    actor: context.caller.actor,
  });
  await commit.append([{ op: "upsert", recordId: pruneRecordId(context.workspaceId), record }]);
  await context.index.notePrivateBound({ seq: use.seq, bytes: Math.max(0, use.bytes - excess.bytes) });
}

function givenUpNow({ use, excess: { gone, bytes } }: GivingUp, before: GivenUpPrivates | undefined): GivenUpPrivates {
  const newest = [...gone].reduce((seq, one) => Math.max(seq, one.seq), 0);
  const floorSeq = Math.max(before?.floorSeq ?? 0, newest + 1);
  const isKept = (one: PrivateItem): boolean => !gone.has(one) && one.seq < floorSeq;
  const kept = use.items.filter(isKept).map(({ seq }) => seq);
  return {
    floorSeq,
    kept: before === undefined ? kept : kept.filter((seq) => keepsState(before, seq)),
    records: (before?.records ?? 0) + gone.size,
    bytes: (before?.bytes ?? 0) + bytes,
  };
}
