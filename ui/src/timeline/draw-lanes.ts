import { clockTime } from "../parts/time.tsx";
import { drawTicks, drawTurns, type Strip, type Undone } from "./draw-ticks.ts";
import type { Lane, Mark, Spot } from "./lane-model.ts";
import type { TickStore } from "./tick-store.ts";
import { positionOf, type Span, ticksOf } from "./time-scale.ts";

export const AXIS_PX = 24;
export const LANE_PX = 32;
/** The width of the column with the names of the lanes. */
export const NAMES_PX = 116;

export interface Picture {
  readonly lanes: readonly Lane[];
  readonly ticks: TickStore | undefined;
  readonly undone: Undone;
  readonly span: Span;
  /** The places of the selected work and of the work under the pointer. */
  readonly meant: readonly Spot[];
  readonly playhead: number | undefined;
}

export interface Paper {
  readonly context: CanvasRenderingContext2D;
  /** The width and the height are in CSS pixels. */
  readonly width: number;
  readonly height: number;
  /** Returns the value of a custom property of the page's styles, such as `--line`. */
  readonly colour: (name: string) => string;
}

/** Draws all lanes. */
export function drawLanes(paper: Paper, picture: Picture): void {
  const { context, width, height } = paper;
  context.clearRect(0, 0, width, height);
  context.font = FONT;
  const { span, playhead } = picture;
  const flag = playhead === undefined ? undefined : flagOf(paper, span, playhead);
  drawAxis(paper, span, flag);
  for (const [row, lane] of picture.lanes.entries()) drawLane(paper, picture, { lane, y: AXIS_PX + row * LANE_PX });
  if (flag !== undefined) drawPlayhead(paper, flag);
}

function xOf({ width }: Paper, span: Span, time: number): number {
  return NAMES_PX + positionOf(span, time, width - NAMES_PX);
}

const FONT = "11px system-ui, sans-serif";

/** Draws the times. A label that has no room before the right edge is left out, and so is one under the flag. */
function drawAxis(paper: Paper, span: Span, flag: Flag | undefined): void {
  const { context, width, height, colour } = paper;
  context.textBaseline = "middle";
  for (const { time, label } of ticksOf(span, width - NAMES_PX)) {
    const x = Math.round(xOf(paper, span, time)) + 0.5;
    if (x < NAMES_PX) continue;
    context.strokeStyle = colour("--line");
    context.beginPath();
    context.moveTo(x, AXIS_PX);
    context.lineTo(x, height);
    context.stroke();
    const end = x + 4 + context.measureText(label).width;
    if (end > width || (flag !== undefined && x + 4 < flag.left + flag.width && end > flag.left)) continue;
    context.fillStyle = colour("--text-quiet");
    context.fillText(label, x + 4, AXIS_PX / 2);
  }
}

function drawLane(paper: Paper, picture: Picture, { lane, y }: { readonly lane: Lane; readonly y: number }): void {
  const { context, width, colour } = paper;
  const { span, ticks } = picture;
  const middle = y + LANE_PX / 2;
  const hue = colour(`--hue-${lane.hue}`);
  const strip: Strip = { context, colour, left: NAMES_PX, right: width, middle, span };
  context.save();
  context.beginPath();
  context.rect(NAMES_PX, y, width - NAMES_PX, LANE_PX);
  context.clip();
  context.fillStyle = hue;
  context.globalAlpha = 0.13;
  drawBars(strip, lane);
  if (ticks !== undefined && lane.ticks !== undefined) {
    context.globalAlpha = 0.2;
    drawTurns(strip, ticks, lane.ticks);
    // If filters are set, the work that fits them must stand out, so the ticks of all work are drawn faintly.
    context.globalAlpha = lane.marks.length > 0 ? 0.25 : 1;
    drawTicks(strip, ticks, lane.ticks, picture.undone);
  }
  context.globalAlpha = 1;
  drawMarks(paper, picture, { lane, middle, hue });
  const meant = picture.meant.filter((spot) => spot.lane === lane.key);
  for (const [from, to] of ringsOf(meant.map(({ time }) => xOf(paper, span, time)))) drawRing(paper, from, to, middle);
  context.restore();
  context.fillStyle = colour("--text");
  context.fillText(fitted(context, lane.name, NAMES_PX - 26), 18, middle);
  context.fillStyle = hue;
  context.beginPath();
  context.arc(9, middle, 3.5, 0, Math.PI * 2);
  context.fill();
}

