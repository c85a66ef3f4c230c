import { type SeqSpan, spansBehind, spansBetween } from "../../core/values/clock-jumps.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { parseMoment, type Moment } from "../../core/values/moment.ts";
import { spokenToUtc, UTC } from "../../core/values/spoken-time.ts";
import { isShownBeginning, meantBy } from "../../core/values/meant-by.ts";
import type { EventRow } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { historyStart, type HistoryStart } from "../log/history-start.ts";
import { refusePruned } from "../facts/pruning.ts";
import { firstFill } from "../facts/brought-paths.ts";
import { everyTurn, type KnownTurn, theTurn, turnsMeant } from "../facts/turns.ts";
import { listSnapshots, type Snapshot } from "./snapshot.ts";

/** A moment of the history: the state after event `seq`. */
export interface ResolvedMoment {
  /** The name of the moment for people, such as `snapshot 3` or `seq:12`. */
  readonly label: string;
  readonly seq: number;
  /** The seq that was asked for, if it lies inside a commit. In that case, `seq` is the end of that commit. */
  readonly asked?: number;
  /** The snapshot that the moment names. If it names none, this is the last snapshot at or before the moment. */
  readonly snapshot: Snapshot | undefined;
  /** True if the moment stands for the state on disk, and not for a recorded state. In that case, `seq` is the head. */
  readonly now: boolean;
}

/**
 * Resolves the text of a moment. Throws `USAGE` for an invalid text, `NOT_FOUND` if the text names no moment,
 * `AMBIGUOUS` if it names several, and `PRUNED` if the state was pruned or compacted away.
 *
 * `isEnd`: true if the moment is an end of a range of events. A seq inside a commit is then not moved to the end of the
 * commit, because a commit may have events of several people.
 */
export async function resolveMoment(
  context: Context,
  text: string,
  { isEnd = false }: { readonly isEnd?: boolean } = {},
): Promise<ResolvedMoment> {
  const moment = parseMoment(text);
  const snapshots = await listSnapshots(context);
  const start = await historyStart(context);
  const base = await resolveBase(context, moment, { text, snapshots, start, isEnd });
  const resolved = moment.back === 0 ? base : goBack(base, moment.back, { text, snapshots, start, isEnd });
  if (!resolved.now) await refusePruned(context, resolved.label, await keptState(context, resolved));
  return resolved;
}

/**
 * Returns the seq under which a pruning may have kept the state of a moment. If the moment was moved to the end of its
 * commit, and no file changes between the asked seq and that end, this is the asked seq. Otherwise, this is the seq of
 * the moment.
 *
 * A pruning can keep a seq inside a commit, because it keeps the state before the first event of an action. The same
 * commit may have changes of a capture before this event.
 */
async function keptState(context: Context, { seq, asked }: ResolvedMoment): Promise<number> {
  if (asked === undefined) return seq;
  return (await context.index.touched(asked, seq)).length === 0 ? asked : seq;
}

interface Asked {
  readonly text: string;
  readonly snapshots: readonly Snapshot[];
  readonly start: HistoryStart | undefined;
  /** See `resolveMoment`. */
  readonly isEnd: boolean;
}

function compactedAway(what: string, by: number): never {
  throw new ChronicleError("PRUNED", `${what} was compacted away by event ${by}`, {
    hint: `the history begins at seq:${by}, which is the earliest state that can be restored`,
    data: { seq: by },
  });
}

function missing(what: string, hint: string, data: Readonly<Record<string, unknown>> = {}): never {
  throw new ChronicleError("NOT_FOUND", what, { hint, data });
}

const TIMES = "a time is given as `10m`, `1 hour ago`, `9:00`, `yesterday 9:00`, `monday` or `2026-01-31T09:30`";

/** The maximum number of milliseconds by which a time may lie in the future and still counts as the present. */
const SKEW_MS = 1_000;

const LOOK = "`chronicle list --snapshots` shows the moments that have a number or a name";

