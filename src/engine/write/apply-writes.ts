import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import type { Context } from "../log/context.ts";
import { memoKey } from "../log/memo.ts";
import type { ReadyWrite } from "./ready-write.ts";
import type { Change } from "../../core/values/entry.ts";
import type { EventDraft, Head } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import { errnoOf } from "../../core/values/errors.ts";
import type { IntentRecord } from "../../core/records/records.ts";
import type { ApplyReport, ContentReader } from "../../worktree/worktree.ts";
import { addAll } from "../../util/long-lists.ts";
import type { Commit } from "../commit/commit.ts";
import { closing, fileDraft, fileDrafts, opening } from "../commit/operation-drafts.ts";
import { asMade, MOST_INLINE, todoOf } from "../capture/operate.ts";
import { inRounds, reportOn, roundToken, sharesApply } from "../capture/write-rounds.ts";
import { refused } from "../capture/refused.ts";
import { stayingFolders, targetOf, writeShape } from "./write-answer.ts";
import type { PlannedWrite, TargetOutcome } from "./write-batch.ts";
import type { PathState } from "./write-state.ts";

interface Opened {
  readonly planned: PlannedWrite;
  readonly intent: IntentRecord;
}

interface Applied extends Opened {
  readonly report: ApplyReport;
}

interface Planned {
  readonly planned: readonly PlannedWrite[];
  /** Resolves once the contents of the writes are durable. */
  readonly kept: Promise<void>;
}

/**
 * Applies planned writes, which must touch different paths. Records the intents, changes the files, and closes the
 * intents. After a crash in between, `settle` finishes the open intents. No intent is recorded before `kept` resolves,
 * because only then are the contents durable.
 *
 * A single write with few changes is applied in fewer steps (`applyAlone`). Writes that change only one file each are
 * applied together (`applyTogether`), after all other writes, because the other writes may make folders for the files.
 */
export async function applyWrites(
  context: Context,
  commit: Commit,
  { planned, kept }: Planned,
): Promise<Map<PlannedWrite, TargetOutcome>> {
  const [only] = planned;
  const isShort = only !== undefined && only.changes.length > 0 && only.changes.length <= MOST_INLINE;
  if (isShort && planned.length === 1) return applyAlone(context, commit, { planned: only, kept });
  const rounds = inRounds(planned.filter(({ changes }) => sharesApply(changes))).filter(({ length }) => length > 1);
  const together = new Set(rounds.flat());
  const others = planned.filter((one) => !together.has(one));
  const applied: Applied[] = [];
  if (others.length > 0) {
    await kept;
    for (const one of await open(context, commit, others)) applied.push({ ...one, report: await apply(context, one) });
  }
  for (const round of rounds) addAll(applied, await applyTogether(context, commit, { planned: round, kept }));
  // The intents are closed in the order of the writes, because the write that was closed last is the first to be
  // undone.
  const places = new Map(planned.map((one, i) => [one, i]));
  applied.sort((a, b) => (places.get(a.planned) ?? 0) - (places.get(b.planned) ?? 0));
  const outcomes = await close(context, commit, applied);
  for (const { id } of others) await context.worktree.cleanUp(id);
  return outcomes;
}

const lastRound = memoKey<string>("token of the last round of writes");

/**
 * Waits until the files that the last round of writes replaced are removed. The removal runs in the background, because
 * freeing the space of a file can take longer than writing a new file. If the disk prevents the removal, this is only
 * reported. A later sweep then removes the files.
 */
async function cleanUpRound({ memo, worktree, tell }: Context): Promise<void> {
  const token = memo.get(lastRound);
  if (token === undefined) return;
  memo.delete(lastRound);
  try {
    await worktree.cleanUp(token);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    tell?.(
      `files that writes have replaced could not be removed (${errnoOf(error) ?? ""}): a later sweep removes them`,
    );
  }
}

/**
 * Applies several writes together, each of which changes only one file. The writes share a staging folder and its
 * `fsync` calls. One append records all intents while the new files are synced to disk. A write that cannot be done
 * does not prevent the other writes.
 */
async function applyTogether(context: Context, commit: Commit, { planned, kept }: Planned): Promise<Applied[]> {
  await cleanUpRound(context);
  const { seq } = await commit.head();
  const opened = planned.map((one) => ({
    planned: one,
    intent: openIntent(one, { fromSeq: seq, todo: { changes: one.changes } }),
  }));
  let isOpen = false;
  const begin = async (): Promise<void> => {
    await kept;
    isOpen = true;
    await commit.begin(opened.map(({ planned: { id }, intent }) => opening(id, intent)));
  };
  const token = roundToken(planned.map(({ id }) => id));
  const whole = await context.worktree.apply({
    token,
    changes: planned.flatMap(({ changes }) => changes),
    contents: (hashes) => contentsOf(context, planned, hashes),
    onBlocked: "skip",
    begin,
    emptiesLater: true,
  });
  context.memo.set(lastRound, token);
  // If the disk lacks space, `apply` returns without calling `begin`.
  if (!isOpen) await begin();
  if (whole.applied.length > 0) {
    return opened.map((one) => ({ ...one, report: reportOn(whole, new Set(one.planned.changes.map(pathOf))) }));
  }
  // The round applied nothing, so each write is applied by itself. The round's staging folder is emptied first, because
  // `settle` would treat leftovers in this folder as files of the round.
  await cleanUpRound(context);
  const applied: Applied[] = [];
  for (const one of opened) applied.push({ ...one, report: await apply(context, one) });
  return applied;
}

