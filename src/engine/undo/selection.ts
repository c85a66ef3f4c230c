import { quoteCommand } from "../../core/shell/quote-command.ts";
import { isRestored } from "../../core/records/omitted-change.ts";
import type { Context } from "../log/context.ts";
import type { Work, Keeper } from "../facts/own-work.ts";
import type { Selection } from "../../api/action-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { cameFromOrigin, type FileRecord } from "../../core/values/file-record.ts";
import { meantBy } from "../../core/values/meant-by.ts";
import { greatestOf, leastOf } from "../../util/long-lists.ts";
import { isOneSelection } from "../../api/selection-fields.ts";
import { changersOfGit, findAction, type LoggedAction } from "../facts/actions.ts";
import { everyTurn, theTurn } from "../facts/turns.ts";
import { doneIntents } from "../log/intents.ts";
import { indexedFrom } from "../log/history-start.ts";
import { allKeepers, keepersWithin } from "../facts/keepers.ts";
import { resolveMoment } from "../read/moments.ts";
import { ownersIn } from "../facts/owners.ts";
import { shownPath } from "../log/shape.ts";
import { listSessions } from "../actions/session.ts";
import { listSnapshots } from "../read/snapshot.ts";
import { actionsEver, allTransactions } from "../facts/transactions.ts";
import { fileNamed } from "./file-named.ts";
import { listOperations } from "./operations.ts";
import { requireActor } from "./known-actors.ts";
import { type WorkElsewhere, workElsewhere } from "./work-elsewhere.ts";

const SELECTORS = ["action", "turn", "session", "actor", "file", "since", "to", "rewind"] as const;

type Selector = (typeof SELECTORS)[number];

/**
 * Returns the given selector; `undefined` if there is none. If a file narrows the work of another selector, returns the
 * other selector. Throws `USAGE` if the selectors cannot be given together (`isOneSelection`), or if one of them is
 * empty.
 */
export function selectorOf(selection: Selection): { readonly by: Selector; readonly value: string } | undefined {
  const given = SELECTORS.flatMap((by) => {
    const value = selection[by];
    return value === undefined ? [] : [{ by, value }];
  });
  const empty = given.find(({ value }) => value === "");
  if (empty !== undefined)
    throw new ChronicleError("USAGE", `the ${empty.by} is empty`, { hint: "give its id or name" });
  const { until } = selection;
  const names = [...given.map(({ by }) => by), ...(until === undefined ? [] : ["until" as const])];
  if (!isOneSelection(names)) {
    throw new ChronicleError("USAGE", `give only one of ${names.join(" and ")}`, {
      hint: "select the work in one way: by action, turn (of a session or actor), session, actor, since or to (both also with until), or rewind, each also with a file",
    });
  }
  if (until !== undefined && selection.since === undefined && selection.to === undefined)
    throw new ChronicleError("USAGE", "a range has no beginning", { hint: "give since or to beside until" });
  return given.find(({ by }) => by === "turn") ?? given.find(({ by }) => by !== "file") ?? given[0];
}

export interface ChosenWork extends Work {
  readonly actions: readonly LoggedAction[];
  /**
   * The ids of the work's brackets. An ambiguous change may belong to the work if one of these ids is among its
   * candidates.
   */
  readonly mayBe: ReadonlySet<string>;
  /** The number of operations in the work. Set only for all work after a moment (`to`). */
  readonly pieces?: number;
}

/**
 * Returns the work that a selection means. Throws `USAGE` for an invalid selection, `NOT_FOUND` or `AMBIGUOUS` if the
 * selection matches nothing or several things, and `PRUNED` if the work was compacted away.
 */
export async function workOf(context: Context, selection: Selection): Promise<ChosenWork> {
  const given = selectorOf(selection);
  if (given === undefined) throw new ChronicleError("USAGE", "no work was selected", { hint: SAY });
  const work = await workBy(context, given, selection);
  return given.by === "file" ? work : narrowed(context, work, selection);
}

/**
 * Returns only the part of the work that changed `file`, or paths beneath it. Returns the work itself if no file is
 * given. Kept-aside files and the state of git belong to no recorded path, so the part has none of them.
 */
export async function narrowed<W extends Work>(
  context: Context,
  work: W,
  { file }: Pick<Selection, "file">,
): Promise<W> {
  if (file === undefined) return work;
  const { path, isMeant } = await fileNamed(context, file);
  const where = ` in ${shownPath(path)}`;
  return {
    ...work,
    label: `${work.label}${where}`,
    ...(work.known === undefined ? {} : { known: `${work.known}${where}` }),
    isOwn: (record, at, seq) => isMeant(at) && work.isOwn(record, at, seq),
    keepers: [],
  };
}

