import { checkLine, parseLine, sealEvents } from "../../core/log/chain.ts";
import { asCommit, CommitFollower } from "../../core/log/commit-mark.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { EMPTY_HEAD, type EventDraft, type Head, type LogEvent } from "../../core/values/event.ts";
import { decodeSentinel, headBefore, sentinelId } from "../../core/records/sentinel.ts";
import type { IndexHead } from "../../storage/index-store.ts";
import type { LogEnd, LogPosition, RawLine } from "../../storage/event-log.ts";
import type { HistoryContext, KeptHead, Context } from "./context.ts";
import { knownDamage, laterCommitEnd, damageAmid } from "./chain-fault.ts";
import { DAMAGED_LOG, damagedAt, NOT_OPENED, NOTHING_READABLE } from "./damaged-log.ts";
import { indexedFrom, oldestSeq, refuseOtherHistory } from "./history-start.ts";
import { logHolds, logHoldsHead } from "./log-holds.ts";
import { project, projectAnchor, type PlacedEvent } from "./project.ts";
import { provedHead } from "./signing.ts";
import type { RebuildShape } from "../../api/shapes.ts";
import type { ProgressOptions } from "../../api/workspace-api.ts";
import { rootAtHead } from "./tree.ts";

/** The minimum number of events that are added to the index at a time, while more events follow. */
const BATCH = 20_000;
/**
 * The maximum number of attempts at catching up. An attempt is repeated if another process changed the log or the index
 * during the attempt.
 */
const MAX_ATTEMPTS = 20;

export interface CatchUp {
  readonly head: IndexHead;
  readonly damage: ChronicleError | undefined;
}

/**
 * With `recover`, a torn tail is cut off, and the caller must hold the lock. `locked` is true if the caller holds the
 * lock. The default of `locked` is the value of `recover`.
 */
interface CatchUpOptions {
  readonly recover: boolean;
  readonly locked?: boolean;
}

/** A bad line, or the first line of a commit without an end. */
interface BadTail {
  /** The position of the first line after the last whole commit. */
  readonly from: LogPosition;
  /** The position of the bad line; `undefined` if all lines are sound, and the last commit has no end. */
  readonly bad?: LogPosition;
  readonly lineNumber: number;
  readonly detail: string;
  /** True if the line is sound, but belongs to another workspace. */
  readonly foreign?: boolean;
}

/**
 * Brings the index up to date: adds the events of the log that the index does not have yet. Adds only whole commits.
 *
 * With `recover`, moves a torn tail (the incomplete commit that a crash left) to quarantine, from the first line of
 * that commit on. An event records the cut.
 *
 * Only the last commit can be torn, because a commit begins only after the one before it is durable. A bad line is
 * therefore damage if the end of a later commit follows. A bad line is also damage if its event was acknowledged: the
 * index has the event, or the kept head is at or after the event. With `recover`, damage is thrown. Without `recover`,
 * damage is returned.
 */
export async function catchUp(context: HistoryContext, options: CatchUpOptions): Promise<CatchUp> {
  for (let attempt = 1; ; attempt += 1) {
    context.index.fresh();
    const known = await context.index.head();
    const last = attempt === MAX_ATTEMPTS;
    try {
      const found = await lookAndReplay(context, options);
      // Without the lock, other processes may append to the log and add to the index during an attempt. An event that
      // seems to be lost may therefore have been appended after this attempt read the log. If the log has grown, the
      // attempt is repeated.
      if (found.damage === undefined || last || !(await hasGrown(context))) return found;
    } catch (error) {
      if (last || !(await wasOvertaken(context, known, error))) throw error;
    }
  }
}

async function hasGrown({ log }: HistoryContext): Promise<boolean> {
  const { bytes } = log.head;
  return (await log.refresh()).bytes !== bytes;
}

/** True if another process has added events to the index during this attempt to catch up. */
async function wasOvertaken(context: HistoryContext, { seq }: Head, error: unknown): Promise<boolean> {
  if (!(error instanceof ChronicleError) || error.code !== "INTEGRITY_VIOLATION") return false;
  context.index.fresh();
  return (await context.index.head()).seq > seq;
}

