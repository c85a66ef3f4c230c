import type { RecentItem, RecentOptions, RecentShape } from "../../api/recent-api.ts";
import type { Context } from "../log/context.ts";
import { graphLanes } from "../../core/log/graph-lanes.ts";
import { isRecorded, parseGivenPath } from "../log/known-paths.ts";
import { isWithin, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { optional } from "../../util/optional.ts";
import { greatestOf, leastOf } from "../../util/long-lists.ts";
import { isInBase } from "../log/read-base.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { resolveMoment } from "../read/moments.ts";
import type { LoggedOperation } from "../facts/logged-operation.ts";
import { UndoneParts } from "./how-undone.ts";
import { listOperations, stackOf } from "./operations.ts";
import { PageGit } from "./recent-git.ts";
import { ownPathsOf, PagePaths } from "./recent-paths.ts";
import type { RecentLine } from "./recent-line.ts";
import { recentView, type RecentView } from "./recent-view.ts";
import { lastStep, type NewestSteps, type Story, storyIn } from "./recent-story.ts";

/**
 * The minimum number of events in the first window. A window is the newest part of the history. Events before it are
 * not read. If the events of a window do not give enough lines, a longer window is read.
 */
const FIRST_WINDOW = 600;

/** The estimated number of events per line, which determines the size of the first window. */
const EVENTS_OF_LINE = 8;

/**
 * The number of additional events that the first window has before the oldest wanted event, so that the turn or run of
 * this event is usually complete.
 */
const MARGIN = 120;

/** The factor by which the window grows. */
const GROWTH = 4;

/**
 * The maximum length, in events, of a window that still grows to complete lines whose first events are before the
 * window.
 */
const LONGEST_WINDOW = 60_000;

/** How much of a history is read first. */
export interface Windows {
  /** The minimum number of events in the first window. */
  readonly first: number;
  /** The estimated number of events per line. */
  readonly ofLine: number;
  /** The number of additional events at both ends of the first window. */
  readonly margin: number;
}

const WINDOWS: Windows = { first: FIRST_WINDOW, ofLine: EVENTS_OF_LINE, margin: MARGIN };

/**
 * Returns the newest `limit` lines of recent work that match the options, newest first. A line stands for a run, a turn
 * of an agent, an action outside of turns, a burst of edits, an operation, a snapshot, an open transaction, or changes
 * that a sync brought. `undoable` is the id of the operation that an undo without arguments would undo; `null` if there
 * is none.
 *
 * Reads the history backwards from its newest event, or from `before`, and only as far as the lines require. Of the
 * events from `before` on, reads only those that decide about older lines: what undid older work, and what goes on.
 * Throws `NOT_FOUND` if `since` names no moment.
 */
export async function recentWork(
  context: Context,
  limit = 20,
  options: RecentOptions = {},
  windows: Windows = WINDOWS,
): Promise<RecentShape> {
  const { seq: head } = await context.index.head();
  const until = options.before === undefined ? head : Math.min(head, options.before - 1);
  const { after: newer = 0 } = options;
  const { after: first, bound } = await rangeOf(context, { head, until, limit, options, windows });
  const newest = until < head ? await newestSteps(context, windows) : undefined;
  let [after, ahead] = [first, windows.margin];
  for (;;) {
    const view = await recentView(context, after, newest === undefined ? head : until + ahead);
    // `most` limits the lines of syncs, which are counted from the newest. With `before`, the wanted lines can be older
    // than others in the view, so there is no limit.
    const most = newest === undefined ? limit : Number.MAX_SAFE_INTEGER;
    const story = await storyIn(view, { ...options, most, newest });
    if (view.upTo < head && story.going.some((seq) => seq <= until)) {
      ahead *= GROWTH;
      continue;
    }
    const lines = await matching(context, story.lines, { options, bound, until, limit });
    // Open work may have changes after the view, and may match a file only by these.
    const shown = options.file === undefined ? lines : story.lines.filter(({ seq }) => seq <= until);
    if (view.upTo < head && shown.some(({ isOpen }) => isOpen)) {
      ahead = head;
      continue;
    }
    const found = { view, story, lines, bound, newer, until, limit, windows };
    const next = after <= 0 ? undefined : await widened(context, found);
    if (next === undefined) return answer(context, { view, story, lines, options, newest });
    after = next;
  }
}

/** Returns the newest steps of the whole history. Reads the whole history only if its newest part has none. */
async function newestSteps(context: Context, windows: Windows): Promise<NewestSteps> {
  const { seq: head } = await context.index.head();
  let after = Math.max(0, head - windows.first);
  let operations: readonly LoggedOperation[];
  for (;;) {
    const view = await recentView(context, after);
    operations = await listOperations(view.context);
    const missing = after === 0 ? undefined : await firstMissing(context, view, operations);
    if (missing === undefined) break;
    after = Math.max(0, missing - 1);
  }
  const isFound = after === 0 || (stackOf(operations).undoable.length > 0 && lastStep(operations) !== undefined);
  if (!isFound) operations = await listOperations(context);
  const { undoable, redoable } = stackOf(operations);
  return { undoable: undoable.at(-1) ?? null, redoable: redoable.at(-1) ?? null, last: lastStep(operations) };
}

interface Asked {
  readonly head: number;
  /** The highest seq that the last event of a wanted line can have. */
  readonly until: number;
  readonly limit: number;
  readonly options: RecentOptions;
  readonly windows: Windows;
}

interface Range {
  /** The seq after which the first window begins. */
  readonly after: number;
  /** Lines whose last change is at or before this seq are not wanted. */
  readonly bound: number;
}

/**
 * Returns the range of the events to read first. If a file is asked for, the range includes the newest iterations of
 * the file.
 */
async function rangeOf(context: Context, { head, until, limit, options, windows }: Asked): Promise<Range> {
  const { since, file } = options;
  // A list of everything since a time before the history is complete, so no note says where the history begins.
  const { tell: _tell, ...quiet } = context;
  const bound = since === undefined ? 0 : (await resolveMoment(quiet, since)).seq;
  const wanted = Math.max(windows.first, limit * windows.ofLine);
  // With `options.after`, only the events after that event are needed, and `margin` events before it, so that a turn or
  // run that goes on after that event is usually complete.
  const isNew = options.after === undefined ? wanted : Math.max(0, until - options.after) + windows.margin;
  const after = Math.max(0, until - Math.min(wanted, isNew));
  const path = file === undefined ? undefined : parseGivenPath(file);
  const last = path === undefined ? undefined : await context.index.iterationAt(path, until);
  const isUnknown = path !== undefined && last === undefined && splitRoot(path).path !== "";
  // No work has changed the path, so the whole history need not be read for it.
  if (isUnknown && !(await isRecorded(context, path))) return { after, bound: head };
  // A change beneath a folder is no iteration of the folder, so the iterations of a folder do not limit the range.
  if (path === undefined || last === undefined || last.entry?.kind === "dir") return { after, bound };
  const newest = await firstAfter(context, path, Math.max(0, last.iteration - limit));
  const first = await firstAfter(context, path, 0);
  // The first iteration of a file is in no line if it came with the baseline, or if a compaction put it into a new
  // base.
  const isInLine = first === undefined || first.entry?.kind === "dir" || !(await isFromBase(context, first));
  const oldest = isInLine ? first : await firstAfter(context, path, first.iteration);
  if (oldest === undefined) return { after, bound: head };
  return {
    after: Math.max(0, Math.min(after, (newest?.seq ?? 0) - windows.margin)),
    // The path was possibly a folder at first. A folder is recorded before the paths in it, so no event of these paths
    // is older than `oldest`.
    bound: Math.max(bound, oldest.seq - 1),
  };
}

/** Returns the first iteration of a path after the iteration with this number. */
async function firstAfter(
  { index }: Context,
  path: WorkspacePath,
  iteration: number,
): Promise<IterationRow | undefined> {
  const [first] = await index.iterations(path, { after: iteration, limit: 1 });
  return first;
}

async function isFromBase({ index }: Context, { seq }: IterationRow): Promise<boolean> {
  const row = await index.locate(seq);
  return row === undefined || isInBase(row);
}

interface Found {
  readonly view: RecentView;
  readonly story: Story;
  readonly lines: readonly RecentLine[];
  readonly bound: number;
  /** The seq of an event. The last event of a wanted line is later than this event. */
  readonly newer: number;
  readonly until: number;
  readonly limit: number;
  readonly windows: Windows;
}

/** Returns the seq after which a longer window begins; `undefined` if the present window is long enough. */
async function widened(
  context: Context,
  { view, story, lines, bound, newer, until, limit, windows }: Found,
): Promise<number | undefined> {
  const { after } = view;
  const longer = Math.max(0, until - Math.max(windows.first, until - after) * GROWTH);
  if (lines.length < limit && after > Math.max(bound, newer)) return longer;
  // If the view ends before the head, `newestSteps` has looked for these operations.
  const missing = view.upTo < view.head ? undefined : await firstMissing(context, view, story.operations);
  if (missing !== undefined) return Math.max(0, missing - 1);
  if (until - after >= LONGEST_WINDOW || !lines.some((one) => isCut(one, after))) return undefined;
  return Math.max(0, Math.min(longer, leastOf(lines.map(({ fromSeq }) => fromSeq))));
}

function isCut({ isCut: may, fromSeq }: RecentLine, after: number): boolean {
  return may === true || fromSeq < after;
}

/**
 * Looks for operations that an undo or redo in the view names, and that ended before the view. Returns the lowest seq
 * at which such an operation ended; `undefined` if there is none. Without these operations, a wrong operation could be
 * named as the next to undo.
 */
async function firstMissing(
  { index }: Context,
  view: RecentView,
  operations: readonly LoggedOperation[],
): Promise<number | undefined> {
  const known = new Set(operations.map(({ id }) => id));
  let first: number | undefined;
  for (const { target } of operations) {
    if (target === undefined || known.has(target)) continue;
    for (const kind of ["intent", "session", "action", "transaction"]) {
      const row = await index.record(`${kind}:${target}`);
      if (row !== undefined && row.offset >= 0 && row.seq <= view.after) first = Math.min(first ?? row.seq, row.seq);
    }
  }
  return first;
}

interface Wanted {
  readonly options: RecentOptions;
  readonly bound: number;
  readonly until: number;
  readonly limit: number;
}

async function matching(context: Context, lines: readonly RecentLine[], wanted: Wanted): Promise<RecentLine[]> {
  const found: RecentLine[] = [];
  for (const line of lines) {
    if (found.length >= wanted.limit) break;
    if (line.seq > wanted.until || line.seq <= (wanted.options.after ?? 0)) continue;
    if (lastChange(line) > wanted.bound && (await isMeant(context, line, wanted.options))) found.push(line);
  }
  return found;
}

/**
 * Returns the seq of the last event with which the work changed something. An event that only ends the work does not
 * count.
 */
function lastChange({ kind, seq, own }: RecentLine): number {
  const isMark = kind === "snapshot" || kind === "baseline";
  return isMark || own === undefined || own.size === 0 ? seq : greatestOf([...own.values()].map(({ last }) => last));
}

async function isMeant(context: Context, line: RecentLine, options: RecentOptions): Promise<boolean> {
  const { actor, kind, session, grep, file } = options;
  if (actor !== undefined && line.actor !== actor && line.who !== actor) return false;
  if (kind !== undefined && line.kind !== kind) return false;
  if (session !== undefined && line.session?.startsWith(session) !== true) return false;
  const asked = grep?.toLowerCase();
  const title = asked === undefined ? undefined : await line.title?.();
  const texts = [title ?? "", line.summary, ...(line.texts ?? [])];
  if (asked !== undefined && !texts.some((text) => text.toLowerCase().includes(asked))) return false;
  if (file === undefined) return true;
  const path = parseGivenPath(file);
  return [...(await ownPathsOf(context, line)).keys()].some((one) => isWithin(one, path));
}

interface Page {
  readonly view: RecentView;
  readonly story: Story;
  readonly lines: readonly RecentLine[];
  readonly options: RecentOptions;
  readonly newest: NewestSteps | undefined;
}

async function answer(context: Context, { view, story, lines, options, newest }: Page): Promise<RecentShape> {
  const undoable = newest === undefined ? await nextUndo(context, story) : newest.undoable;
  const undoneBy = undosOf(story);
  const paths = new PagePaths(context, options.renames !== false);
  const git = await PageGit.of(view.context, lines);
  const lanes = options.graph === true ? lanesOf(lines) : undefined;
  const parts = await UndoneParts.of(view.context, story.operations);
  const items: RecentItem[] = [];
  for (const [at, line] of lines.entries()) {
    const short = shortId(line, story.lines);
    const { back, ...more } = await line.more(short);
    const ids = line.operations ?? [line.id];
    const by = more.undone === true ? ids.map((id) => undoneBy.get(id)).find((id) => id !== undefined) : undefined;
    const { kind, id, timestamp, fromSeq, seq, actor, who, session } = line;
    const summary = (await line.title?.()) ?? line.summary;
    items.push({
      ...{ kind, id, short_id: short, timestamp, from_seq: fromSeq, to_seq: seq, summary, actor, who },
      ...(session === undefined ? {} : { session }),
      ...(await paths.of(line)),
      ...optional({ git: git.of(line) }),
      ...lanes?.[at],
      ...more,
      ...(by === undefined ? {} : { undone_by: by }),
      ...(more.undone !== true && OPERATIONS.has(kind) && (await parts.hasUndone(line))
        ? { partly_undone: true as const }
        : {}),
      ...(undoable !== null && ids.includes(undoable) ? { is_next: true as const } : {}),
      ...(options.actions === true && line.beneath !== undefined ? { beneath: [...line.beneath()] } : {}),
      back,
    });
  }
  return { items, seq: view.head, undoable };
}

/** The kinds of lines that an undo can take back, as a whole or in part. */
const OPERATIONS: ReadonlySet<RecentItem["kind"]> = new Set([
  ...(["run", "turn", "action", "write", "transaction", "restore", "resolve"] as const),
]);

/**
 * Returns the lane of each line, which is its column in the graph. Each session has its own lane. Outside of sessions,
 * each actor has its own lane.
 */
function lanesOf(lines: readonly RecentLine[]): Required<Pick<RecentItem, "lane" | "lanes_beside">>[] {
  const rows = lines.map(({ fromSeq, seq, session, actor }) => ({ fromSeq, seq, key: session ?? actor }));
  return graphLanes(rows).map(({ lane, beside }) => ({ lane, lanes_beside: [...beside] }));
}

/**
 * Returns the id of the operation that an undo would undo next; `null` if there is none. Reads the whole history only
 * if nothing in the view can be undone.
 */
async function nextUndo(context: Context, { operations, isWhole }: Story): Promise<string | null> {
  const next = stackOf(operations).undoable.at(-1);
  if (next !== undefined || isWhole) return next ?? null;
  return stackOf(await listOperations(context)).undoable.at(-1) ?? null;
}

/** Returns a map from the id of each undone operation to the id of the last undo that undid it. */
function undosOf({ operations }: Story): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { kind, id, target, selective } of operations) {
    if (kind !== "undo") continue;
    for (const one of [target, ...(selective?.takes ?? [])]) if (one !== undefined) found.set(one, id);
  }
  return found;
}

const SHORTEST = 8;

/**
 * Returns the shortest prefix of a line's id, of at least `SHORTEST` characters, that is unique among the lines of the
 * view.
 */
function shortId({ id }: RecentLine, all: readonly RecentLine[]): string {
  if (id.startsWith("seq:")) return id;
  for (let length = SHORTEST; length < id.length; length += 1) {
    const short = id.slice(0, length);
    if (!all.some((one) => one.id !== id && one.id.startsWith(short))) return short;
  }
  return id;
}
