import type { EventDraft } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { encodePlan } from "../../core/tree/plan.ts";
import type { IntentRecord } from "../../core/records/records.ts";
import type { ApplyReport } from "../../worktree/worktree.ts";
import { addAll } from "../../util/long-lists.ts";
import { applyLoneWrite } from "./apply-lone-write.ts";
import type { Commit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { closing, fileDrafts, opening } from "../commit/operation-drafts.ts";
import { asMade } from "../capture/operate.ts";
import type { ReadyWrite } from "./ready-write.ts";
import { refused } from "../capture/refused.ts";
import { targetOf, writeShape } from "./write-answer.ts";
import type { DiskOutcome, PlannedWrite } from "./write-batch.ts";
import { withBatch } from "../../storage/blob-store.ts";

/** The most changes that the intent itself holds: that saves a plan, and a sync for it. */
const MOST_INLINE = 32;

/** A write with its intent as it stands open in the log. */
interface Opened {
  readonly planned: PlannedWrite;
  readonly intent: IntentRecord;
}

/** A write whose files were changed, or could not be. */
interface Applied extends Opened {
  readonly report: ApplyReport;
}

/**
 * Brings planned writes, which touch different paths, to the disk: all intents with one sync, then the files of each, then
 * one commit that closes them. Killed anywhere in between, `settle` finishes them. One that is alone goes a shorter way.
 * No intent stands in the log before the contents are durable: then `kept` resolves.
 */
export async function applyWrites(
  context: Context,
  commit: Commit,
  { planned, kept }: { readonly planned: readonly PlannedWrite[]; readonly kept: Promise<void> },
): Promise<Map<ReadyWrite, DiskOutcome>> {
  const [only] = planned;
  const isShort = only !== undefined && only.changes.length > 0 && only.changes.length <= MOST_INLINE;
  if (isShort && planned.length === 1) return applyAlone(context, commit, { planned: only, kept });
  await kept;
  const opened = await open(context, commit, planned);
  const applied: Applied[] = [];
  for (const one of opened) applied.push({ ...one, report: await apply(context, one) });
  const outcomes = await close(context, commit, applied);
  for (const { planned: one } of applied) await context.worktree.cleanUp(one.id);
  return outcomes;
}

async function applyAlone(
  context: Context,
  commit: Commit,
  { planned, kept }: { readonly planned: PlannedWrite; readonly kept: Promise<void> },
): Promise<Map<ReadyWrite, DiskOutcome>> {
  const intent = openIntent(planned, { fromSeq: (await commit.head()).seq });
  const report = await applyLoneWrite(context, commit, { planned, intent, kept });
  const { seq } = await commit.head();
  return new Map([[planned.write, await outcomeOf(context, { planned, intent, report }, seq)]]);
}

function openIntent(
  { write, changes, intent }: PlannedWrite,
  { fromSeq, plan }: { readonly fromSeq: number; readonly plan?: Hash | undefined },
): IntentRecord {
  const contents = write.kind === "put" ? { contents: [write.content.hash] } : {};
  const todo = plan !== undefined ? { plan } : changes.length > 0 ? { changes } : {};
  return { ...intent, state: "open", fromSeq, ...contents, ...todo };
}

async function open(context: Context, commit: Commit, planned: readonly PlannedWrite[]): Promise<Opened[]> {
  const { seq } = await commit.head();
  const plans = await keepPlans(context, planned);
  const opened = planned.map((one): Opened => {
    return { planned: one, intent: openIntent(one, { fromSeq: seq, plan: plans.get(one) }) };
  });
  const drafts = opened.flatMap(({ planned: { id, changes }, intent }): EventDraft[] =>
    changes.length === 0 ? [] : [opening(id, intent)],
  );
  await commit.append(drafts);
  return opened;
}

/** The plans of those that change too much to say so in the intent, as blobs, with one sync. */
async function keepPlans(context: Context, planned: readonly PlannedWrite[]): Promise<Map<PlannedWrite, Hash>> {
  const plans = new Map<PlannedWrite, Hash>();
  const long = planned.filter(({ changes }) => changes.length > MOST_INLINE);
  if (long.length === 0) return plans;
  return withBatch(context.blobs, async (batch) => {
    for (const one of long) plans.set(one, await batch.put(encodePlan(one.changes)));
    return plans;
  });
}

async function apply(context: Context, { planned: { id, changes } }: Opened): Promise<ApplyReport> {
  if (changes.length === 0) return { applied: [], blocked: [], conflicts: [] };
  return context.worktree.apply({
    token: id,
    changes,
    contents: (hashes) => context.blobs.readMany(hashes),
    onBlocked: "fail",
  });
}

/** True if nothing was done, because of what is on disk. */
function isRefused({ report }: Applied): boolean {
  return report.applied.length === 0 && report.blocked.length > 0;
}

async function close(
  context: Context,
  commit: Commit,
  applied: readonly Applied[],
): Promise<Map<ReadyWrite, DiskOutcome>> {
  let { seq } = await commit.head();
  const drafts: EventDraft[] = [];
  const ends = new Map<Applied, number>();
  for (const one of applied) {
    const { planned, intent, report } = one;
    const { id, changes } = planned;
    const own = isRefused(one)
      ? [closing(id, { ...intent, state: "abandoned" }, report.blocked)]
      : [
          ...(await fileDrafts(context, { id, intent, changes: asMade(changes, report), applied: report.applied })),
          closing(id, { ...intent, state: "done" }, report.blocked),
        ];
    addAll(drafts, own);
    seq += own.length;
    ends.set(one, seq);
  }
  await commit.append(drafts);
  const outcomes = new Map<ReadyWrite, DiskOutcome>();
  for (const [one, end] of ends) outcomes.set(one.planned.write, await outcomeOf(context, one, end));
  return outcomes;
}

async function outcomeOf(context: Context, one: Applied, seq: number): Promise<DiskOutcome> {
  const { planned, report } = one;
  if (isRefused(one)) {
    const overtaken = report.blocked.some(({ reason }) => reason === "changed" || reason === "no-folder");
    return { error: refused(report.blocked), ...(overtaken ? { overtaken } : {}) };
  }
  const { write, id } = planned;
  const now = (await context.index.iterationAt(targetOf(write), seq)) ?? planned.done.now;
  const applied = new Set(report.applied);
  const changes = planned.changes.filter((change) => applied.has(change.path));
  const { conflicts } = report;
  return { answer: writeShape(write, { seq, now, changes, id: changes.length === 0 ? undefined : id, conflicts }) };
}