async function lookAndReplay(context: HistoryContext, options: { readonly recover: boolean }): Promise<CatchUp> {
  const end = await context.log.refresh();
  const known = await indexedSoFar(context);
  const oldest = await oldestSeq(context.log);
  const lost = known.seq === 0 ? undefined : await lostSince(context, known, { end, oldest });
  if (lost !== undefined) return stop(known.seq <= end.seq ? known : { ...known, ...headOf(end) }, lost, options);
  const isElsewhere = known.seq > 0 && (await beginsElsewhere(context, oldest));
  if (isElsewhere) await startAnew(context, options);
  const before = isElsewhere ? await indexedSoFar(context) : known;
  const settled = before.seq === end.seq && before.hash === end.hash && end.tornBytes === 0;
  // Another process may have written lines and died before it synced them. These lines must be durable before the index
  // has their events.
  if (!settled) await context.log.sync();
  const bad = settled ? undefined : await replay(context, before);
  const head = settled ? before : await context.index.head();
  const damage = await judge(context, { head, bad, indexed: known.seq, oldest });
  if (damage !== undefined) return stop(head, damage, options);
  if (options.recover && (bad !== undefined || end.tornBytes > 0)) {
    const position = { seq: head.seq + 1, offset: head.offset };
    const cut = await cutTail(context, position, bad?.detail ?? `${end.tornBytes} bytes without an end of line`);
    return { head: cut, damage: undefined };
  }
  return { head, damage: undefined };
}

/** Returns the head of the index. First fills an empty index with the anchor of the history, if there is one. */
async function indexedSoFar({ index, blobs, anchor }: HistoryContext): Promise<IndexHead> {
  const head = await index.head();
  return head.seq > 0 || anchor === undefined ? head : projectAnchor({ index, blobs }, anchor);
}

function stop(head: IndexHead, damage: ChronicleError, options: { readonly recover: boolean }): CatchUp {
  if (options.recover) throw damage;
  return { head, damage };
}

/**
 * Returns an error if the log no longer has the last event of the index. Later lines do not matter, even if they do not
 * continue the chain.
 */
async function lostSince(
  context: HistoryContext,
  known: IndexHead,
  { end, oldest }: { readonly end: LogEnd; readonly oldest: number },
): Promise<ChronicleError | undefined> {
  if (known.seq === end.seq && known.hash === end.hash && known.offset === end.bytes) return undefined;
  const holds = await holdsNow(context, known, { head: end, oldest, look: logHolds });
  if (holds === true) return undefined;
  if (known.seq > end.seq) return shorter(end, known.seq);
  return holds === false ? replaced(known.seq) : garbled(known.seq);
}

async function lostOfIndex(context: HistoryContext): Promise<ChronicleError | undefined> {
  context.index.fresh();
  const end = await context.log.refresh();
  const known = await context.index.head();
  return known.seq === 0 ? undefined : lostSince(context, known, { end, oldest: await oldestSeq(context.log) });
}

/**
 * True if the index is the only proof that the last event of the index was recorded. False for a replica's copy,
 * because the origin sends lost events again.
 */
async function isShownByIndexOnly(context: HistoryContext): Promise<boolean> {
  const { seq } = await context.index.head();
  return context.isCopy !== true && (context.heads.last(context.workspaceId)?.seq ?? 0) < seq;
}

function headOf({ seq, hash }: Head): Head {
  return { seq, hash };
}

/**
 * Returns whether the history that ends at `head` has the event `event`; `undefined` if the line of the event is
 * damaged. For an event before the oldest line, only the sentinel can tell (`agreesWithSentinel`).
 */
async function holdsNow(
  context: HistoryContext,
  event: Head,
  { head, oldest, look }: { readonly head: Head; readonly oldest: number; readonly look: typeof logHolds },
): Promise<boolean | undefined> {
  if (event.seq < oldest) return agreesWithSentinel(context, event, oldest);
  return event.seq <= head.seq && look(context, event);
}

/**
 * Returns false if the sentinel contradicts an event before the sentinel. The sentinel is the event with which a
 * compacted log begins, and `oldest` is its seq. The sentinel names only the event right before itself, so it cannot
 * contradict any other event.
 */
async function agreesWithSentinel(context: HistoryContext, { seq, hash }: Head, oldest: number): Promise<boolean> {
  if (seq !== oldest - 1) return true;
  for await (const [first] of context.log.read({ seq: oldest, offset: 0 })) {
    if (first !== undefined) return first.bytes.includes(`"prev_hash":"${hash}"`);
  }
  return false;
}

/**
 * True if the index and the log begin at different events, because the archive was dropped or put back. In that case,
 * the index must be filled anew, so that it equals a rebuilt index.
 */
async function beginsElsewhere(context: HistoryContext, oldest: number): Promise<boolean> {
  if (oldest === 1 && context.log.firstSeq === 1) return false;
  return (await indexedFrom(context)) !== oldest;
}

/**
 * Empties the index, so that it can be filled anew. If the caller does not hold the lock, this function takes the lock,
 * and also fills the index before it releases the lock. The next holder of the lock relies on a filled index.
 */