type Given = NonNullable<ReturnType<typeof selectorOf>>;

async function workBy(context: Context, { by, value }: Given, selection: Selection): Promise<ChosenWork> {
  switch (by) {
    case "action":
      return workOfOne(context, await findAction(context, value));
    case "turn":
      return workOfNamedTurn(context, value, selection);
    case "session":
      return workOfSession(context, value);
    case "actor":
      return workOfActor(context, value);
    case "file":
      return workOnFile(context, value);
    case "since":
      return workSince(context, value, selection);
    case "to":
      return workBackTo(context, await stateBefore(context, value, selection), await untilSeq(context, selection));
    case "rewind":
      return workFromTurn(context, value);
  }
}

/** The part of a selection that ends a range. */
type Ended = Pick<Selection, "until">;

/** Returns the seq of the moment at which a range ends; `undefined` if there is no range, or if it ends now. */
export async function untilSeq(context: Context, { until }: Ended): Promise<number | undefined> {
  if (until === undefined) return undefined;
  const { seq, now } = await resolveMoment(context, until, { isEnd: true });
  return now ? undefined : seq;
}

async function workOfOne(context: Context, action: LoggedAction): Promise<ChosenWork> {
  return { ...(await workOfActions(context, [action], ({ id }) => `action ${id}`)), known: action.summary };
}

const SAY = "give one of action, turn, session, actor, file, since, to and rewind";

async function workOfActions(
  context: Context,
  actions: readonly LoggedAction[],
  label: (first: LoggedAction) => string,
): Promise<ChosenWork> {
  const ids = await withInner(
    context,
    actions.map((one) => one.id),
  );
  const [first] = actions;
  if (first === undefined) throw new ChronicleError("NOT_FOUND", "there is no such action", { hint: LIST });
  const fromSeq = leastOf(actions.map((one) => one.fromSeq));
  // An action that did not end may have changes in events after its own last event.
  const isUnfinished = actions.some((one) => one.state === "open" || one.state === "abandoned");
  const toSeq = isUnfinished ? (await context.index.head()).seq : greatestOf(actions.map((one) => one.lastSeq));
  const begins = (await indexedFrom(context)) ?? 1;
  if (fromSeq < begins - 1) throw compactedAway(`what the ${label(first)} changed`, begins);
  const isOwn = ownOnly((record) => isOf(record, ids), await onlyBy(context, ids));
  const keepers = await keepersWithin(context, ids);
  return { label: label(first), fromSeq, toSeq, back: fromSeq, isOwn, actions, keepers, mayBe: ids };
}

/**
 * Returns a function that tells whether an ambiguous change belongs to the work with these ids. The change belongs to
 * the work if all its candidates are among the ids, and at least one candidate is not abandoned. An abandoned action
 * may never have run. If all candidates are abandoned, a person may have made the change.
 */
async function onlyBy(context: Context, ids: ReadonlySet<string>): Promise<(record: FileRecord) => boolean> {
  const abandoned = (await actionsEver(context)).filter(({ state }) => state === "abandoned");
  const mayNotHaveRun = new Set(abandoned.map(({ id }) => id));
  return ({ candidates = [] }) =>
    candidates.every((id) => ids.has(id)) && candidates.some((id) => !mayNotHaveRun.has(id));
}

async function withInner(context: Context, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const owners = await ownersIn(context);
  return owners.inner(ids);
}

function isOf({ session, action }: FileRecord, ids: ReadonlySet<string>): boolean {
  return [session, action].some((id) => id !== undefined && ids.has(id));
}

const LIST = "`chronicle actions` lists them";

/**
 * Returns the error for work that was compacted away. `by` is the event of the compaction. The history now begins at
 * this event.
 */
export function compactedAway(what: string, by: number): ChronicleError {
  return new ChronicleError("PRUNED", `${what} was compacted away by event ${by}`, {
    hint: `the history begins there: \`seq:${by}\` is the earliest state that can be restored`,
    data: { seq: by },
  });
}

/**
 * Returns a function that tells whether an event belongs to some work. The function returns false for the baseline, and
 * for events of operations other than writes, such as restores, undos and redos. For an ambiguous change, the function
 * returns true only if no other work can have made the change (`isOnly`). For all other events, `isOwn` decides.
 */
