import type { RecentAction, RecentGit, RecentItem, RecentPath } from "../../api/recent-api.ts";
import { type Format, type Paint, printable, shortened, widthOf } from "../../process/printable.ts";
import { localMinute } from "../../process/local-zone.ts";
import { groupedDigits } from "../../util/grouped-digits.ts";
import { greatestOf } from "../../util/long-lists.ts";
import { gitLines } from "./git-changes.ts";
import { graphText } from "./graph.ts";
import { columns, isNarrow, LONGEST_NARROW_NAME } from "./columns.ts";
import { ago, counted, shortAgo, withoutRepeats } from "./words.ts";

/** The minimum width, in columns, of a terminal on which ids and the word `chronicle` of commands are shown. */
const WIDE = 120;

/**
 * The maximum width of the column `what` if the output is no terminal. Only long commands reach this width. Paths are
 * not shortened in such output.
 */
const LONGEST_SUMMARY = 200;

/**
 * The widths that the columns `what` and `paths` need to be readable, if their texts are not shorter. If a layout
 * leaves less, a layout with fewer columns is used.
 */
const READABLE_SUMMARY = 30;
const READABLE_PATHS = 16;

/**
 * The minimum width of the column `what`. If less is left, for example beside a very long id, commands are shortened.
 */
const SHORTEST_SUMMARY = 12;

const COLOURS: Readonly<Record<RecentItem["who"], Format>> = {
  agent: "magenta",
  "sub-agent": "magentaBright",
  person: "green",
  command: "blue",
  replica: "yellow",
  origin: "yellow",
  unknown: "red",
};

/** The parts of a command's context that the list of recent work needs. */
export interface TimelineContext {
  readonly paint: Paint;
  /** Adds the global options of the command line to a command. */
  readonly worded: (text: string) => string;
  readonly io: { readonly out: { readonly isTerminal: boolean; readonly columns: number }; readonly now: () => number };
}

/** The columns of the list of recent work, and their widths. */
interface Layout {
  readonly names: readonly (keyof Row)[];
  /** True if the commands begin with `chronicle`. */
  readonly isWide: boolean;
  /** True if times and names are shortened. */
  readonly isNarrow: boolean;
  /** True if the commands repeat the global options of the command line. */
  readonly isWithOptions: boolean;
  readonly summary: number;
  readonly paths: number;
  readonly back: number;
}

/** The cells of a row, from left to right. */
interface Row {
  readonly graph: string;
  readonly when: string;
  readonly who: string;
  readonly what: string;
  readonly paths: string;
  readonly lines: string;
  readonly id: string;
  readonly back: string;
}

/**
 * Returns the lines of the list of recent work, with a heading. If the output is a terminal, the lines fit its width.
 */
export function timelineLines(
  context: TimelineContext,
  items: readonly RecentItem[],
  { isWithBack }: { readonly isWithBack: boolean },
): string[] {
  const layout = fittingLayout(context, items, isWithBack);
  return columns(cellsOf(allRows(context, items, layout), layout), "<");
}

/**
 * Returns the first layout that leaves enough room for the columns `what` and `paths`; the smallest layout if none
 * does.
 */
function fittingLayout(context: TimelineContext, items: readonly RecentItem[], isWithBack: boolean): Layout {
  let fitting = EVERYTHING;
  for (const layout of layoutsFor(context.io.out, isWithBack)) {
    if (!context.io.out.isTerminal) return layout;
    const there = room(context, items, layout);
    fitting = { ...layout, ...shares(there) };
    if (isReadable(there)) break;
  }
  return fitting;
}

const EVERYTHING: Layout = {
  names: ["graph", "when", "who", "what", "paths", "lines", "id", "back"],
  ...{ isWide: true, isNarrow: false, isWithOptions: true },
  ...{ summary: LONGEST_SUMMARY, paths: Number.MAX_SAFE_INTEGER, back: Number.MAX_SAFE_INTEGER },
};

