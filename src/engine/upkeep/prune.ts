import { decodeBase } from "../../core/log/base.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { KeptStates } from "../../core/tree/kept-states.ts";
import type { Context } from "../log/context.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";
import { HistoryNeeds } from "../log/history-needs.ts";
import { baseOf } from "../log/project.ts";
import { privatesInForce, pruningInForce, loggedPrunings, shownPrunings } from "../facts/pruning.ts";
import type { PruneOptions } from "../../api/action-api.ts";
import type { PruneShape, PruningShape } from "../../api/action-shapes.ts";
import { ChronicleError, withCode } from "../../core/values/errors.ts";
import { encodePrune, pruneRecordId, type PruneCause } from "../../core/records/prune-record.ts";
import { answerPruning, type KeepRules, type PruneAnswer, type RetentionLimits } from "../../core/records/retention.ts";
import { GRACE_MS, partId } from "../../core/records/tombstone.ts";
import { rebuildingOnce } from "../log/answer.ts";
import { withCommit, type Commit } from "../commit/commit.ts";
import { indexedFrom } from "../log/history-start.ts";
import { forgetActions, retentionRoots, mostActions, type RetentionRootsOptions } from "./retention-roots.ts";
import { waitingPrunings } from "../log/recorded-prunings.ts";
import { readRange, readUpTo } from "../log/read-events.ts";
import { refuseAtOnce } from "../capture/operation-queue.ts";
import { refuseUnsigned, signingFault } from "../log/signing.ts";
import { memoKey } from "../log/memo.ts";
import { askForBudget } from "../log/private-room.ts";
import { optional } from "../../util/optional.ts";

const HOUR_MS = 3_600_000;

/**
 * Gives up the states that the rules do not keep, by an event that names the kept states. The lines of the log and the
 * files on disk stay. After the grace period, or at once with `now`, `gc` can free the contents that only given-up
 * states need. A dry run records nothing.
 *
 * Throws `REFUSED` if the history is not signed. With `now`, also throws `REFUSED` if work is open, or if an earlier
 * pruning can still be brought back. Throws `USAGE` for an invalid rule.
 */
export async function prune(context: Context, options: PruneOptions = {}): Promise<PruneShape> {
  const asked = askedFor(context, options);
  const now = options.now === true;
  if (options.dryRun === true) {
    await refuseUnsigned(context, "pruning");
    if (now) await refuseAtOnce(context);
    if (now) await refuseWaiting(context);
    return shapeOf(await lookAt(context, asked), { dryRun: true, event: null }, context);
  }
  askForBudget(context);
  return withCommit(context, async (commit) => {
    await refuseUnsigned(context, "pruning");
    if (now) await refuseAtOnce(context);
    if (now) await refuseWaiting(context);
    const look = await lookAt(context, asked);
    // Contents that the history needs now, and does not need after the event, can be freed. They are counted before the
    // event is written.
    const shape = await shapeOf(look, { dryRun: false, event: null }, context);
    if (look.answer.pruned.length === 0) return shape;
    // The note is written before the event. A crash in between leaves a note without a pruning, which does no harm.
    if (!now) await context.store.noteGivenUp({ kind: "pruning", event: (await commit.head()).seq + 1 });
    const event = await append(context, commit, { look, cause: "asked", now });
    return { ...shape, event, ...wayBackOf(context, now ? null : event) };
  });
}

/**
 * Returns the id with which a pruning can be brought back, and the time until which this is possible. Both are `null`
 * if `event` is `null`.
 */
function wayBackOf({ workspaceId, now }: Context, event: number | null): Pick<PruneShape, "id" | "until"> {
  if (event === null) return { id: null, until: null };
  const until = new Date(now() + GRACE_MS).toISOString();
  return { id: partId(workspaceId, { kind: "pruning", event }), until };
}

/** Returns the prunings that the log records, oldest first. */
export async function listPrunings(context: Context): Promise<PruningShape[]> {
  const { all, inBase } = await shownPrunings(context);
  const waiting = waitingPrunings(all, context.now());
  return all.map((one, i) => ({
    id: partId(context.workspaceId, { kind: "pruning", event: one.seq }),
    event: one.seq,
    at: new Date(one.ts).toISOString(),
    actor: one.actor,
    cause: one.cause,
    floor_seq: one.floorSeq,
    actions: one.actions,
    snapshots: one.snapshots,
    can_be_brought_back: i >= inBase && waiting.includes(one),
    until: one.cause === "asked" && one.now !== true ? new Date(one.ts + GRACE_MS).toISOString() : null,
  }));
}

