import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Maximize2, ZoomIn, ZoomOut } from "lucide-react";
import { type PointerEvent, useEffect, useMemo, useRef, useState } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { SessionShape } from "../../../src/api/shapes.ts";
import { clockTime, useNow } from "../parts/time.tsx";
import { visible } from "../parts/words.ts";
import { useKeys } from "../shell/use-keys.ts";
import { AXIS_PX, drawLanes, LANE_PX, NAMES_PX } from "./draw-lanes.ts";
import { type Lane, lanesOf, type Mark } from "./lane-model.ts";
import { moved, positionOf, type Span, timeAt, wholeSpan, zoomed } from "./time-scale.ts";
import { useCanvas } from "./use-canvas.ts";

interface LanesProps {
  readonly items: readonly RecentItem[];
  readonly sessions: readonly SessionShape[];
  readonly selected: RecentItem | undefined;
  readonly onSelect: (item: RecentItem | undefined) => void;
}

/** The number of lanes that are drawn; the others are in the list only. */
const MOST_LANES = 12;
/** How near the pointer must be to a mark, in pixels. */
const NEAR_PX = 9;

/** Who was at work when: a lane for each actor, time across. The list below has the same for keyboards and readers. */
export function Lanes({ items, sessions, selected, onSelect }: LanesProps) {
  const [span, setSpan] = useState<Span>();
  const [hovered, setHovered] = useState<Mark>();
  const now = useNow();
  const lanes = useMemo(() => lanesOf(items, sessions, now).slice(0, MOST_LANES), [items, sessions, now]);
  const whole = useMemo(() => wholeSpan(lanes.flatMap(({ marks }) => marks.map(({ time }) => time))), [lanes]);
  const shown = span ?? whole;
  const playhead = usePlayhead(items);
  const height = AXIS_PX + Math.max(1, lanes.length) * LANE_PX + 6;
  const { ref, width } = useCanvas(height, (paper) =>
    drawLanes(paper, { lanes, span: shown, selected, hovered: hovered?.item, playhead: playhead.time }),
  );
  const zoom = (factor: number, share?: number): void => setSpan(zoomed(shown, factor, share));
  useKeys({ "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1.6), "0": () => setSpan(undefined) });
  useWheel(ref, (event, share) => {
    if (event.deltaX !== 0 && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      setSpan(moved(shown, (event.deltaX / (width - NAMES_PX)) * (shown.to - shown.from)));
    } else zoom(Math.exp(event.deltaY / 300), share);
  });
  const drag = useDrag({
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
        <PlayheadTools playhead={playhead} />
        <span className="grow" />
        <button type="button" className="icon-button" aria-label="Closer (+)" onClick={() => zoom(0.6)}>
          <ZoomIn size={15} aria-hidden="true" />
        </button>
        <button type="button" className="icon-button" aria-label="Further away (-)" onClick={() => zoom(1.6)}>
          <ZoomOut size={15} aria-hidden="true" />
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label="The whole time (0)"
          onClick={() => setSpan(undefined)}
        >
          <Maximize2 size={14} aria-hidden="true" />
        </button>
      </div>
    </section>
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

interface Playhead {
  /** The recorded state at the playhead, as `seq:N`; `undefined` if there is no playhead. */
  readonly moment: string | undefined;
  readonly time: number | undefined;
  readonly put: (time: number | undefined) => void;
}

/** The playhead stands at the state after the last work before a time. The address has its event. */
function usePlayhead(items: readonly RecentItem[]): Playhead {
  const { at } = useSearch({ from: "/w/$workspace/" });
  const navigate = useNavigate({ from: "/w/$workspace/" });
  const seq = at === undefined ? undefined : Number(at.replace("seq:", ""));
  const stands = seq === undefined ? undefined : items.find(({ to_seq }) => to_seq <= seq);
  return {
    moment: at,
    time: stands === undefined ? undefined : Date.parse(stands.timestamp),
    put: (time) => {
      const before = time === undefined ? undefined : items.find(({ timestamp }) => Date.parse(timestamp) <= time);
      void navigate({
        replace: true,
        search: ({ at: _former, ...rest }) => (before === undefined ? rest : { ...rest, at: `seq:${before.to_seq}` }),
      });
    },
  };
}

function PlayheadTools({ playhead: { moment, time, put } }: { readonly playhead: Playhead }) {
  const { workspace } = useParams({ from: "/w/$workspace" });
  if (moment === undefined) return <span className="quiet">Click on a time to see the files of that moment.</span>;
  return (
    <>
      <span className="quiet">{time === undefined ? moment : `After ${clockTime(time)}`}</span>
      <Link to="/w/$workspace/files" params={{ workspace }} search={{ at: moment }} className="button">
        Files at this moment
      </Link>
      <Link to="/w/$workspace/changes" params={{ workspace }} search={{ work: `${moment}..latest` }} className="button">
        Changed since
      </Link>
      <button type="button" className="button quiet-button" onClick={() => put(undefined)}>
        Remove
      </button>
    </>
  );
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
  readonly onMove: (pixels: number) => void;
  readonly onClick: (x: number, y: number) => void;
  readonly onHover: (x: number | undefined, y: number) => void;
}

/** A drag moves the time; a press without a move is a click. */
function useDrag({ onMove, onClick, onHover }: Drag) {
  const from = useRef<{ readonly x: number; isMoved: boolean; last: number }>(undefined);
  return {
    onPointerDown: (event: PointerEvent<HTMLCanvasElement>) => {
      event.currentTarget.setPointerCapture(event.pointerId);
      from.current = { x: event.clientX, isMoved: false, last: event.clientX };
    },
    onPointerMove: (event: PointerEvent<HTMLCanvasElement>) => {
      const start = from.current;
      if (start === undefined) return onHover(event.nativeEvent.offsetX, event.nativeEvent.offsetY);
      if (Math.abs(event.clientX - start.x) > 3) start.isMoved = true;
      if (start.isMoved) onMove(event.clientX - start.last);
      start.last = event.clientX;
    },
    onPointerUp: (event: PointerEvent<HTMLCanvasElement>) => {
      if (from.current?.isMoved === false) onClick(event.nativeEvent.offsetX, event.nativeEvent.offsetY);
      from.current = undefined;
    },
    onPointerLeave: () => onHover(undefined, 0),
  };
}
