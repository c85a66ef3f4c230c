import type { TickKindName } from "../../../src/api/tick-api.ts";
import type { TickLane, TickStore } from "./tick-store.ts";
import { positionOf, type Span, timeAt } from "./time-scale.ts";

/** The width of the columns into which ticks are gathered, in CSS pixels. */
const COLUMN_PX = 2;
/**
 * The minimum distance of a tick from its neighbours, in CSS pixels, at which the tick is drawn in a form of its own.
 */
const ALONE_PX = 7;
/** The minimum width, in CSS pixels, at which a turn is drawn as a bar of its own. */
const TURN_PX = 4;

/** The colour of each kind of work, as a custom property of the page's styles. */
const TICK_COLOURS: Readonly<Record<TickKindName, string>> = {
  tool: "--hue-2",
  command: "--hue-1",
  run: "--hue-1",
  edit: "--hue-4",
  write: "--hue-6",
  restore: "--hue-5",
  undo: "--hue-5",
  redo: "--hue-5",
  resolve: "--hue-5",
  sync: "--hue-7",
  snapshot: "--text-quiet",
  conflict: "--warn",
};

/**
 * The kinds of ticks in order of precedence: the rarer kinds come first. A column with several kinds gets the colour of
 * the first of them.
 */
const ORDER: readonly TickKindName[] = [
  ...(["undo", "redo", "restore", "resolve", "conflict", "sync", "write", "run", "edit", "command", "tool"] as const),
  "snapshot",
];

/** The strip of the canvas in which the ticks of one lane are drawn. */
export interface Strip {
  readonly context: CanvasRenderingContext2D;
  readonly colour: (name: string) => string;
  /** The edges of the strip, in CSS pixels. */
  readonly left: number;
  readonly right: number;
  readonly middle: number;
  readonly span: Span;
}

/** Work that is drawn hollow, because it was undone. */
export interface Undone {
  /** The numbers of the undone turns in the store. `events`: the seqs of the last events of other undone work. */
  readonly turns: ReadonlySet<number>;
  readonly events: ReadonlySet<number>;
}

/** One column of the drawing, with the combined data of all its ticks. */
export interface Column {
  x: number;
  count: number;
  /** The row of the tick that is drawn if the column has only one tick. */
  row: number;
  rank: number;
  isFailed: boolean;
  isConflict: boolean;
}

/**
 * Gathers the ticks of a lane into columns. Each tick on screen is read once. The number of columns, and so of drawn
 * shapes, is limited by the width.
 */
export function columnsOf(
  store: TickStore,
  lane: TickLane,
  { span, left, right }: Omit<Strip, "context" | "colour" | "middle">,
): Column[] {
  const width = right - left;
  const ranks = store.kinds.map((kind) => ORDER.indexOf(kind));
  const columns: Column[] = [];
  let current: Column | undefined;
  const end = store.placeOf(lane.rows, timeAt(span, width + COLUMN_PX, width));
  for (let n = store.placeOf(lane.rows, timeAt(span, -COLUMN_PX, width)); n < end; n += 1) {
    const row = lane.rows[n] ?? 0;
    const x = left + Math.floor(positionOf(span, store.endedAt(row), width) / COLUMN_PX) * COLUMN_PX;
    if (current?.x !== x) {
      current = { x, count: 0, row, rank: Number.POSITIVE_INFINITY, isFailed: false, isConflict: false };
      columns.push(current);
    }
    const outcome = store.outcomeAt(row);
    current.count += 1;
    current.row = row;
    current.rank = Math.min(current.rank, ranks[store.kindNumberAt(row)] ?? 0);
    if (outcome === "failed" || outcome === "denied" || outcome === "abandoned") current.isFailed = true;
    else if (outcome === "conflict") current.isConflict = true;
  }
  return columns;
}