/**
 * Throws `REFUSED` if an earlier pruning can still be brought back, because a pruning with `now` would also free the
 * contents that the earlier pruning gave up.
 */
async function refuseWaiting(context: Context): Promise<void> {
  const { all, inBase } = await loggedPrunings(context);
  const first = waitingPrunings(all, context.now()).find((one) => all.indexOf(one) >= inBase);
  if (first === undefined) return;
  const { workspaceId: id } = context;
  const until = new Date(first.ts + GRACE_MS).toISOString();
  throw new ChronicleError(
    "REFUSED",
    `a pruning with --now would also free the contents that event ${first.seq} gave up, which are kept until ${until}`,
    {
      hint: `leave out --now; or bring these contents back first (\`chronicle unforget ${partId(id, { kind: "pruning", event: first.seq })}\`), so that this pruning includes them`,
      data: { event: first.seq, until },
    },
  );
}

interface Asked {
  readonly rules: RetentionLimits | KeepRules;
  readonly shields: RetentionRootsOptions;
}

function limitsOf({ retention }: Context): RetentionLimits {
  const { max_snapshots: maxSnapshots, max_age_days: days } = retention.limits;
  return { maxSnapshots, maxAgeMs: days * 24 * HOUR_MS };
}

function askedFor(context: Context, options: PruneOptions): Asked {
  const { keepLast, keepHourly, keepDaily, keepWeekly, keepMonthly, keepYearly, keepWithinMs } = options;
  const given = {
    last: keepLast,
    hourly: keepHourly,
    daily: keepDaily,
    weekly: keepWeekly,
    monthly: keepMonthly,
    yearly: keepYearly,
    withinMs: keepWithinMs,
  };
  const rules: Record<string, number> = {};
  for (const [name, value] of Object.entries(given)) if (value !== undefined) rules[name] = countOf(name, value);
  const dropPins = options.keepPinned === false;
  if (Object.keys(rules).length === 0) return { rules: limitsOf(context), shields: { dropPins } };
  return { rules, shields: { dropPins, dropFirsts: true } };
}

function countOf(name: string, value: number): number {
  if (value >= 0 && Number.isSafeInteger(value)) return value;
  throw new ChronicleError("USAGE", `the rule ${name} is not a whole number from 0 up: ${value}`, {
    hint: "with 0, this rule keeps nothing",
  });
}

interface Look {
  readonly answer: PruneAnswer;
  readonly floorSeq: number;
  /** The number of moments that are kept only because they are young. */
  readonly tooYoung: number;
  readonly seq: number;
  readonly ts: number;
}

async function lookAt(context: Context, { rules, shields }: Asked): Promise<Look> {
  const { moments, states, hold } = await retentionRoots(context, shields);
  const floorSeq = (await pruningInForce(context))?.floorSeq ?? 0;
  const { seq } = await context.index.head();
  const ts = await endOfLog(context, seq);
  const question = { moments, rules, head: { seq, ts }, floorSeq, states, hold };
  const answer = answerPruning({ ...question, minAgeMs: context.retention.limits.min_age_hours * HOUR_MS });
  const tooYoung = answerPruning({ ...question, minAgeMs: 0 }).pruned.length - answer.pruned.length;
  return { answer, floorSeq, tooYoung, seq, ts };
}

async function shapeOf(
  { answer, floorSeq, tooYoung }: Look,
  { dryRun, event }: { readonly dryRun: boolean; readonly event: number | null },
  context: Context,
): Promise<PruneShape> {
  const { pruned, kept } = answer;
  const isAction = ({ kind }: { readonly kind: string }): boolean => kind === "action";
  const after = { floorSeq: answer.floorSeq, kept: answer.states };
  const freed = pruned.length === 0 ? { count: 0, bytes: 0 } : await reclaimableContents(context, after);
  return {
    dry_run: dryRun,
    event,
    id: null,
    until: null,
    floor_seq: pruned.length === 0 ? floorSeq : answer.floorSeq,
    pruned_actions: pruned.filter(isAction).map((one) => one.name),
    pruned_snapshots: pruned.filter((one) => !isAction(one)).map((one) => Number(one.name)),
    kept_actions: kept.filter(isAction).length,
    kept_snapshots: kept.filter((one) => !isAction(one)).length,
    too_young: tooYoung,
    freed_contents: freed.count,
    freed_bytes: freed.bytes,
  };
}

interface ToAppend {
  readonly look: Look;
  readonly cause: PruneCause;
  readonly now?: boolean;
}