/** The hint for `HEAD`, which is the last commit in git. */
const HEAD = "the last snapshot is `latest`, the one before is `latest~1`, and `now` is the present state";

/**
 * Returns the word of a moment if the word is the beginning of a recorded id, but also parses as a number or a length
 * of time. Returns `undefined` for any other moment. Such words occur: one in forty of the shortened ids that lists
 * show consists of digits only.
 */
async function idInstead(context: Context, { base }: Moment, { text }: Asked): Promise<string | undefined> {
  const word = text.trim().replace(/~.*$/, "");
  if (base.kind !== "number" && base.kind !== "ago") return undefined;
  if (!isShownBeginning(word)) return undefined;
  return (await idsMeant(context, word)).length === 0 ? undefined : word;
}

async function resolveBase(context: Context, moment: Moment, asked: Asked): Promise<ResolvedMoment> {
  const { base } = moment;
  const word = await idInstead(context, moment, asked);
  if (word !== undefined) return ofWord(context, word, asked);
  const head = await context.index.head();
  switch (base.kind) {
    case "now":
      return { label: "now", seq: head.seq, snapshot: asked.snapshots.at(-1), now: true };
    case "number":
      return ofSnapshot(
        asked.snapshots.find((one) => one.number === base.n) ?? missing(`there is no snapshot ${base.n}`, LOOK),
      );
    case "baseline":
      return ofSnapshot(asked.snapshots[0] ?? missing("there is no baseline yet", "run `chronicle init`"));
    case "latest":
      return ofLatest(context, asked);
    case "seq":
      return atEndOfCommit(context, atSeq(`seq:${base.seq}`, base.seq, { ...asked, head: head.seq }), asked);
    case "ago":
      return atTime(context, context.now() - base.ms, asked);
    case "time":
      return atTime(context, base.ms, asked);
    case "spoken":
      return atTime(context, spokenToUtc(base.spoken, UTC, context.now()), asked);
    case "word":
      return ofWord(context, base.text, asked);
  }
}

function ofSnapshot(snapshot: Snapshot): ResolvedMoment {
  const label = `snapshot ${snapshot.number}`;
  if (snapshot.compactedBy !== undefined) return compactedAway(label, snapshot.compactedBy);
  return { label, seq: snapshot.stateSeq, snapshot, now: false };
}

/**
 * Returns the last snapshot. If a replica's folder was first filled from its origin after that snapshot, returns the
 * state after the first filling, because no earlier state has the origin's files.
 */
async function ofLatest(context: Context, { snapshots, start }: Asked): Promise<ResolvedMoment> {
  const last = snapshots.at(-1) ?? missing("there is no snapshot yet", "run `chronicle init`");
  const filled = await firstFill(context);
  if (filled === undefined || filled < last.seq || filled < (start?.seq ?? 0)) return ofSnapshot(last);
  return {
    label: `seq:${filled} (the first state that came from the origin)`,
    seq: filled,
    snapshot: last,
    now: false,
  };
}

/** Returns the last snapshot at or before event `seq`. */
function before(snapshots: readonly Snapshot[], seq: number): Snapshot | undefined {
  return snapshots.findLast((one) => one.seq <= seq);
}

/**
 * Moves a moment inside a commit to the end of that commit, because a state inside a commit may have only a part of a
 * change. A copy of an origin's history may end inside a commit. In this last commit, a moment is not moved.
 */
async function atEndOfCommit(
  context: Context,
  moment: ResolvedMoment,
  { snapshots, isEnd }: Asked,
): Promise<ResolvedMoment> {
  const { seq, label } = moment;
  if (isEnd) return moment;
  const commit = await context.index.commitFrom(seq);
  if (commit === undefined || commit.first > seq || commit.last === seq) return moment;
  const end = commit.last;
  context.tell?.(`${label} is inside a commit, so the state at the end of the commit is used: seq:${end}`);
  return {
    ...moment,
    label: `seq:${end} (the end of the commit that ${label} is in)`,
    seq: end,
    snapshot: before(snapshots, end),
    asked: seq,
  };
}