/** Draws the ticks of a lane. */
export function drawTicks(strip: Strip, store: TickStore, lane: TickLane, undone: Undone): void {
  const columns = columnsOf(store, lane, strip);
  const { context, middle } = strip;
  const byColour = new Map<string, Column[]>();
  for (const [n, column] of columns.entries()) {
    const before = column.x - (columns[n - 1]?.x ?? Number.NEGATIVE_INFINITY);
    const behind = (columns[n + 1]?.x ?? Number.POSITIVE_INFINITY) - column.x;
    if (column.count === 1 && Math.min(before, behind) >= ALONE_PX) {
      drawAlone(strip, store, column, undone);
      continue;
    }
    const name = TICK_COLOURS[ORDER[column.rank] ?? "tool"];
    const known = byColour.get(name);
    if (known === undefined) byColour.set(name, [column]);
    else known.push(column);
  }
  for (const [name, own] of byColour) {
    context.fillStyle = strip.colour(name);
    for (const { x, count } of own) {
      const half = Math.min(9, 4 + Math.log2(count + 1));
      context.fillRect(x, middle - half, COLUMN_PX, half * 2);
    }
  }
  drawTrouble(strip, columns);
}

/**
 * Draws a dot above the middle of the lane for failures, and a diamond below it for conflicts. Neighbouring columns
 * share one sign.
 */
function drawTrouble({ context, middle, colour }: Strip, columns: readonly Column[]): void {
  context.fillStyle = colour("--warn");
  let [failed, conflict] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  context.beginPath();
  for (const { x, isFailed, isConflict } of columns) {
    const centre = x + COLUMN_PX / 2;
    if (isFailed && centre - failed >= 5) {
      failed = centre;
      context.moveTo(centre + 2, middle - 12);
      context.arc(centre, middle - 12, 2, 0, Math.PI * 2);
    }
    if (isConflict && centre - conflict >= 7) {
      conflict = centre;
      context.moveTo(centre, middle + 8);
      context.lineTo(centre + 3.5, middle + 11.5);
      context.lineTo(centre, middle + 15);
      context.lineTo(centre - 3.5, middle + 11.5);
      context.closePath();
    }
  }
  context.fill();
}

function drawAlone({ context, colour, middle }: Strip, store: TickStore, { x, row }: Column, undone: Undone): void {
  const [kind, centre] = [store.kindAt(row), x + COLUMN_PX / 2];
  const outcome = store.outcomeAt(row);
  context.beginPath();
  if (kind === "snapshot") context.arc(centre, middle, 3, 0, Math.PI * 2);
  else if (kind === "edit" || kind === "sync") context.roundRect(centre - 1.5, middle - 5, 3, 10, 1.5);
  else if (kind === "restore" || kind === "undo" || kind === "redo") {
    context.moveTo(centre - 5, middle);
    context.lineTo(centre + 4, middle - 6);
    context.lineTo(centre + 4, middle + 6);
    context.closePath();
  } else context.roundRect(centre - 2, middle - 8, 4, 16, 2);
  const isHollow =
    kind === "snapshot" ||
    outcome === "open" ||
    undone.events.has(store.lastAt(row)) ||
    undone.turns.has(store.turnAt(row));
  const ink = colour(TICK_COLOURS[kind]);
  context.fillStyle = isHollow ? colour("--surface") : ink;
  context.fill();
  if (!isHollow) return;
  context.strokeStyle = ink;
  context.lineWidth = 1.5;
  context.stroke();
}

/** Draws the turns that are wide enough to be seen, within the bars of their sessions. */
export function drawTurns(strip: Strip, store: TickStore, lane: TickLane): void {
  const { context, span, left, right, middle } = strip;
  const width = right - left;
  if (width <= 0) return;
  context.beginPath();
  for (const turn of lane.turns) {
    const [from, to] = store.turnSpan(turn);
    if (to < span.from || from > span.to) continue;
    const x = left + positionOf(span, from, width);
    const long = left + positionOf(span, to, width) - x;
    if (long >= TURN_PX) context.roundRect(x - 3, middle - 10, long + 6, 20, 4);
  }
  context.fill();
}