/** Appends the event of a pruning, and returns the seq of this event. The lock must be held. */
async function append(
  context: Context,
  commit: Commit,
  { look, cause, now = false }: ToAppend,
): Promise<number | null> {
  const { answer, floorSeq } = look;
  const [event] = await commit.append([
    {
      op: "upsert",
      recordId: pruneRecordId(context.workspaceId),
      record: encodePrune({
        floorSeq: answer.floorSeq,
        kept: answer.states,
        keptActions: answer.actionStates,
        actions: answer.pruned.filter((one) => one.kind === "action").length,
        snapshots: answer.pruned.filter((one) => one.kind === "snapshot").length,
        cause,
        now,
        pendingBytes: (await pendingBytes(context)) + (await bytesBetween(context, floorSeq, answer.floorSeq)),
        ...optional({ privates: await privatesInForce(context) }),
        actor: context.caller.actor,
      }),
    },
  ]);
  return event?.seq ?? null;
}

/**
 * Returns an estimate, in bytes, of the contents that were given up and not freed yet. Returns 0 if the recorded
 * estimate is above the threshold (`freeFrom`), because these contents then count as freed (see `freeGivenUp`).
 */
export async function pendingBytes(context: Context): Promise<number> {
  const pending = (await pruningInForce(context))?.pendingBytes ?? 0;
  return pending > freeFrom(context) ? 0 : pending;
}

/** Returns an upper bound, in bytes, of the contents that are given up when the floor rises from `from` to `to`. */
async function bytesBetween(context: Context, from: number, to: number): Promise<number> {
  let bytes = 0;
  // If an archive was dropped, the floor can lie before the oldest line of the log.
  const begins = (await indexedFrom(context)) ?? 1;
  for await (const { recordId, record } of readRange(context, Math.max(from + 1, begins), to)) {
    if (recordId.startsWith("file") && typeof record["size"] === "number") bytes += record["size"];
  }
  return bytes;
}

/** The smallest value of `freeFrom`, in bytes. */
const FREE_FROM_BYTES = 16 * 1024 * 1024;

/**
 * Returns the threshold, in bytes, above which given-up contents are freed automatically. The threshold grows with the
 * log, because freeing reads the logs of the store.
 */
function freeFrom({ log }: Context): number {
  return Math.max(FREE_FROM_BYTES, log.head.bytes);
}

/**
 * The maximum time, in ms, for which freeing waits for other writers of contents. A longer wait is not worthwhile,
 * because another process or the next pruning can free the contents as well.
 */
const FREE_WAIT_MS = 200;

/**
 * Gives up the states that exceed the limits of the workspace (`retention.limits`). Called after each snapshot of an
 * action. See `applyLimit` for the lease and the errors.
 */
export async function keepToLimits(context: Context): Promise<void> {
  await applyLimit(context, () => giveUpBeyondLimits(context));
}

/**
 * Calls `giveUp`, which returns true if it has given contents up. Then frees the contents if enough bytes have been
 * given up so far (`freeFrom`). The caller must hold no lease. Does nothing, and reports nothing, if another process
 * holds the lock. Reports every other `ChronicleError` to the user once, instead of throwing it, because the change
 * that led to this call has already been made.
 */
export async function applyLimit(context: Context, giveUp: () => Promise<boolean>): Promise<void> {
  try {
    await withCode(async () => {
      if (await rebuildingOnce(context, giveUp)) await freeGivenUp(context);
    });
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    if (error.code === "LOCKED") return;
    const hint = error.hint === undefined ? "" : `; ${error.hint}`;
    tellOnce(context, `the limits for what the history keeps could not be applied: ${error.message}${hint}`);
  }
}

const told = new Set<string>();

function tellOnce({ tell }: Context, note: string): void {
  if (tell === undefined || told.has(note)) return;
  told.add(note);
  tell(note);
}

/**
 * Gives up the states that exceed the limits. Returns false if no state was given up, because no state exceeds the
 * limits, an operation is open, or the history is not signed.
 */
async function giveUpBeyondLimits(context: Context): Promise<boolean> {
  const limits = limitsOf(context);
  if (limits.maxSnapshots === 0 && limits.maxAgeMs === 0) return false;
  if (!(await mayExceed(context, limits))) return false;
  const asked: Asked = { rules: limits, shields: {} };
  const before = await lookAt(context, asked);
  if (before.answer.pruned.length === 0) {
    await noteInVain(context, before);
    return false;
  }
  if (await isOperationOpen(context)) return false;
  // `prune` throws for an unsigned history. This function silently prunes nothing.
  if ((await signingFault(context)) !== undefined) return false;
  const isDone = await withCommit(context, async (commit) => {
    // Another process may have begun an operation after the first check, before this process got the lock.
    if (await isOperationOpen(context)) return false;
    const isSame = (await commit.head()).seq === before.seq;
    const look = isSame ? before : await lookAt(context, asked);
    if (look.answer.pruned.length === 0) return false;
    await append(context, commit, { look, cause: "limits" });
    forgetActions(context, look.answer.pruned);
    return true;
  });
  context.memo.delete(lastInVain);
  return isDone;
}