async function startAnew(context: HistoryContext, { recover, locked = recover }: CatchUpOptions): Promise<void> {
  if (locked) return context.index.reset();
  using _held = await context.lock.exclusive(context.waitMs);
  // This catch-up empties and fills the index, unless another process has already done so.
  await catchUp(context, { recover: false, locked: true });
}

/** Takes the lock, discards the index and fills it again (see `refill`). */
export async function rebuildFromLog(context: HistoryContext): Promise<CatchUp> {
  using _held = await context.lock.exclusive(context.waitMs);
  return await refill(context);
}

/**
 * Discards the index and fills it again. The caller holds the lock. Throws, and keeps the index, if only the index
 * shows that the log has lost events.
 */
export async function refill(context: HistoryContext): Promise<CatchUp> {
  const lost = await unlessIndexIsWrong(() => lostOfIndex(context));
  if (lost !== undefined && (await isShownByIndexOnly(context))) throw lost;
  await context.index.reset();
  return catchUp(context, { recover: false, locked: true });
}

/**
 * Adds the events after `from` to the index. Callers that only read need not hold the lock. If another process has
 * already added some of these events, continues after them.
 */
async function replay(context: HistoryContext, from: IndexHead): Promise<BadTail | undefined> {
  for (let start = from; ;) {
    try {
      return await replayFrom(context, start);
    } catch (error) {
      const now = await context.index.head();
      const isRace = error instanceof ChronicleError && error.code === "INTEGRITY_VIOLATION" && now.seq > start.seq;
      if (!isRace) throw error;
      start = now;
    }
  }
}

async function replayFrom(context: HistoryContext, start: IndexHead): Promise<BadTail | undefined> {
  const replayed = new Replay(context, start);
  for await (const lines of context.log.read({ seq: start.seq + 1, offset: start.offset })) {
    for (const line of lines) {
      const bad = replayed.take(line);
      if (bad === undefined) continue;
      await replayed.bringIn();
      return bad;
    }
    if (replayed.isLarge) await replayed.bringIn();
  }
  await replayed.bringIn();
  return replayed.unended();
}

/** Reads lines, and projects whole commits into the index. */
class Replay {
  readonly #context: HistoryContext;
  readonly #start: IndexHead;
  #prev: Head | undefined;
  #commits: CommitFollower | undefined;
  #whole: PlacedEvent[] = [];
  #open: PlacedEvent[] = [];
  #openLine = 0;

  constructor(context: HistoryContext, start: IndexHead) {
    this.#context = context;
    this.#start = start;
    this.#prev = start.seq === 0 ? undefined : { seq: start.seq, hash: start.hash };
  }

  get isLarge(): boolean {
    return this.#whole.length >= BATCH;
  }