function ownOnly(
  isOwn: (record: FileRecord) => boolean,
  isOnly: (record: FileRecord) => boolean = () => false,
): Work["isOwn"] {
  return (record) =>
    (record.intent === undefined || record.cause === "write") &&
    record.cause !== "baseline" &&
    (isOnly(record) || (record.actor !== "ambiguous" && isOwn(record)));
}

/** The id of a turn, and the id of its session. A turn id is unique only within its session. */
interface Turn {
  readonly session?: string;
  readonly turn: string;
}

/** The session and the actor to which turns are restricted. The session may be given by the beginning of its id. */
type TurnsOf = Pick<Selection, "session" | "actor">;

async function workOfNamedTurn(context: Context, asked: string, of: TurnsOf): Promise<ChosenWork> {
  const all = await allTurns(context, of);
  const named = asked === "last" ? lastTurn(all) : turnNamed(asked, [...all.actions, ...all.elsewhere]);
  return workIn(context, all, named);
}

/**
 * Returns the work of the last turn with work left (`hasWorkLeft`). Throws `NOT_FOUND` if there is no such turn. Turns
 * whose actions have no changes of their own are tried last, because ambiguous changes may still belong to them.
 */
export async function lastTurnWith(
  context: Context,
  of: TurnsOf,
  hasWorkLeft: (work: Work) => Promise<boolean>,
): Promise<ChosenWork> {
  const all = await allTurns(context, of);
  lastTurn(all);
  let rest = all;
  for (let last = findLastTurn(rest); last !== undefined; last = findLastTurn(rest)) {
    const { turn, session } = last;
    const work = await workIn(context, all, last);
    if (await hasWorkLeft(work)) return work;
    const isOther = (one: Turn): boolean => one.turn !== turn || one.session !== session;
    rest = { ...rest, actions: rest.actions.filter(isOther), elsewhere: rest.elsewhere.filter(isOther) };
  }
  throw new ChronicleError("NOT_FOUND", `no turn${all.whose} has work left that can be undone`, {
    hint:
      "`chronicle redo` redoes the turn that was undone last; `chronicle conflicts` lists the changes that did not " +
      "merge; `chronicle undo --turn ID` tries a turn again",
  });
}

interface Turns {
  readonly actions: readonly (LoggedAction & Turn)[];
  readonly elsewhere: readonly (WorkElsewhere & Turn)[];
  /** The number of actions that belong to no turn. */
  readonly others: number;
  /** Words that say whose turns these are; `""` for all turns. */
  readonly whose: string;
  /** The ids of the actions that have changed the state of git. */
  readonly changedGit: ReadonlySet<string>;
}

async function allTurns(context: Context, { session, actor }: TurnsOf): Promise<Turns> {
  const [here, there, git] = [await actionsEver(context), await workElsewhere(context), await changersOfGit(context)];
  const ids = [...here, ...there].flatMap((one) => one.session ?? []);
  const id = session === undefined ? undefined : sessionNamed(session, ids);
  const isMeant = (one: { readonly session?: string; readonly actor: string }): boolean =>
    (id === undefined || one.session === id) && (actor === undefined || one.actor === actor);
  const whose = `${id === undefined ? "" : ` of the session ${id}`}${actor === undefined ? "" : ` of the actor ${actor}`}`;
  const all = here.filter(isMeant);
  const actions = all.filter(isInTurn);
  const elsewhere = there.filter(isMeant).filter(isInTurn);
  return { actions, elsewhere, others: all.length - actions.length, whose, changedGit: git };
}

async function workIn(context: Context, { actions, elsewhere }: Turns, { turn, session }: Turn): Promise<ChosenWork> {
  const isOfIt = (one: { readonly turn?: string; readonly session?: string }): boolean =>
    one.turn === turn && one.session === session;
  const own = actions.filter(isOfIt);
  const here = own.length === 0 ? undefined : await workOfActions(context, own, () => `turn ${turn}`);
  const there = elsewhere.filter(isOfIt);
  if (here !== undefined && there.length === 0) return here;
  return {
    label: `turn ${turn}`,
    fromSeq: Math.min(here?.fromSeq ?? Infinity, leastOf(there.map((one) => one.fromSeq))),
    toSeq: Math.max(here?.toSeq ?? 0, greatestOf(there.map((one) => one.toSeq))),
    isOwn: (record, path, seq) => here?.isOwn(record, path, seq) === true || ownOnly(isOfIt)(record, path, seq),
    actions: own,
    keepers: here?.keepers ?? [],
    mayBe: here?.mayBe ?? new Set(),
  };
}