/**
 * Returns the possible layouts for an output. The first has the most columns, and each later layout needs less room.
 */
function layoutsFor(out: TimelineContext["io"]["out"], isWithBack: boolean): readonly Layout[] {
  const without = (...names: readonly string[]): readonly (keyof Row)[] =>
    EVERYTHING.names.filter((name) => !names.includes(name) && (name !== "back" || isWithBack));
  const everything = { ...EVERYTHING, names: without() };
  if (!out.isTerminal) return [everything];
  const smaller = { ...EVERYTHING, isWide: false, isNarrow: isNarrow(out) };
  return [
    ...(out.columns < WIDE ? [] : [everything]),
    { ...smaller, names: without("id") },
    { ...smaller, names: without("id", "lines") },
    { ...smaller, names: without("id", "lines", "paths") },
    { ...smaller, names: without("id", "lines", "paths"), isNarrow: true, isWithOptions: false },
  ];
}

/** Returns the heading and the rows of all items. */
function allRows(context: TimelineContext, items: readonly RecentItem[], layout: Layout): Row[] {
  const back = shortened(layout.isWide ? "the way back" : "chronicle …", layout.back);
  const head = { graph: "", when: "when", who: "who", what: "what", paths: "paths", lines: "lines", id: "id", back };
  return [
    mapRow(head, (text) => context.paint("dim", text)),
    ...items.flatMap((item) => rowsOf(context, item, layout)),
  ];
}

/**
 * Returns the cells of the columns that the layout has. Leaves out the columns `lines` and `graph` if they are empty in
 * all rows.
 */
function cellsOf(rows: readonly Row[], { names }: Layout): string[][] {
  const isEmpty = (name: keyof Row): boolean => rows.slice(1).every((row) => row[name] === "");
  const shown = names.filter((name) => (name !== "lines" && name !== "graph") || !isEmpty(name));
  return rows.map((row) => shown.map((name) => row[name]));
}

/** The width that the columns `what` and `paths` may share (`free`), and the width that each of them needs. */
interface Room {
  readonly free: number;
  readonly what: number;
  readonly paths: number;
  /** The width that the commands need. */
  readonly back: number;
}

function room(context: TimelineContext, items: readonly RecentItem[], layout: Layout): Room {
  const most = Number.MAX_SAFE_INTEGER;
  const rows = allRows(context, items, { ...layout, summary: most, paths: most, back: most });
  const cells = cellsOf(
    rows.map((row) => ({ ...row, what: "", paths: "" })),
    layout,
  );
  const widest = (texts: readonly string[]): number => greatestOf(texts.map(widthOf));
  const [head = []] = cells;
  const fixed = head.reduce((sum, _, at) => sum + widest(cells.map((row) => row[at] ?? "")) + GAP, -GAP);
  return {
    free: context.io.out.columns - fixed,
    what: widest(rows.map((row) => row.what)),
    paths: layout.names.includes("paths") ? widest(rows.map((row) => row.paths)) : 0,
    back: widest(rows.map((row) => row.back)),
  };
}

const GAP = 2;

function isReadable({ free, what, paths }: Room): boolean {
  return free >= Math.min(what, READABLE_SUMMARY) + Math.min(paths, READABLE_PATHS);
}

/** Returns the widths of the columns `what`, `paths` and `back` on a terminal. */
function shares({ free, what, paths, back }: Room): Pick<Layout, "summary" | "paths" | "back"> {
  // The column `what` gets three fifths of the free width. It gets more if the paths need less than two fifths.
  const forPaths = Math.max(0, Math.min(paths, Math.max(free - what, Math.floor((free * 2) / 5))));
  const summary = Math.max(free - forPaths, Math.min(what, SHORTEST_SUMMARY));
  return { summary, paths: forPaths, back: Math.max(1, back - Math.max(0, summary + forPaths - free)) };
}