/** True while an operation is open. No contents are given up then, because the operation may put them back. */
export async function isOperationOpen({ index }: Context): Promise<boolean> {
  return (await index.openRecords("intent:")).length > 0;
}

async function freeGivenUp(context: Context): Promise<void> {
  if (((await pruningInForce(context))?.pendingBytes ?? 0) <= freeFrom(context)) return;
  await context.store.collect({ waitMs: FREE_WAIT_MS });
}

/**
 * The last check that found nothing to prune (the vain check): the time of the last event, and the number of actions at
 * that time.
 */
interface InVain {
  readonly ts: number;
  readonly actions: number;
}

const lastInVain = memoKey<InVain>("last pruning in vain");

async function noteInVain(context: Context, { ts }: Look): Promise<void> {
  context.memo.set(lastInVain, { ts, actions: await mostActions(context) });
}

/**
 * True if a closer check is worthwhile: a state above the floor is old enough to be pruned, and a limit may be
 * exceeded. Within an hour after a vain check, only the limit on the number of actions counts, and only if new actions
 * were added since that check. One new action suffices. If young actions are protected, the new actions must exceed a
 * tenth of the limit.
 */
async function mayExceed(context: Context, { maxSnapshots, maxAgeMs }: RetentionLimits): Promise<boolean> {
  const { index, memo, retention } = context;
  const floorSeq = (await pruningInForce(context))?.floorSeq ?? 0;
  const oldest = await index.locate(floorSeq + 1);
  const ts = await endOfLog(context, (await index.head()).seq);
  const apart = oldest === undefined ? Number.POSITIVE_INFINITY : ts - timeOf(oldest);
  // If the clock was set back, the age is not known, so a closer check is needed.
  const age = apart < 0 ? Number.POSITIVE_INFINITY : apart;
  if (age < retention.limits.min_age_hours * HOUR_MS) return false;
  const seen = memo.get(lastInVain);
  const actions = await mostActions(context);
  const isTooMany = maxSnapshots > 0 && actions > maxSnapshots;
  // If there are fewer actions than at the vain check, some were given up or compacted away, and the check is outdated.
  if (seen !== undefined && actions >= seen.actions && Math.abs(ts - seen.ts) < HOUR_MS) {
    const slack = retention.limits.min_age_hours > 0 ? Math.floor(maxSnapshots / 10) : 0;
    return isTooMany && actions > seen.actions + slack;
  }
  return isTooMany || (maxAgeMs > 0 && age > maxAgeMs);
}

/**
 * Returns the time of event `seq`, but at most the present time. If the clock ran ahead when the event was recorded,
 * the states of the history therefore do not look older than they are.
 */
async function endOfLog({ index, now }: Context, seq: number): Promise<number> {
  return Math.min(timeOf(await index.locate(seq)), now());
}

function timeOf(row: { readonly ts: string } | undefined): number {
  return Date.parse(row?.ts ?? "") || 0;
}

/** Counts the contents that this history needs now and would not need after a pruning. Reads the whole log. */
async function reclaimableContents(
  context: Context,
  after: KeptStates,
): Promise<{ readonly count: number; readonly bytes: number }> {
  const now = new Map<Hash, number>();
  const then = new Set<Hash>();
  const erasures = await erasuresInForce(context);
  const pruning = await pruningInForce(context);
  const needs = [
    new HistoryNeeds({ pruning, erasures }, ({ hash, size }) => now.set(hash, size ?? 0)),
    new HistoryNeeds({ pruning: after, erasures }, ({ hash }) => then.add(hash)),
  ];
  const { seq } = await context.index.head();
  for await (const event of readUpTo(context, seq)) {
    for (const one of needs) one.event(event, "");
    const base = baseOf(event);
    const reader = base === undefined ? undefined : await context.blobs.open(base);
    if (reader === undefined) continue;
    for await (const batch of decodeBase(reader.pieces())) for (const one of needs) one.rows(batch, event, "");
  }
  for (const one of needs) one.finish();
  const lost = [...now].filter(([hash]) => !then.has(hash));
  return { count: lost.length, bytes: lost.reduce((sum, [, size]) => sum + size, 0) };
}