function pathOf({ path }: Change): Change["path"] {
  return path;
}

/**
 * Applies a write that is alone in its commit. While new files are staged, one append records the open intent together
 * with the new states of the files. This append decides the write: other copies can receive the write even before the
 * files of this folder change. After a crash, `settle` finishes a decided write. A write that was not decided has
 * changed nothing. If a path of a decided write cannot be changed, for instance because somebody has just edited it, a
 * further event inverts the recorded change of this path.
 */
async function applyAlone(
  context: Context,
  commit: Commit,
  { planned, kept }: { readonly planned: PlannedWrite; readonly kept: Promise<void> },
): Promise<Map<PlannedWrite, TargetOutcome>> {
  const { id, write, changes, drafts } = planned;
  const intent = openIntent(planned, { fromSeq: (await commit.head()).seq, todo: { changes } });
  await announceContent(context, write);
  let isDecided = false;
  const report = await context.worktree.apply({
    token: id,
    changes,
    contents: (hashes) => contentsOf(context, [planned], hashes),
    onBlocked: "fail",
    begin: async () => {
      await kept;
      isDecided = true;
      // The drafts are the open intent, the events of the files, and the closed intent. The first draft is made anew
      // here, and the last is left out, because the intent is closed later (`ending`).
      await commit.decide([opening(id, intent), ...drafts.slice(1, -1)]);
    },
  });
  // The folders in `inherited` have taken over the setgid bit of the folder above. Their recorded states lack this bit.
  // The next scan looks at forgotten paths again, and records the bit.
  context.worktree.forget((report.inherited ?? []).map(({ path }) => path));
  const applied = { planned, intent, report };
  if (isDecided) await commit.append(await ending(context, commit, applied));
  await context.worktree.cleanUp(id);
  return new Map([[planned, await outcomeOf(context, applied, (await commit.head()).seq)]]);
}

/** Returns the events that end a decided write. They invert the changes that were not made, and close the intent. */
async function ending(context: Context, commit: Commit, { planned, intent, report }: Applied): Promise<EventDraft[]> {
  const { id, changes } = planned;
  const applied = new Set(report.applied);
  const undone = changes.filter(({ path }) => !applied.has(path));
  const state = applied.size === 0 ? "abandoned" : "done";
  const head = undone.length === 0 ? undefined : await commit.head();
  return [
    ...(head === undefined ? [] : await inverted(context, head, { of: { id, intent }, undone: undone.toReversed() })),
    closing(id, { ...intent, state }, report),
  ];
}

/**
 * Returns events that invert the changes. The caller gives the changes in reverse order, so that the contents of a
 * folder come before the folder.
 */
async function inverted(
  { index }: Context,
  { seq }: Head,
  { of, undone }: { readonly of: Pick<Opened, "intent"> & { readonly id: string }; readonly undone: readonly Change[] },
): Promise<EventDraft[]> {
  const rows = await index.iterationsAt(
    undone.map(({ path }) => path),
    seq,
  );
  return undone.flatMap(({ path, before, after }, i) => {
    const back = changeBetween(path, after, before);
    return back === undefined ? [] : [fileDraft(of, back, (rows[i]?.iteration ?? 0) + 1)];
  });
}

/**
 * Yields readers for the contents. A content that is part of a write is read from memory, all others from the store.
 */
async function* contentsOf(
  context: Context,
  planned: readonly PlannedWrite[],
  hashes: Iterable<Hash>,
): AsyncGenerator<readonly [Hash, ContentReader | undefined]> {
  const own = new Map<Hash, Uint8Array>();
  for (const { write } of planned)
    if (write.kind === "put" && write.content.bytes !== undefined) own.set(write.content.hash, write.content.bytes);
  const others: Hash[] = [];
  for (const hash of hashes) {
    const bytes = own.get(hash);
    if (bytes === undefined) others.push(hash);
    else yield [hash, readerOf(bytes)];
  }
  if (others.length > 0) yield* context.blobs.readMany(others);
}

function readerOf(bytes: Uint8Array): ContentReader {
  return {
    size: bytes.length,
    async *pieces() {
      yield bytes;
    },
  };
}

function openIntent(
  { write, intent }: PlannedWrite,
  { fromSeq, todo }: { readonly fromSeq: number; readonly todo: Pick<IntentRecord, "changes" | "plan"> },
): IntentRecord {
  const contents = write.kind === "put" ? { contents: [write.content.hash] } : {};
  return { ...intent, state: "open", fromSeq, ...contents, ...todo };
}