/** Returns the work of exactly this turn; `undefined` if nothing was done in the turn. */
export async function workOfTurn(context: Context, turn: Turn): Promise<ChosenWork | undefined> {
  const all = await allTurns(context, {});
  const isOfIt = (one: Turn): boolean => one.turn === turn.turn && one.session === turn.session;
  return [...all.actions, ...all.elsewhere].some(isOfIt) ? workIn(context, all, turn) : undefined;
}

/**
 * Returns the work of a turn, and all later work of its session. The work of sub-agents belongs to the session. Throws
 * `NOT_FOUND` or `AMBIGUOUS`, and `PRUNED` if the beginning of the turn was compacted away.
 */
async function workFromTurn(context: Context, asked: string): Promise<ChosenWork> {
  const turns = await everyTurn(context);
  const { turn, session, before } = theTurn(turns, asked);
  const label = `turn ${turn} and later`;
  const begins = (await indexedFrom(context)) ?? 1;
  if (before < begins - 1) throw compactedAway(`what the ${label} changed`, begins);
  const whole =
    session === undefined
      ? await workOfActions(
          context,
          turns.filter((one) => one.session === undefined && one.before >= before).flatMap(({ actions }) => actions),
          () => label,
        )
      : await workOfSession(context, session);
  const { known: _known, lost: _lost, ...work } = whole;
  return {
    ...work,
    label,
    fromSeq: before,
    toSeq: (await context.index.head()).seq,
    back: before,
    actions: work.actions.filter(({ fromSeq }) => fromSeq >= before),
    keepers: (work.keepers ?? []).filter(({ fromSeq }) => fromSeq >= before),
  };
}

function isInTurn<T extends { readonly turn?: string }>(one: T): one is T & { readonly turn: string } {
  return one.turn !== undefined;
}

/**
 * Returns the ended turn that was the last to change something. If no ended turn changed anything, returns the turn
 * that ended last. If no turn has ended, returns the turn that began last. Includes turns that replicas wrote back, but
 * not turns that came from an origin. Throws `NOT_FOUND` if there is no such turn.
 */
function lastTurn(turns: Turns): Turn {
  return findLastTurn(turns) ?? noTurn(turns);
}

function findLastTurn({ actions, elsewhere, changedGit }: Turns): Turn | undefined {
  const ended = actions.filter((one) => one.state !== "open").toSorted((a, b) => a.lastSeq - b.lastSeq);
  const here = ended.findLast((one) => hasChanged(one) || changedGit.has(one.id));
  const there = elsewhere.findLast((one) => one.from === "replica");
  const changed = (there?.toSeq ?? 0) > (here?.lastSeq ?? 0) ? there : here;
  return changed ?? ended.at(-1) ?? actions.at(-1);
}

function noTurn({ others, whose }: Turns): never {
  if (others > 0) {
    throw new ChronicleError("NOT_FOUND", `none of the recorded actions${whose} belongs to a turn`, {
      hint: "`chronicle actions` lists them; `chronicle undo --action ID` undoes one, `--session ID` those of a session",
      data: { actions: others },
    });
  }
  throw new ChronicleError("NOT_FOUND", `no action of any turn${whose} was recorded yet`, {
    hint:
      "only agents whose hooks call Chronicle have turns: `chronicle agents status` says whether the hooks are set up, `chronicle agents " +
      "install` sets them up; plain `chronicle undo` takes back the last run or restore",
  });
}

function hasChanged({ changed, omittedChanges }: LoggedAction): boolean {
  return changed !== 0 || omittedChanges.some((one) => isRestored(one) || one.recorded === true);
}

