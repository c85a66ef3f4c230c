import { Maximize2, ZoomIn, ZoomOut } from "lucide-react";
import { type PointerEvent, useEffect, useMemo, useRef, useState } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { SessionShape } from "../../../src/api/shapes.ts";
import { clockTime, useNow } from "../parts/time.tsx";
import { visible } from "../parts/words.ts";
import { useKeys } from "../shell/use-keys.ts";
import { AXIS_PX, drawLanes, LANE_PX, NAMES_PX } from "./draw-lanes.ts";
import { type Lane, lanesOf, type Mark } from "./lane-model.ts";
import type { Playhead } from "./use-playhead.ts";
import { moved, positionOf, type Span, timeAt, wholeSpan, zoomed } from "./time-scale.ts";
import { useCanvas } from "./use-canvas.ts";

interface LanesProps {
  readonly items: readonly RecentItem[];
  readonly sessions: readonly SessionShape[];
  readonly selected: RecentItem | undefined;
  readonly playhead: Playhead;
  readonly onSelect: (item: RecentItem | undefined) => void;
  /** Called when time is shown that is before the oldest loaded work. */
  readonly onOldest: () => void;
}

/** The number of lanes that are drawn; the others are in the list only. */
const MOST_LANES = 12;
/** How near the pointer must be to a mark, in pixels. */
const NEAR_PX = 9;