/** Records the open intents of the writes that change something. Returns all writes, each with its intent. */
async function open(context: Context, commit: Commit, planned: readonly PlannedWrite[]): Promise<Opened[]> {
  const { seq } = await commit.head();
  const opened: Opened[] = [];
  for (const one of planned) {
    const todo = one.changes.length === 0 ? {} : await todoOf(context, one.changes);
    opened.push({ planned: one, intent: openIntent(one, { fromSeq: seq, todo }) });
  }
  const drafts = opened.flatMap(({ planned: { id, changes }, intent }): EventDraft[] =>
    changes.length === 0 ? [] : [opening(id, intent)],
  );
  await commit.append(drafts);
  return opened;
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

/** True if the write changed nothing because its paths were blocked. */
function isRefused({ report }: Applied): boolean {
  return report.applied.length === 0 && report.blocked.length > 0;
}

/** Records the changes that were made, and closes the intents, with one append. Returns the outcomes. */
async function close(
  context: Context,
  commit: Commit,
  applied: readonly Applied[],
): Promise<Map<PlannedWrite, TargetOutcome>> {
  const drafts: EventDraft[] = [];
  /** Maps each write to the number of events up to its last one. */
  const ends = new Map<Applied, number>();
  for (const one of applied) {
    const { planned, intent, report } = one;
    const own = isRefused(one)
      ? [closing(planned.id, { ...intent, state: "abandoned" }, report)]
      : [...(await madeDrafts(context, one)), closing(planned.id, { ...intent, state: "done" }, report)];
    addAll(drafts, own);
    ends.set(one, drafts.length);
  }
  // `Commit.head` is not called before this append. It would add the open intents to the index in a transaction of
  // their own, and the next Merkle root would then need their lines, which would be read from the log again.
  const [first] = await commit.append(drafts);
  const before = (first?.seq ?? 1) - 1;
  const outcomes = new Map<PlannedWrite, TargetOutcome>();
  for (const [one, count] of ends) {
    const end = before + count;
    outcomes.set(one.planned, await outcomeOf(context, one, end, nowOf(one, end)));
  }
  return outcomes;
}

/** Returns the events of the changes that a write has made. */
async function madeDrafts(context: Context, one: Applied): Promise<readonly EventDraft[]> {
  const { planned, intent, report } = one;
  const { id, changes, drafts } = planned;
  if (isAsPlanned(one)) return drafts.slice(1, -1);
  return fileDrafts(context, { id, intent, changes: asMade(changes, report), applied: report.applied });
}

/**
 * True if the only change of a write was made exactly as it was planned. Its planned event is then the right one: since
 * the write was planned, the lock was held, and no other write of the commit changes the same path.
 */
function isAsPlanned({ planned: { write, changes }, report }: Applied): boolean {
  const [only] = changes;
  if (only === undefined || changes.length > 1 || only.path !== targetOf(write)) return false;
  return report.applied.length === 1 && (report.inherited ?? []).length === 0;
}

/** `known`: the state that the write has left. Default: the state that the index has after `seq`. */
async function outcomeOf(context: Context, one: Applied, seq: number, known?: PathState): Promise<TargetOutcome> {
  const { planned, report } = one;
  if (isRefused(one)) {
    const overtaken = report.blocked.some(({ reason }) => reason === "changed" || reason === "no-folder");
    return { error: refused(report.blocked), ...(overtaken ? { overtaken } : {}) };
  }
  const { write, id } = planned;
  const now = known ?? (await context.index.iterationAt(targetOf(write), seq)) ?? planned.done.now;
  const applied = new Set(report.applied);
  const changes = planned.changes.filter((change) => applied.has(change.path));
  const { conflicts } = report;
  const staying = report.blocked.length === 0 ? [] : await stayingFolders(context, write, seq);
  const done = { seq, now, changes, id: changes.length === 0 ? undefined : id, conflicts, staying };
  return { answer: writeShape(write, done) };
}

/**
 * Returns the state that a write has left, if its only change was made as planned. `end`: the seq of the event that
 * closes the intent, right after the event of the change. Returns `undefined` for any other write.
 */
function nowOf(one: Applied, end: number): PathState | undefined {
  return isAsPlanned(one) ? { ...one.planned.done.now, seq: end - 1 } : undefined;
}

/**
 * The size limit, in bytes, for announced contents. A content of this size or more is not announced, because sending
 * the content would take longer than making it durable.
 */
const MOST_BYTES = 4_096;

/**
 * Announces a small content that is about to be recorded, so that replicas can make the content durable at the same
 * time. Resolves after one turn of the event loop, which leaves time to send the content.
 */
export async function announceContent({ foreseen }: Context, write: ReadyWrite): Promise<void> {
  if (write.kind !== "put" || write.content.bytes === undefined) return;
  const { hash, bytes } = write.content;
  if (bytes.length >= MOST_BYTES) return;
  foreseen.emit({ path: write.path, hash, bytes });
  await yieldToEventLoop();
}