function mapRow(row: Row, map: (text: string) => string): Row {
  return {
    graph: row.graph,
    when: map(row.when),
    who: map(row.who),
    what: map(row.what),
    paths: map(row.paths),
    lines: map(row.lines),
    id: map(row.id),
    back: map(row.back),
  };
}

function rowsOf(context: TimelineContext, item: RecentItem, layout: Layout): Row[] {
  const beneath = item.beneath ?? [];
  const graph = graphText(item, context.paint, false);
  return [
    rowOf(context, item, layout),
    ...(item.git ?? []).map((one) => ({ ...rowOfGit(context, one, layout), graph })),
    ...beneath.map((one) => ({ ...rowOfAction(context, one, layout), graph })),
  ];
}

/** Returns a row of the list for a change that some work made to the state of git. */
function rowOfGit({ paint }: TimelineContext, change: RecentGit, { summary }: Layout): Omit<Row, "graph"> {
  const what = paint("dim", shortened(`  ${gitText(change)}`, summary));
  return { when: "", who: "", what, paths: "", lines: "", id: "", back: "" };
}

/**
 * Returns a text about a change of the state of git: the message in git's reflog, if it is known, and the commits of
 * HEAD before and after.
 */
function gitText({ messages = [], ...change }: RecentGit): string {
  const [text = ""] = gitLines([change]);
  if (messages.length === 0) return text;
  const more = messages.length > 1 ? ` and ${messages.length - 1} more` : "";
  const [label, moved] = [text.slice(0, text.indexOf(": ")), text.slice(text.indexOf(": ") + 2)];
  return `${label}: ${printable(messages.at(-1) ?? "")}${more} (${moved})`;
}

function rowOf(context: TimelineContext, item: RecentItem, layout: Layout): Row {
  const { paint } = context;
  const now = context.io.now();
  const isUndone = item.undone === true;
  const what = titleOf(item, now, layout.summary);
  const ended = outcomeText(item);
  const inColour = ended === "" ? what : what.replace(ended, paint("red", ended));
  const row = {
    graph: graphText(item, paint, true),
    when: whenWords(item, now, layout),
    who: paint(COLOURS[item.who], whoWords(item, layout)),
    what: isUndone ? paint("strikethrough", what) : inColour,
    paths: shortened(pathsText(item), layout.paths),
    lines: linesText(context, item),
    id: paint("dim", item.short_id),
    back: paint("cyan", shortened(backText(context, item, layout), layout.back)),
  };
  return isUndone ? mapRow(row, (text) => paint("dim", text)) : row;
}

/** Returns a row of the list for an action of a turn or of a run. */
function rowOfAction(context: TimelineContext, action: RecentAction, layout: Layout): Omit<Row, "graph"> {
  const { paint } = context;
  const state = action.state === "done" ? "" : ` (${action.state})`;
  const what = shortened(`  · ${printable(action.summary)}${state}`, layout.summary);
  const paths = action.changed === null ? "" : shortened(counted(action.changed, "path"), layout.paths);
  return {
    when: paint("dim", whenWords(action, context.io.now(), layout)),
    who: paint(COLOURS[action.who], whoWords(action, layout)),
    what: action.undone === true ? paint("strikethrough", what) : what,
    paths: paint("dim", paths),
    lines: "",
    id: paint("dim", action.id.slice(0, 8)),
    back: action.undone === true ? paint("dim", shortened("(undone)", layout.back)) : "",
  };
}

function whenWords({ timestamp }: Pick<RecentItem, "timestamp">, now: number, { isNarrow }: Layout): string {
  return isNarrow ? shortAgo(timestamp, now) : ago(timestamp, now);
}

const LONGEST_NAME = 16;

function whoWords({ who, actor }: Pick<RecentItem, "who" | "actor">, { isNarrow }: Layout): string {
  const name = shortened(printable(actor), isNarrow ? LONGEST_NARROW_NAME : LONGEST_NAME);
  if (who === "agent" || (who === "person" && actor !== "human")) return name;
  return who === "sub-agent" ? `${name} (sub)` : who;
}