function atSeq(
  label: string,
  seq: number,
  { head, snapshots, start }: Omit<Asked, "text" | "isEnd"> & { readonly head: number },
): ResolvedMoment {
  const first = snapshots[0];
  // A compaction changes no file. The state right before the compaction is therefore the state of its base.
  if (start?.firstLine === seq + 1 && seq < start.seq) return atSeq(label, start.seq, { head, snapshots, start });
  if (start !== undefined && seq < start.seq) return compactedAway(`the state at ${label}`, start.seq);
  if (start === undefined && (first === undefined || seq < first.seq)) {
    return missing(`there is no state at ${label}: the history begins at seq:${first?.seq ?? 0}`, LOOK);
  }
  if (seq > head)
    return missing(`there is no event ${seq}: the log ends at ${head}`, "`chronicle status` shows the head");
  return { label, seq, snapshot: before(snapshots, seq), now: false };
}

async function atTime(context: Context, ms: number, asked: Asked): Promise<ResolvedMoment> {
  const limit = new Date(ms).toISOString();
  if (ms > context.now() + SKEW_MS) context.tell?.(`${limit} lies in the future, so the last recorded state is used`);
  const head = await context.index.head();
  const { start } = asked;
  const last = await lastAtOrBefore(context, limit, { from: start?.firstLine ?? 1, to: head.seq });
  if (start !== undefined) {
    if (last === undefined && limit < start.ts) return compactedAway(`the state at ${limit}`, start.seq);
    return atSeq(limit, last ?? start.seq, { ...asked, head: head.seq });
  }
  const first = asked.snapshots[0];
  if (first === undefined) return missing(`nothing was recorded yet at ${limit}`, LOOK);
  if (last === undefined || last < first.seq) return atBeginning(context, limit, first);
  return atSeq(limit, last, { ...asked, head: head.seq });
}

/** Returns the earliest state of the history. Used for a time before the history begins. */
function atBeginning(context: Context, limit: string, first: Snapshot): ResolvedMoment {
  const { number, ts } = first;
  context.tell?.(
    `nothing was recorded yet at ${limit}: the history begins at ${ts}, so its first snapshot (${number}) is used`,
  );
  return { ...ofSnapshot(first), label: `snapshot ${number} (the history begins at ${ts})` };
}

/**
 * Returns the seq of the last event among those events of a span that were recorded at or before a time (`limit`).
 *
 * The span is divided into parts at each jump of the clock, and later parts are searched first. If the clock ran ahead
 * and was set back, the events after the jump therefore decide. If the clock was behind during a part, all events of
 * this part count as recorded at the time of the event right before this part. In any other part, times do not
 * decrease, so a binary search finds the event.
 */
async function lastAtOrBefore({ index }: Context, limit: string, span: SeqSpan): Promise<number | undefined> {
  const tsOf = async (seq: number): Promise<string | undefined> => (await index.locate(seq))?.ts;
  const jumps = await index.clockJumps();
  const behind = await spansBehind(jumps, span, async (within, ts) => {
    const last = await lastWhere(within, async (seq) => ((await tsOf(seq)) ?? "") < ts);
    const seq = last === undefined ? within.from : last + 1;
    const found = seq > within.to ? undefined : await tsOf(seq);
    return found === undefined
      ? undefined
      : { seq, ts: found, before: seq > span.from ? await tsOf(seq - 1) : undefined };
  });
  for (const { from, to, ts } of spansBetween(jumps, span, behind)) {
    if (ts !== undefined && ts <= limit) return to;
    if (ts !== undefined) continue;
    const last = await lastWhere({ from, to }, async (seq) => ((await tsOf(seq)) ?? "~") <= limit);
    if (last !== undefined) return last;
  }
  return undefined;
}