function turnNamed(asked: string, all: readonly Turn[]): Turn {
  const found = meantBy(all, asked, (one) => one.turn);
  const turns = new Set(found.map((one) => `${one.session ?? ""} ${one.turn}`));
  if (turns.size > 1) {
    throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(asked)} stands for ${turns.size} turns`, {
      hint: "give more of the id, or name the session or the actions",
      data: { turns: [...turns].map((one) => one.trim()) },
    });
  }
  const [first] = found;
  if (first !== undefined) return first;
  throw new ChronicleError("NOT_FOUND", `there is no turn ${JSON.stringify(asked)}`, {
    hint: "`chronicle turns` lists them",
  });
}

async function workOfSession(context: Context, asked: string): Promise<ChosenWork> {
  const all = await actionsEver(context);
  const elsewhere = await workElsewhere(context);
  const sessions = await listSessions(context);
  // The record of a write names the session that asked for it. That session may have no record in this history.
  const writes = (await doneIntents(context)).filter(({ intent }) => intent.kind === "write");
  const id = sessionNamed(asked, [
    ...sessions.map((one) => one.id),
    ...all.flatMap((one) => one.session ?? []),
    ...writes.flatMap(({ intent }) => intent.session ?? []),
    ...elsewhere.flatMap((one) => one.session ?? []),
  ]);
  const own = await withInner(context, [id, ...all.flatMap((one) => (one.session === id ? [one.id] : []))]);
  const actions = all.filter((one) => own.has(one.id));
  const written = writes.flatMap(({ intent }) => (intent.session === id ? [intent] : []));
  const there = elsewhere.filter((one) => one.session === id);
  const starts = [...actions, ...sessions.filter((one) => one.id === id), ...written, ...there].map(
    (one) => one.fromSeq,
  );
  const isOwn = (record: FileRecord): boolean => isOf(record, own);
  const label = `session ${id}`;
  const run = sessions.find((one) => one.id === id && one.kind === "run");
  return {
    label,
    ...(run === undefined ? {} : { known: `run: ${quoteCommand(run.command)}` }),
    ...(await spanFrom(context, starts)),
    ...(await lostOf(context, `what the ${label} changed`, starts)),
    isOwn: ownOnly(isOwn, await onlyBy(context, own)),
    actions,
    keepers: await keepersWithin(context, own),
    mayBe: own,
  };
}

function sessionNamed(asked: string, all: readonly string[]): string {
  const matching = meantBy([...new Set(all)], asked, (one) => one);
  const [id, second] = matching;
  if (id === undefined)
    throw new ChronicleError("NOT_FOUND", `there is no session ${JSON.stringify(asked)}`, {
      hint: "`chronicle sessions` lists them",
    });
  if (second === undefined) return id;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(asked)} stands for ${matching.length} sessions`, {
    hint: "give more of the id",
  });
}

async function workOfActor(context: Context, name: string): Promise<ChosenWork> {
  const actions = (await actionsEver(context)).filter((one) => one.actor === name);
  const span = await spanFrom(context, [0]);
  if (actions.length === 0) await requireActor(context, name, span);
  const own = await withInner(
    context,
    actions.map((one) => one.id),
  );
  const isOwn = (record: FileRecord): boolean => record.actor === name || isOf(record, own);
  const label = `actor ${name}`;
  const starts = actions.filter((one) => one.changed !== 0).map((one) => one.fromSeq);
  const lost = await lostOf(context, `what the ${label} changed`, starts);
  const keepers = await keepersWithin(context, own);
  // Ambiguous changes are left out, because many programs share a name such as `agent`.
  return { label, ...span, ...lost, isOwn: ownOnly(isOwn), actions, keepers, mayBe: own };
}

/**
 * Returns all changes of a file or folder after the baseline, by anybody, including restores and undos. If the file is
 * part of a database, all files of that database are included.
 */
async function workOnFile(context: Context, given: string): Promise<ChosenWork> {
  const { path, isMeant } = await fileNamed(context, given);
  const baseline = (await listSnapshots(context))[0];
  const starts = [baseline?.stateSeq ?? 0];
  const label = `file ${shownPath(path)}`;
  return {
    label,
    ...(await spanFrom(context, starts)),
    ...(await lostOf(context, `what was changed in ${shownPath(path)}`, starts)),
    everything: true,
    isOwn: (_, at) => isMeant(at),
    actions: [],
    mayBe: new Set(),
  };
}

async function workSince(context: Context, moment: string, range: Ended): Promise<ChosenWork> {
  const { seq } = await resolveMoment(context, moment, { isEnd: range.until !== undefined });
  return allAfter(context, seq, await untilSeq(context, range));
}

/** Returns all changes after event `seq`, up to event `until` if that is given. */
async function allAfter(context: Context, seq: number, until?: number): Promise<ChosenWork> {
  if (until !== undefined && until < seq) {
    throw new ChronicleError("USAGE", `the range ends at seq:${until}, before it begins at seq:${seq}`, {
      hint: "give the earlier moment as since or to, and the later one as until",
    });
  }
  const span = await spanFrom(context, [seq]);
  const isInRange = (one: Keeper): boolean => one.fromSeq >= seq && (until === undefined || one.lastSeq <= until);
  return {
    label: until === undefined ? `since seq:${seq}` : `from seq:${seq} until seq:${until}`,
    ...span,
    toSeq: Math.max(span.fromSeq, Math.min(span.toSeq, until ?? span.toSeq)),
    back: seq,
    everything: true,
    ...(until === undefined ? {} : { until }),
    isOwn: until === undefined ? () => true : (_record, _path, at) => at <= until,
    keepers: (await allKeepers(context)).filter(isInRange),
    actions: [],
    mayBe: new Set(),
  };
}