/** Draws the sessions as bars. Sessions with less than a pixel between them become one bar. */
function drawBars({ context, span, left, right, middle }: Strip, { bars }: Lane): void {
  const width = right - left;
  let [start, end] = [Number.NaN, Number.NEGATIVE_INFINITY];
  const flush = (): void => {
    if (end > start) context.fillRect(start, middle - 8, end - start, 16);
  };
  for (const { from, to } of bars) {
    const x = left + positionOf(span, from, width);
    const until = Math.max(x + 3, left + positionOf(span, to, width));
    if (x >= start && x <= end + 1) {
      end = Math.max(end, until);
      continue;
    }
    flush();
    [start, end] = [x, until];
  }
  flush();
}

interface MarkPlace {
  readonly lane: Lane;
  readonly middle: number;
  readonly hue: string;
}

/** Draws a mark for each line of the list. Of marks that are less than a pixel apart, only the first is drawn. */
function drawMarks(paper: Paper, { span }: Picture, { lane, middle, hue }: MarkPlace): void {
  let last = Number.NEGATIVE_INFINITY;
  for (const mark of lane.marks) {
    const x = xOf(paper, span, mark.time);
    if (x < NAMES_PX - 6 || x > paper.width + 6 || Math.abs(x - last) < 1) continue;
    last = x;
    drawMark(paper, mark, { x, middle, hue });
  }
}

interface Place {
  readonly x: number;
  readonly middle: number;
  readonly hue: string;
}

function drawMark({ context, colour }: Paper, { item, shape }: Mark, { x, middle, hue }: Place): void {
  const isUndone = item.undone === true;
  context.fillStyle = hue;
  context.strokeStyle = hue;
  context.lineWidth = 1.5;
  context.beginPath();
  if (shape === "work") context.roundRect(x - 2.5, middle - 8, 5, 16, 2);
  else if (shape === "edit") context.roundRect(x - 1.5, middle - 5, 3, 10, 1.5);
  else if (shape === "point") context.arc(x, middle, 3, 0, Math.PI * 2);
  else {
    context.moveTo(x - 5, middle);
    context.lineTo(x + 4, middle - 6);
    context.lineTo(x + 4, middle + 6);
    context.closePath();
  }
  if (isUndone || shape === "point") {
    context.fillStyle = colour("--surface");
    context.fill();
    context.stroke();
  } else context.fill();
}

/** Half the width of the ring around one place, in CSS pixels. */
const RING_PX = 7;

/** Returns the edges of the rings around places in a lane. Places whose rings would overlap share one ring. */
export function ringsOf(places: readonly number[]): readonly (readonly [from: number, to: number])[] {
  const rings: [number, number][] = [];
  for (const x of places.toSorted((a, b) => a - b)) {
    const last = rings.at(-1);
    if (last !== undefined && x - RING_PX <= last[1]) last[1] = x + RING_PX;
    else rings.push([x - RING_PX, x + RING_PX]);
  }
  return rings;
}

function drawRing({ context, colour }: Paper, from: number, to: number, middle: number): void {
  context.strokeStyle = colour("--accent");
  context.lineWidth = 2;
  context.beginPath();
  context.roundRect(from, middle - 12, to - from, 24, 5);
  context.stroke();
}

/** The line of the playhead, and the label with its time at the upper end of the line. */
interface Flag {
  readonly x: number;
  readonly label: string;
  readonly left: number;
  readonly width: number;
}

/** Returns the place of the playhead, if its time is shown. */
function flagOf(paper: Paper, span: Span, time: number): Flag | undefined {
  const x = Math.round(xOf(paper, span, time)) + 0.5;
  if (x < NAMES_PX || x > paper.width) return undefined;
  const label = clockTime(time);
  const width = paper.context.measureText(label).width + 10;
  return { x, label, width, left: Math.min(Math.max(NAMES_PX, x - width / 2), paper.width - width) };
}

function drawPlayhead({ context, height, colour }: Paper, { x, label, left, width }: Flag): void {
  context.strokeStyle = colour("--accent");
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x, AXIS_PX - 6);
  context.lineTo(x, height);
  context.stroke();
  context.fillStyle = colour("--accent");
  context.beginPath();
  context.roundRect(left, 3, width, 17, 4);
  context.fill();
  context.fillStyle = colour("--on-accent");
  context.fillText(label, left + 5, 12);
}

function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > width) length -= 1;
  return `${text.slice(0, length)}…`;
}