/** Who was at work when: a lane for each actor, time across. The list below has the same for keyboards and readers. */
export function Lanes({ items, sessions, selected, playhead, onSelect, onOldest }: LanesProps) {
  const [span, setSpan] = useState<Span>();
  const [hovered, setHovered] = useState<Mark>();
  const now = useNow();
  const lanes = useMemo(() => lanesOf(items, sessions, now).slice(0, MOST_LANES), [items, sessions, now]);
  const whole = useMemo(() => wholeSpan(lanes.flatMap(({ marks }) => marks.map(({ time }) => time))), [lanes]);
  const shown = span ?? whole;
  const height = AXIS_PX + Math.max(1, lanes.length) * LANE_PX + 6;
  const playheadTime = playhead.item === undefined ? undefined : Date.parse(playhead.item.timestamp);
  const { ref, width } = useCanvas(height, (paper) =>
    drawLanes(paper, { lanes, span: shown, selected, hovered: hovered?.item, playhead: playheadTime }),
  );
  const zoom = (factor: number, share?: number): void => setSpan(zoomed(shown, factor, share));
  useKeys({ "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1.6), "0": () => setSpan(undefined) });
  useWheel(ref, (event, share) => {
    if (event.deltaX !== 0 && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      setSpan(moved(shown, (event.deltaX / (width - NAMES_PX)) * (shown.to - shown.from)));
    } else zoom(Math.exp(event.deltaY / 300), share);
  });
  const isBefore = shown.from < whole.from - (whole.to - whole.from) * 0.05;
  useEffect(() => {
    if (isBefore) onOldest();
    // oxlint-disable-next-line react/exhaustive-deps -- asked once for each new oldest work
  }, [isBefore, whole.from]);
  const drag = useDrag({
    isPlayhead: (x, y) =>
      y < AXIS_PX ||
      (playheadTime !== undefined &&
        Math.abs(NAMES_PX + positionOf(shown, playheadTime, width - NAMES_PX) - x) < NEAR_PX &&
        markAt({ lanes, span: shown, width }, x, y) === undefined),
    onPlayhead: (x) => playhead.put(timeAt(shown, x - NAMES_PX, width - NAMES_PX)),
    onMove: (pixels) => setSpan(moved(shown, (-pixels / (width - NAMES_PX)) * (shown.to - shown.from))),
    onClick: (x, y) => {
      const mark = markAt({ lanes, span: shown, width }, x, y);
      if (mark === undefined) playhead.put(timeAt(shown, x - NAMES_PX, width - NAMES_PX));
      else onSelect(mark.item);
    },
    onHover: (x, y) => setHovered(x === undefined ? undefined : markAt({ lanes, span: shown, width }, x, y)),
  });
  return (
    <section className="lanes" aria-label="Who was at work when">
      <canvas
        ref={ref}
        style={{ height }}
        className={hovered === undefined ? "" : "over-mark"}
        aria-hidden="true"
        {...drag}
      />
      {hovered === undefined ? null : <MarkTip mark={hovered} span={shown} width={width} />}
      <div className="lanes-tools">
        <PlayheadHint playhead={playhead} />
        <span className="grow" />
        <ZoomButtons onZoom={zoom} onWhole={() => setSpan(undefined)} />
      </div>
    </section>
  );
}

interface ZoomButtonsProps {
  readonly onZoom: (factor: number) => void;
  readonly onWhole: () => void;
}

function ZoomButtons({ onZoom, onWhole }: ZoomButtonsProps) {
  return (
    <>
      <button type="button" className="icon-button" aria-label="Closer (+)" onClick={() => onZoom(0.6)}>
        <ZoomIn size={15} aria-hidden="true" />
      </button>
      <button type="button" className="icon-button" aria-label="Further away (-)" onClick={() => onZoom(1.6)}>
        <ZoomOut size={15} aria-hidden="true" />
      </button>
      <button type="button" className="icon-button" aria-label="The whole time (0)" onClick={onWhole}>
        <Maximize2 size={14} aria-hidden="true" />
      </button>
    </>
  );
}

function MarkTip({
  mark: { item, time },
  span,
  width,
}: {
  readonly mark: Mark;
  readonly span: Span;
  readonly width: number;
}) {
  const x = NAMES_PX + positionOf(span, time, width - NAMES_PX);
  return (
    <div className="mark-tip" style={{ left: Math.min(Math.max(8, x - 120), Math.max(8, width - 260)) }}>
      <span className="quiet">
        {clockTime(time)} · {item.kind}
      </span>
      <span>{visible(item.summary)}</span>
    </div>
  );
}

function PlayheadHint({ playhead: { moment, item } }: { readonly playhead: Playhead }) {
  if (moment === undefined)
    return <span className="quiet">Click or drag on the time above to see the files of that moment.</span>;
  return <span className="quiet">{item === undefined ? moment : `The files after ${visible(item.summary)}`}</span>;
}

interface Drawn {
  readonly lanes: readonly Lane[];
  readonly span: Span;
  readonly width: number;
}

function markAt({ lanes, span, width }: Drawn, x: number, y: number): Mark | undefined {
  const lane = lanes[Math.floor((y - AXIS_PX) / LANE_PX)];
  if (lane === undefined || x < NAMES_PX) return undefined;
  let best: Mark | undefined;
  let distance = NEAR_PX;
  for (const mark of lane.marks) {
    const away = Math.abs(NAMES_PX + positionOf(span, mark.time, width - NAMES_PX) - x);
    if (away < distance) [best, distance] = [mark, away];
  }
  return best;
}

type OnWheel = (event: WheelEvent, share: number) => void;

function useWheel(ref: React.RefObject<HTMLCanvasElement | null>, onWheel: OnWheel): void {
  const latest = useRef(onWheel);
  useEffect(() => {
    latest.current = onWheel;
  });
  useEffect(() => {
    const canvas = ref.current;
    if (canvas === null) return undefined;
    const listener = (event: WheelEvent): void => {
      event.preventDefault();
      const { width } = canvas.getBoundingClientRect();
      latest.current(event, Math.max(0, Math.min(1, (event.offsetX - NAMES_PX) / (width - NAMES_PX))));
    };
    canvas.addEventListener("wheel", listener, { passive: false });
    return () => canvas.removeEventListener("wheel", listener);
  }, [ref]);
}

interface Drag {
  /** True if a press at this point takes hold of the playhead. */
  readonly isPlayhead: (x: number, y: number) => boolean;
  readonly onPlayhead: (x: number) => void;
  readonly onMove: (pixels: number) => void;
  readonly onClick: (x: number, y: number) => void;
  readonly onHover: (x: number | undefined, y: number) => void;
}

interface Press {
  readonly x: number;
  readonly isPlayhead: boolean;
  isMoved: boolean;
  last: number;
}

/** A drag moves the time, or the playhead. A press without a move is a click. */
function useDrag({ isPlayhead, onPlayhead, onMove, onClick, onHover }: Drag) {
  const press = useRef<Press>(undefined);
  return {
    onPointerDown: (event: PointerEvent<HTMLCanvasElement>) => {
      const { offsetX, offsetY } = event.nativeEvent;
      event.currentTarget.setPointerCapture(event.pointerId);
      press.current = {
        x: event.clientX,
        isPlayhead: isPlayhead(offsetX, offsetY),
        isMoved: false,
        last: event.clientX,
      };
    },
    onPointerMove: (event: PointerEvent<HTMLCanvasElement>) => {
      const { offsetX, offsetY } = event.nativeEvent;
      const start = press.current;
      if (start === undefined) return onHover(offsetX, offsetY);
      if (Math.abs(event.clientX - start.x) > 3) start.isMoved = true;
      if (start.isMoved && start.isPlayhead) onPlayhead(offsetX);
      else if (start.isMoved) onMove(event.clientX - start.last);
      start.last = event.clientX;
    },
    onPointerUp: (event: PointerEvent<HTMLCanvasElement>) => {
      if (press.current?.isMoved === false) onClick(event.nativeEvent.offsetX, event.nativeEvent.offsetY);
      press.current = undefined;
    },
    onPointerLeave: () => onHover(undefined, 0),
  };
}