/**
 * Returns the last seq of the span for which `holds` is true; `undefined` if there is none. Uses a binary search, so if
 * `holds` is false for a seq, it must be false for all later seqs of the span.
 */
async function lastWhere({ from, to }: SeqSpan, holds: (seq: number) => Promise<boolean>): Promise<number | undefined> {
  if (from > to || !(await holds(from))) return undefined;
  let [low, high] = [from, to];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (await holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

const ID_KINDS = ["snapshot:", "session:", "intent:", "action:", "transaction:"] as const;

/**
 * Returns the records of snapshots and of work whose id is the word. If there are none, returns the records whose ids
 * begin with the word.
 */
async function idsMeant({ index }: Context, word: string): Promise<readonly EventRow[]> {
  const all: { readonly id: string; readonly row: EventRow }[] = [];
  for (const kind of ID_KINDS) {
    for (const row of await index.records(kind + word)) all.push({ id: row.recordId.slice(kind.length), row });
  }
  return meantBy(all, word, ({ id }) => id).map(({ row }) => row);
}

async function ofWord(context: Context, word: string, { snapshots, start, text }: Asked): Promise<ResolvedMoment> {
  const named = snapshots.find((one) => one.name === word);
  if (named !== undefined) return ofSnapshot(named);
  const found = await idsMeant(context, word);
  const isWhole = found.some(({ recordId }) => recordId.slice(recordId.indexOf(":") + 1) === word);
  const turns = isWhole ? [] : await everyTurn(context);
  // The whole id of a turn comes before other ids that only begin with this text.
  if (turns.some(({ turn }) => turn === word)) return beforeTurn(theTurn(turns, word), { snapshots, start });
  if (found.length > 1) {
    throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(text)} stands for ${found.length} ids`, {
      hint: `give more of the id: ${found
        .slice(0, 4)
        .map(({ recordId }) => recordId.split(":")[1])
        .join(", ")}`,
    });
  }
  const only = found[0];
  if (only === undefined) {
    if (turnsMeant(turns, word).length > 0) return beforeTurn(theTurn(turns, word), { snapshots, start });
    const hint = /^head\b/i.test(word) ? HEAD : LOOK;
    return missing(`there is no snapshot, session or operation ${JSON.stringify(text)}`, `${hint}; ${TIMES}`);
  }
  const snapshot = snapshots.find((one) => only.recordId === `snapshot:${one.id}`);
  if (snapshot !== undefined) return ofSnapshot(snapshot);
  // The moment of an operation or a session is the state right before its first event.
  const [first] = await context.index.recordHistory(only.recordId);
  const seq = (first?.seq ?? 1) - 1;
  if (start !== undefined && seq < start.seq) return atSeq(`before ${word}`, seq, { head: seq, snapshots, start });
  return { label: `before ${word}`, seq, snapshot: before(snapshots, seq), now: false };
}

/** Returns the state right before a turn of an agent. */
function beforeTurn(
  { turn, before: seq }: KnownTurn,
  { snapshots, start }: Pick<Asked, "snapshots" | "start">,
): ResolvedMoment {
  const label = `before turn ${turn}`;
  if (start !== undefined && seq < start.seq) return atSeq(label, seq, { head: seq, snapshots, start });
  return { label, seq, snapshot: before(snapshots, seq), now: false };
}

/** Returns the snapshot that lies `back` snapshots before the moment. */
function goBack(base: ResolvedMoment, back: number, { text, snapshots }: Asked): ResolvedMoment {
  const from = base.snapshot;
  const at = from === undefined ? -1 : snapshots.indexOf(from);
  // If the moment lies between two snapshots, `~1` means the earlier one.
  const exact = from !== undefined && from.stateSeq === base.seq && !base.now;
  const target = snapshots[at - back + (exact ? 0 : 1)];
  if (at < 0 || target === undefined) {
    return missing(`there are fewer than ${back} snapshots before ${text.replace(/~.*$/, "")}`, LOOK);
  }
  return ofSnapshot(target);
}