  take(line: RawLine): BadTail | undefined {
    const { workspaceId, isCopy } = this.#context;
    this.#prev ??= headBeforeFirst(line, workspaceId);
    const checked = checkLine(line.bytes, this.#prev);
    if ("fault" in checked) return this.#bad(line, checked.fault.detail);
    const { event } = checked;
    if (this.#start.seq === 0 && this.#commits === undefined) refuseOtherHistory(event);
    if (isForeign(event, workspaceId)) {
      return { ...this.#bad(line, `it begins the history of ${event.recordId}`), foreign: true };
    }
    this.#commits ??= new CommitFollower(this.#prev.seq, isCopy);
    const mark = this.#commits.take(event);
    // In a replica's copy, a wrong end of a commit is ignored here. `verify` reports such an end.
    if (typeof mark === "string" && isCopy !== true) return this.#bad(line, mark);
    if (this.#open.length === 0) this.#openLine = line.lineNumber;
    this.#open.push({ event, offset: line.offset, length: line.bytes.length });
    this.#prev = event;
    if (mark !== undefined || isCopy === true) {
      for (const one of this.#open) this.#whole.push(one);
      this.#open = [];
    }
    return undefined;
  }

  async bringIn(): Promise<void> {
    const placed = this.#whole;
    this.#whole = [];
    if (placed.length > 0) await project(this.#context, placed);
  }

  unended(): BadTail | undefined {
    const [first] = this.#open;
    if (first === undefined) return undefined;
    const { seq } = first.event;
    const from = { seq, offset: first.offset };
    return { from, lineNumber: this.#openLine, detail: `the commit that begins at event ${seq} has no end` };
  }

  #bad(line: RawLine, detail: string): BadTail {
    const seq = (this.#prev?.seq ?? this.#start.seq) + 1;
    const bad = { seq, offset: line.offset };
    const [first] = this.#open;
    const from = first === undefined ? bad : { seq: first.event.seq, offset: first.offset };
    return { from, bad, lineNumber: line.lineNumber, detail };
  }
}

/** Returns the head that the first line of a history continues: the empty head, or the head that a sentinel names. */
function headBeforeFirst(line: RawLine, workspaceId: string): Head {
  try {
    const event = parseLine(line.bytes);
    if (event.op !== "compact" || event.recordId !== sentinelId(workspaceId)) return EMPTY_HEAD;
    decodeSentinel(event);
    return headBefore(event);
  } catch (error) {
    // This function reports no fault of the line, because `checkLine` reports it.
    if (error instanceof ChronicleError) return EMPTY_HEAD;
    throw error;
  }
}

function isForeign({ seq, recordId }: LogEvent, workspaceId: string): boolean {
  return seq === 1 && recordId !== `workspace:${workspaceId}`;
}

interface Findings {
  readonly head: IndexHead;
  readonly bad: BadTail | undefined;
  readonly indexed: number;
  readonly oldest: number;
}

/**
 * Returns the damage that the log itself shows, or that a comparison with the index and the kept head shows;
 * `undefined` if there is no damage.
 */
async function judge(
  context: HistoryContext,
  { head, bad, indexed, oldest }: Findings,
): Promise<ChronicleError | undefined> {
  const last = context.heads.last(context.workspaceId);
  const fit = await fitOf(context, last, { head, oldest });
  const known = bad === undefined ? await knownDamage(context, oldest) : undefined;
  if (known !== undefined) return known;
  // If the kept head agrees with the history, its signature need not be verified.
  if (bad === undefined && head.seq >= indexed && fit === true) return undefined;
  const kept = last === undefined ? undefined : await provedHead(context);
  const bound = Math.max(indexed, kept?.seq ?? 0);
  if (bad?.bad !== undefined && (await isDamage(context, bad, bad.bad))) return damagedTail(bad);
  if (head.seq < bound) return bad?.bad === undefined ? rolledBack(head.seq, bound, kept) : damagedTail(bad);
  if (kept === undefined || fit === true) return undefined;
  if (fit === "behind") return beginsLater(kept.seq, oldest);
  return fit === false ? replaced(kept.seq) : garbled(kept.seq);
}

/**
 * Returns whether the history has the event of the kept head; `undefined` if the line of that event is damaged. Returns
 * `behind` if events are missing between that event and the first line of the log.
 */
async function fitOf(
  context: HistoryContext,
  last: KeptHead | undefined,
  { head, oldest }: Pick<Findings, "head" | "oldest">,
): Promise<boolean | "behind" | undefined> {
  if (last === undefined || last.seq === 0) return true;
  // Before a compaction drops lines, it keeps the head as of the last of these lines. If events are missing between the
  // kept head and the first line, the log was therefore replaced, or an older head was put back.
  if (context.isCopy !== true && last.seq < oldest - 1) return "behind";
  return holdsNow(context, last, { head, oldest, look: logHoldsHead });
}

/**
 * True if the log itself shows that a bad line is damage, and not the result of a crash. In a replica's copy, the end
 * of a later commit after the bad line is no sign of damage, because many commits are appended at a time. The origin
 * sends the lines of a copy again.
 */
async function isDamage(context: HistoryContext, { from, foreign }: BadTail, bad: LogPosition): Promise<boolean> {
  if (foreign === true || isSealed(context, bad)) return true;
  return context.isCopy !== true && (await laterCommitEnd(context.log, bad, from.seq)) !== undefined;
}

/**
 * True for a line of the archive, and for the first line of the log unless the history begins with that line. Such a
 * line was durable before the next line was written, so a crash cannot have left it incomplete.
 */
export function isSealed(
  { log, anchor }: Pick<HistoryContext, "log" | "anchor">,
  { seq, offset }: LogPosition,
): boolean {
  const first = (anchor?.seq ?? 0) + 1;
  return seq < log.firstSeq || (seq > first && offset === 0);
}

function damagedTail({ from, bad = from, lineNumber, detail }: BadTail): ChronicleError {
  if (bad.seq === 1) return damagedAt(bad, lineNumber, detail, NOT_OPENED);
  return damagedAt(bad, lineNumber, detail, from.seq === 1 ? NOTHING_READABLE : DAMAGED_LOG);
}

function garbled(seq: number): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `the log is damaged: event ${seq} is not what was recorded`, {
    hint: DAMAGED_LOG,
    data: { seq },
  });
}

/**
 * Returns the error for an index with events after the last line of the log. Either the log was cut, or its last lines
 * are damaged.
 */
function shorter(end: LogEnd, bound: number): ChronicleError {
  if (end.tornBytes === 0) return rolledBack(end.seq, bound);
  return new ChronicleError(
    "LOG_DAMAGED",
    `the log is damaged after event ${end.seq}: the ${end.tornBytes} bytes after it are not events`,
    {
      hint: DAMAGED_LOG,
      data: { seq: end.seq + 1, bound },
    },
  );
}

function rolledBack(seq: number, bound: number, kept?: KeptHead): ChronicleError {
  const before = `event ${bound} was recorded before${kept?.seq === bound ? ", as the signed head says" : ""}`;
  return new ChronicleError(
    "ROLLBACK_DETECTED",
    `the log ends at event ${seq}, but ${before}: the log was cut, or the store was put back from an older copy`,
    { hint: seq === 0 ? NOTHING_LEFT : CONTRADICTED, data: { seq, bound } },
  );
}

function replaced(seq: number): ChronicleError {
  return new ChronicleError(
    "ROLLBACK_DETECTED",
    `event ${seq} is not the one that was recorded: the log was replaced`,
    { hint: CONTRADICTED, data: { seq } },
  );
}

function beginsLater(seq: number, oldest: number): ChronicleError {
  return new ChronicleError(
    "ROLLBACK_DETECTED",
    `the log begins with event ${oldest}, but the signed head names event ${seq}: the log was replaced, or an older head was put back`,
    { hint: CONTRADICTED, data: { seq } },
  );
}

const NOTHING_LEFT =
  "nothing is recorded until the log is put back from a copy; if there is no copy, give the history up with `chronicle forget`";

const CONTRADICTED =
  "nothing is recorded until the right log is put back from a copy (see `chronicle verify`); if there is no copy, a person " +
  "can accept the history as it is with `chronicle head --accept`";

async function cutTail(context: HistoryContext, position: LogPosition, detail: string): Promise<IndexHead> {
  const name = await context.log.quarantine(position);
  const part = await context.log.quarantined(name);
  const head = await context.index.head();
  const draft: EventDraft = {
    op: "upsert",
    recordId: `recovery:${context.newId()}`,
    record: {
      cut_from_seq: position.seq,
      cut_from_byte: position.offset,
      reason: detail.toWellFormed(),
      kept_as: name,
      ...(part === undefined ? {} : { bytes: part.bytes, sha256: part.hash }),
    },
  };
  // In an empty log, the cut is not recorded, because a history begins with the record of its workspace.
  if (head.seq === 0) return head;
  const commit = asCommit([draft], context.workspaceId, { first: head.seq + 1 });
  const sealed = sealEvents({ seq: head.seq, hash: head.hash }, commit, new Date(context.now()).toISOString());
  await context.log.append(sealed);
  const placed = sealed.map((event) => ({ event, offset: head.offset, length: Buffer.byteLength(event.line) }));
  return project(context, placed);
}

/**
 * Discards the index and rebuilds it from the log and the blobs. Throws if the log is damaged. Keeps the index if a
 * later commit follows the damaged line, or if the log has lost the last event of the index.
 */
export async function rebuildIndex(context: Context, options: ProgressOptions = {}): Promise<RebuildShape> {
  const began = performance.now();
  using _held = await context.lock.exclusive(context.waitMs);
  const amid = await unlessIndexIsWrong(() => damageAmid(context));
  // A rebuilt index would lack the events after the damaged line.
  if (amid !== undefined) throw amid;
  // A rebuilt index could not show that the log had more events, and the kept head may be gone as well.
  const lost = await unlessIndexIsWrong(() => lostOfIndex(context));
  if (lost !== undefined) throw lost;
  await context.index.reset();
  options.onProgress?.({ phase: "rebuild", done: 0, total: 0, unit: "events" });
  const { head, damage } = await catchUp(context, { recover: false, locked: true });
  if (damage !== undefined) throw damage;
  await rootAtHead(context, head.seq);
  let entries = 0;
  for await (const rows of context.index.entriesAt(head.seq)) entries += rows.length;
  options.onProgress?.({ phase: "rebuild", done: head.seq, total: head.seq, unit: "events" });
  return { events: head.seq, entries, seconds: Math.round(performance.now() - began) / 1_000 };
}

/**
 * Returns the result of `work`; `undefined` if the index is damaged. A damaged index proves nothing about lost events.
 */
async function unlessIndexIsWrong<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "INTEGRITY_VIOLATION") return undefined;
    throw error;
  }
}