/**
 * Returns a text about an item, at most `most` columns wide. If the text is cut, the number of a turn's actions, how
 * the work ended, and the words `partly undone` are kept.
 */
function titleOf(item: RecentItem, now: number, most: number): string {
  const { kind, actions = 1, partly_undone: isPartlyUndone = false } = item;
  const text = printable(textOf(item, now));
  const count = kind === "turn" && actions > 1 ? ` · ${counted(actions, "action")}` : "";
  const undone = isPartlyUndone ? " · partly undone" : "";
  const fits = (end: string): boolean => most - widthOf(end) >= SHORTEST_SUMMARY;
  const ended = outcomeText(item);
  const end = [`${count}${ended}${undone}`, `${ended}${undone}`, undone].find(fits) ?? "";
  return `${shortened(text, most - widthOf(end))}${end}`;
}

/** Returns how work ended that did not succeed: ` · failed, exit code 2`. Returns `""` for other work. */
function outcomeText({ outcome, exit_code: code = 0, signal }: RecentItem): string {
  if (outcome === undefined) return "";
  const why = signal !== undefined ? `, ended by ${printable(signal)}` : code === 0 ? "" : `, exit code ${code}`;
  return ` · ${outcome}${why}`;
}

/** Returns the summary of an item. For most kinds, the kind comes first, unless the summary begins with it. */
function textOf(item: RecentItem, now: number): string {
  const { kind, snapshot } = item;
  const summary = kind === "undo" || kind === "redo" ? withoutRepeats(item.summary) : item.summary;
  if (kind === "edit" && item.changed_since !== undefined && item.who === "person") return foundText(item, now);
  if (kind === "edit" || kind === "watch" || kind === "baseline") return summary;
  if (kind === "turn") return `turn: ${summary}`;
  const word = kind === "snapshot" ? `snapshot ${snapshot ?? ""}` : kind;
  if (summary === kind) return word;
  return summary.startsWith(`${kind} `) ? summary : `${word}: ${summary}`;
}

/**
 * Returns a text about edits that nothing recorded as they were made: the time at which the edits were found, and the
 * earliest time at which they may have been made.
 */
function foundText({ timestamp, changed_since: since = "" }: RecentItem, now: number): string {
  const [found, from] = [localMinute(timestamp, now), localMinute(since, now)];
  return `found at ${found}, changed since ${from}, outside of recorded work`;
}

function pathsText({ paths, more_paths: more = 0, changed, kind }: RecentItem): string {
  if (kind === "baseline") return "";
  if (paths.length === 0) return changed === 0 ? "" : counted(changed, "path");
  const named = paths.map(pathText).join(", ");
  return more === 0 ? named : `${named} and ${groupedDigits(more)} more`;
}

function pathText({ path, files, from, change }: RecentPath): string {
  const shown = printable(path);
  if (from !== undefined) return `${printable(from)} → ${shown}`;
  if (files !== undefined) return `${shown}${shown.endsWith(":") ? "" : "/"} (${counted(files, "file")})`;
  return change === "deleted" ? `${shown} (gone)` : shown;
}

function linesText({ paint }: TimelineContext, { lines }: RecentItem): string {
  if (lines === undefined) return "";
  const added = paint("green", `+${groupedDigits(lines.added)}`);
  return `${added} ${paint("red", `−${groupedDigits(lines.removed)}`)}`;
}

function backText(context: TimelineContext, item: RecentItem, layout: Layout): string {
  const { isWide, isNarrow, isWithOptions } = layout;
  if (item.undone === true)
    return item.undone_by === undefined || isNarrow ? "(undone)" : `(undone by ${item.undone_by.slice(0, 8)})`;
  if (item.open === true && item.back === "") return "(goes on)";
  const command = isWithOptions ? context.worded(item.back) : item.back;
  return isWide ? command : command.replace(/^chronicle /, "");
}
