import type { RecentAction, RecentGit, RecentItem, RecentPath } from "../../api/recent-api.ts";
import { type Format, type Paint, printable, shortened, widthOf } from "../../process/printable.ts";
import { localMinute } from "../../process/local-zone.ts";
import { groupedDigits } from "../../util/grouped-digits.ts";
import { greatestOf } from "../../util/long-lists.ts";
import { gitLines } from "./git-changes.ts";
import { graphText } from "./graph.ts";
import { columns, isNarrow, LONGEST_NARROW_NAME } from "./columns.ts";
import { ago, counted, shortAgo, withoutRepeats } from "./words.ts";

/** On a terminal that is narrower than this, the id and the word `chronicle` of the commands are left out. */
const WIDE = 120;

/** The longest texts where the output is no terminal. Only long commands are shortened, and paths are not. */
const LONGEST_SUMMARY = 200;

/** A column is left out where the texts or the paths would get less than this, and need more. */
const READABLE_SUMMARY = 30;
const READABLE_PATHS = 16;

/** The least width of the texts. Commands are shortened where it would be less, because of a very long id. */
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

/** The surroundings in which the list is shown. */
export interface TimelineContext {
  readonly paint: Paint;
  /** Adds the global options of the command line to a command. */
  readonly worded: (text: string) => string;
  readonly io: { readonly out: { readonly isTerminal: boolean; readonly columns: number }; readonly now: () => number };
}

/** Decides which columns the list of recent work has, and how wide they are. */
interface Layout {
  readonly names: readonly (keyof Row)[];
  /** True if the commands begin with `chronicle`. */
  readonly isWide: boolean;
  /** True if words for times and names are short. */
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

/** Returns the lines of the list of recent work, with a heading. They fit the terminal, if the output is one. */
export function timelineLines(
  context: TimelineContext,
  items: readonly RecentItem[],
  { isWithBack }: { readonly isWithBack: boolean },
): string[] {
  const layout = fittingLayout(context, items, isWithBack);
  return columns(cellsOf(allRows(context, items, layout), layout), "<");
}

/** Returns the first layout that leaves enough room to the texts, or else the smallest one. */
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

/** Returns the layouts for an output. The best is first, and each later one needs less room. */
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

/** Returns the cells of the columns that the layout has. Leaves out the lines and the graph if no row has them. */
function cellsOf(rows: readonly Row[], { names }: Layout): string[][] {
  const isEmpty = (name: keyof Row): boolean => rows.slice(1).every((row) => row[name] === "");
  const shown = names.filter((name) => (name !== "lines" && name !== "graph") || !isEmpty(name));
  return rows.map((row) => shown.map((name) => row[name]));
}

/** The width that the texts and the paths may share, and the width that each of them needs. */
interface Room {
  readonly free: number;
  readonly what: number;
  readonly paths: number;
  /** The width of the commands. */
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

/** Returns the widths of the texts, the paths and the commands on a terminal. */
function shares({ free, what, paths, back }: Room): Pick<Layout, "summary" | "paths" | "back"> {
  // The texts get three fifths, unless the paths need less than the rest.
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

/** Returns a row of the list for what some work changed in the state of git. */
function rowOfGit({ paint }: TimelineContext, change: RecentGit, { summary }: Layout): Omit<Row, "graph"> {
  const what = paint("dim", shortened(`  ${gitText(change)}`, summary));
  return { when: "", who: "", what, paths: "", lines: "", id: "", back: "" };
}

/** Returns what git did, in the words of its reflog if they are known, and where HEAD was and is. */
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
  const row = {
    graph: graphText(item, paint, true),
    when: whenWords(item, now, layout),
    who: paint(COLOURS[item.who], whoWords(item, layout)),
    what: isUndone ? paint("strikethrough", what) : what,
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
 * Returns what happened, in at most `most` columns. The number of a turn's actions, and that it is partly undone, are
 * kept if the text is cut.
 */
function titleOf(item: RecentItem, now: number, most: number): string {
  const { kind, actions = 1, partly_undone: isPartlyUndone = false } = item;
  const text = printable(textOf(item, now));
  const count = kind === "turn" && actions > 1 ? ` · ${counted(actions, "action")}` : "";
  const undone = isPartlyUndone ? " · partly undone" : "";
  const fits = (end: string): boolean => most - widthOf(end) >= SHORTEST_SUMMARY;
  const end = [`${count}${undone}`, undone].find(fits) ?? "";
  return `${shortened(text, most - widthOf(end))}${end}`;
}

/** Returns what happened, in words. The kind comes first, unless the words begin with it. */
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

/** Says when edits were found that nobody saw, and since when they may have been made. */
function foundText({ timestamp, changed_since: since = "" }: RecentItem, now: number): string {
  const [found, from] = [localMinute(timestamp, now), localMinute(since, now)];
  return `found at ${found}, changed since ${from}, by nobody that was recorded`;
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