/**
 * Returns all recorded work after event `seq` (see `stateBefore`), up to event `until` if that is given. Includes
 * restores and undos, but not edits that people made outside of recorded work.
 */
export async function workBackTo(context: Context, seq: number, until?: number): Promise<ChosenWork> {
  const sessions = await listSessions(context);
  const watches = new Set(sessions.flatMap(({ id, kind }) => (kind === "watch" ? [id] : [])));
  const works = [...sessions.filter(({ kind }) => kind !== "watch"), ...(await actionsEver(context))];
  const transactions = await allTransactions(context);
  const isOnly = await onlyBy(context, new Set([...works, ...transactions].map(({ id }) => id)));
  const pieces = (await listOperations(context)).filter(
    ({ kind, isPart, fromSeq, toSeq }) =>
      toSeq > seq && fromSeq < (until ?? Infinity) && isPart !== true && kind !== "undo" && kind !== "redo",
  );
  const all = await allAfter(context, seq, until);
  return {
    ...all,
    label: until === undefined ? `to seq:${seq}` : `work from seq:${seq} until seq:${until}`,
    isOwn: (record, path, at) =>
      all.isOwn(record, path, at) && isWork(record, watches) && (record.actor !== "ambiguous" || isOnly(record)),
    pieces: pieces.length,
  };
}

/**
 * Returns the seq of the state that `asked` names: a moment, or the id of a turn. For a turn, returns the seq right
 * before the turn's first event, even if that event is inside a commit. All events after this seq may belong to the
 * turn.
 */
export async function stateBefore(context: Context, asked: string, { until }: Ended): Promise<number> {
  try {
    return (await resolveMoment(context, asked, { isEnd: until !== undefined })).seq;
  } catch (error) {
    const isUnknown = error instanceof ChronicleError && (error.code === "NOT_FOUND" || error.code === "USAGE");
    const { actions, elsewhere: there } = await allTurns(context, {});
    const turns = [...actions, ...there];
    if (!isUnknown || meantBy(turns, asked, (one) => one.turn).length === 0) throw error;
    const { turn, session } = turnNamed(asked, turns);
    const own = turns.filter((one) => one.turn === turn && one.session === session);
    const seq = leastOf(own.map(({ fromSeq }) => fromSeq));
    const begins = (await indexedFrom(context)) ?? 1;
    if (seq < begins - 1) throw compactedAway(`what the turn ${turn} changed`, begins);
    return seq;
  }
}

/**
 * True for an event of a run, an action, a transaction, an agent's session, or an operation on files. False for an edit
 * that a capture or a watch recorded, and for a state that came from an origin.
 */
function isWork(record: FileRecord, watches: ReadonlySet<string>): boolean {
  const { cause, session, action, transaction, turn, intent, candidates } = record;
  if (cause === "baseline" || cause === "erase" || cause === "merge" || cameFromOrigin(record)) return false;
  if (cause === "replica") return [session, action, turn].some((id) => id !== undefined);
  const isOfSession = session !== undefined && !watches.has(session);
  return isOfSession || [action, transaction, intent, candidates].some((one) => one !== undefined);
}

/** Returns the span from the earliest start to the head. The span never begins before the first event of the index. */
async function spanFrom(
  context: Context,
  starts: readonly number[],
): Promise<{ readonly fromSeq: number; readonly toSeq: number }> {
  const begins = (await indexedFrom(context)) ?? 1;
  const { seq } = await context.index.head();
  return { fromSeq: Math.max(Math.min(leastOf(starts), seq), begins - 1), toSeq: seq };
}

/**
 * Describes the part of the work whose events were compacted away, and which no undo can invert. Returns `{}` if there
 * is no such part.
 */
async function lostOf(context: Context, what: string, starts: readonly number[]): Promise<Pick<Work, "lost">> {
  const begins = (await indexedFrom(context)) ?? 1;
  if (!starts.some((fromSeq) => fromSeq < begins - 1)) return {};
  return { lost: { what, before: begins } };
}
