import { stripVTControlCharacters } from "node:util";
import type { RecentAction, RecentItem, RecentPath } from "../../api/recent-api.ts";
import { type Format, type Paint, printable, shortened } from "../../process/printable.ts";
import { localMinute } from "../../process/local-zone.ts";
import { groupedDigits } from "../../util/grouped-digits.ts";
import { columns } from "./columns.ts";
import { ago, counted } from "./words.ts";

/** On a terminal that is narrower than this, the id and the word `chronicle` of the commands are left out. */
const WIDE = 120;

/** The longest texts where the output is no terminal. Only long commands are shortened, and paths are not. */
const LONGEST_SUMMARY = 200;

/** The shortest columns of a terminal, however narrow it is. */
const SHORTEST_SUMMARY = 18;
const SHORTEST_PATHS = 12;

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
  readonly isWithBack: boolean;
  readonly isWide: boolean;
  readonly summary: number;
  readonly paths: number;
}

/** The cells of a row, from left to right. */
interface Row {
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
  const { isTerminal, columns: width } = context.io.out;
  const isWide = !isTerminal || width >= WIDE;
  const free = isTerminal ? freeWidths(context, items, { isWithBack, isWide, summary: 0, paths: 0 }) : undefined;
  const layout = { isWithBack, isWide, ...(free ?? { summary: LONGEST_SUMMARY, paths: Number.MAX_SAFE_INTEGER }) };
  const rows = items.flatMap((item) => rowsOf(context, item, layout));
  const dim = (text: string): string => context.paint("dim", text);
  const back = isWide ? "the way back" : "chronicle …";
  const head = { when: "when", who: "who", what: "what", paths: "paths", lines: "lines", id: "id", back };
  const shown = [mapRow(head, dim), ...rows];
  return columns(cellsOf(shown, layout), "<");
}

/** Returns the cells of the columns that the layout has. Leaves out columns that are empty in all rows. */
function cellsOf([head, ...rows]: readonly Row[], { isWithBack, isWide }: Layout): string[][] {
  const names = ["when", "who", "what", "paths", "lines", ...(isWide ? ["id"] : []), ...(isWithBack ? ["back"] : [])];
  const shown = (names as (keyof Row)[]).filter((name) => name !== "lines" || rows.some((row) => row.lines !== ""));
  return (head === undefined ? rows : [head, ...rows]).map((row) => shown.map((name) => row[name]));
}

function mapRow(row: Row, map: (text: string) => string): Row {
  return {
    when: map(row.when),
    who: map(row.who),
    what: map(row.what),
    paths: map(row.paths),
    lines: map(row.lines),
    id: map(row.id),
    back: map(row.back),
  };
}

/** Returns the widths that are left for the texts and the paths on a terminal. */
function freeWidths(
  context: TimelineContext,
  items: readonly RecentItem[],
  layout: Layout,
): Pick<Layout, "summary" | "paths"> {
  const most = Number.MAX_SAFE_INTEGER;
  const rows = items.flatMap((item) => rowsOf(context, item, { ...layout, summary: most, paths: most }));
  const widest = (name: keyof Row): number => rows.reduce((most, row) => Math.max(most, lengthOf(row[name])), 0);
  const [what, paths] = [widest("what"), widest("paths")];
  const [fixed = ""] = columns(
    cellsOf(
      rows.map((row) => ({ ...row, what: "", paths: "" })),
      layout,
    ),
  )
    .map((line) => stripVTControlCharacters(line))
    .sort((a, b) => lengthOf(b) - lengthOf(a));
  const free = context.io.out.columns - lengthOf(fixed);
  // The texts get three fifths, unless the paths need less than the rest.
  const forPaths = Math.max(SHORTEST_PATHS, Math.min(paths, Math.max(free - what, Math.floor((free * 2) / 5))));
  return { summary: Math.max(SHORTEST_SUMMARY, free - forPaths), paths: forPaths };
}

function lengthOf(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}

function rowsOf(context: TimelineContext, item: RecentItem, layout: Layout): Row[] {
  const beneath = item.beneath ?? [];
  return [rowOf(context, item, layout), ...beneath.map((one) => rowOfAction(context, one, layout))];
}

function rowOf(context: TimelineContext, item: RecentItem, layout: Layout): Row {
  const { paint } = context;
  const now = context.io.now();
  const isUndone = item.undone === true;
  const what = shortened(printable(textOf(item, now)), layout.summary);
  const row = {
    when: ago(item.timestamp, now),
    who: paint(COLOURS[item.who], whoWords(item)),
    what: isUndone ? paint("strikethrough", what) : what,
    paths: shortened(pathsText(item), layout.paths),
    lines: linesText(context, item),
    id: paint("dim", item.short_id),
    back: paint("cyan", backText(context, item, layout)),
  };
  return isUndone ? mapRow(row, (text) => paint("dim", text)) : row;
}

/** Returns a row of the list for an action of a turn or of a run. */
function rowOfAction(context: TimelineContext, action: RecentAction, { summary }: Layout): Row {
  const { paint } = context;
  const state = action.state === "done" ? "" : ` (${action.state})`;
  const what = shortened(`  · ${printable(action.summary)}${state}`, summary);
  return {
    when: paint("dim", ago(action.timestamp, context.io.now())),
    who: paint(COLOURS[action.who], whoWords(action)),
    what: action.undone === true ? paint("strikethrough", what) : what,
    paths: action.changed === null ? "" : paint("dim", counted(action.changed, "path")),
    lines: "",
    id: paint("dim", action.id.slice(0, 8)),
    back: action.undone === true ? paint("dim", "(undone)") : "",
  };
}

const LONGEST_NAME = 16;

function whoWords({ who, actor }: Pick<RecentItem, "who" | "actor">): string {
  const name = shortened(printable(actor), LONGEST_NAME);
  if (who === "agent" || (who === "person" && actor !== "human")) return name;
  return who === "sub-agent" ? `${name} (sub)` : who;
}

/** Returns what happened, in words. The kind comes first, unless the words begin with it. */
function textOf(item: RecentItem, now: number): string {
  const { kind, summary, snapshot, actions = 1 } = item;
  if (kind === "edit" && item.changed_since !== undefined && item.who === "person") return foundText(item, now);
  if (kind === "edit" || kind === "watch" || kind === "baseline") return summary;
  if (kind === "turn") return actions === 1 ? `turn: ${summary}` : `turn: ${summary} (+${actions - 1} more)`;
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

function backText(context: TimelineContext, item: RecentItem, { isWide }: Layout): string {
  if (item.undone === true)
    return item.undone_by === undefined ? "(undone)" : `(undone by ${item.undone_by.slice(0, 8)})`;
  if (item.open === true && item.back === "") return "(goes on)";
  const command = context.worded(item.back);
  return isWide ? command : command.replace(/^chronicle /, "");
}
