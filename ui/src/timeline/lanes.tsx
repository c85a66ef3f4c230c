import { Maximize2, ZoomIn, ZoomOut } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { SessionShape } from "../../../src/api/shapes.ts";
import { useNow } from "../parts/time.tsx";
import { visible } from "../parts/words.ts";
import { useKeys } from "../shell/use-keys.ts";
import { AXIS_PX, drawLanes, LANE_PX, NAMES_PX } from "./draw-lanes.ts";
import { type Drawn, type Hit, hitAt } from "./hit.ts";
import { HitTip } from "./hit-tip.tsx";
import { lanesOf, spotsOf, undoneWork } from "./lane-model.ts";
import { Legend } from "./legend.tsx";
import type { TickAt, Ticks } from "./tick-store.ts";
import type { Playhead } from "./use-playhead.ts";
import { moved, positionOf, type Span, timeAt, wholeSpan, zoomed } from "./time-scale.ts";
import { useCanvas } from "./use-canvas.ts";
import { useDrag, useWheel } from "./use-pointer.ts";

interface LanesProps {
  readonly workspace: string;
  readonly items: readonly RecentItem[];
  /** The ticks of all work; `undefined` until they are read. */
  readonly ticks: Ticks | undefined;
  readonly sessions: readonly SessionShape[];
  readonly selected: RecentItem | undefined;
  /** True if filters have limited the items to a part of the work. */
  readonly isFiltered: boolean;
  readonly playhead: Playhead;
  readonly onSelect: (item: RecentItem | undefined) => void;
  readonly onTick: (tick: TickAt) => void;
  /** Called when the shown time begins before the oldest loaded line. */
  readonly onOldest: () => void;
}

/** The maximum number of lanes that are drawn. The work of the other actors is only in the list. */
const MOST_LANES = 12;
/** The distance, in pixels, within which the pointer takes hold of the playhead. */
const NEAR_PX = 9;

/**
 * Shows who was at work at which time, with one lane for each actor, and time from left to right. The list below the
 * lanes shows the same work to people who use a keyboard or a screen reader.
 */
export function Lanes(props: LanesProps) {
  const { items, ticks, selected, isFiltered, playhead, onSelect, onTick, onOldest } = props;
  const [chosen, setSpan] = useState<Span>();
  const [hovered, setHovered] = useState<Hit>();
  const { lanes, undone, newest, whole } = useLanes(props);
  const store = ticks?.store;
  const span = chosen ?? newest;
  // `ticks` is a new object after each change of the store.
  const chosenSpots = useMemo(() => (selected === undefined ? [] : spotsOf(selected, ticks?.store)), [selected, ticks]);
  const height = AXIS_PX + Math.max(1, lanes.length) * LANE_PX + 6;
  const { ref, width } = useCanvas(height, (paper) =>
    drawLanes(paper, {
      ...{ lanes, ticks: store, undone, span, playhead: playhead.time },
      meant: hovered === undefined ? chosenSpots : [...chosenSpots, hovered],
    }),
  );
  const zoom = (factor: number, share?: number): void => setSpan(zoomed(span, factor, share));
  const move = (pixels: number): void => setSpan(moved(span, (pixels / (width - NAMES_PX)) * (span.to - span.from)));
  const showWhole = (): void => setSpan(whole);
  useKeys({ "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1.6), "0": showWhole });
  useWheel(ref, ({ deltaX, deltaY }, share) => {
    if (Math.abs(deltaX) > Math.abs(deltaY)) move(deltaX);
    else zoom(Math.exp(deltaY / 300), share);
  });
  useOlder(isFiltered && span.from < newest.from - (newest.to - newest.from) * 0.05, newest.from, onOldest);
  const drawn = { lanes, ticks: store, span, left: NAMES_PX, right: width };
  const drag = useLanePointer(drawn, {
    playhead,
    onSelect,
    onTick,
    onMove: (pixels) => move(-pixels),
    onHit: setHovered,
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
      {hovered === undefined ? null : (
        <HitTip key={hovered.key} workspace={props.workspace} hit={hovered} items={items} {...{ span, width }} />
      )}
      <div className="lanes-tools">
        <PlayheadHint playhead={playhead} />
        <span className="grow" />
        {store === undefined ? null : <Legend lanes={lanes} store={store} />}
        <ZoomButtons onZoom={zoom} onWhole={showWhole} />
      </div>
    </section>
  );
}

interface Pointed extends Pick<LanesProps, "playhead" | "onSelect" | "onTick"> {
  readonly onMove: (pixels: number) => void;
  readonly onHit: (hit: Hit | undefined) => void;
}

/**
 * Returns the pointer handlers of the lanes. A drag moves the playhead or the shown time. A click selects work, or sets
 * the playhead.
 */
function useLanePointer(drawn: Drawn, { playhead, onSelect, onTick, onMove, onHit }: Pointed) {
  const { span, left, right } = drawn;
  const hit = (x: number, y: number): Hit | undefined => hitAt(drawn, x, Math.floor((y - AXIS_PX) / LANE_PX));
  const timeOf = (x: number): number => timeAt(span, x - left, right - left);
  const isOnPlayhead = (x: number): boolean =>
    playhead.time !== undefined && Math.abs(left + positionOf(span, playhead.time, right - left) - x) < NEAR_PX;
  return useDrag({
    isPlayhead: (x, y) => y < AXIS_PX || (isOnPlayhead(x) && hit(x, y) === undefined),
    onPlayhead: (x) => playhead.put(timeOf(x)),
    onMove,
    onClick: (x, y) => {
      const found = hit(x, y);
      if (found?.item !== undefined) onSelect(found.item);
      else if (found?.tick !== undefined) onTick(found.tick);
      else playhead.put(timeOf(x));
    },
    onHover: (x, y) => onHit(x === undefined ? undefined : hit(x, y)),
  });
}

/** Returns the lanes, the undone work, the span of the newest lines, and the span of all work. */
function useLanes({ items, ticks, sessions, isFiltered }: LanesProps) {
  const now = useNow();
  const lanes = useMemo(
    () => lanesOf({ items, sessions, ticks: ticks?.store, isFiltered, now }).slice(0, MOST_LANES),
    [items, sessions, ticks, isFiltered, now],
  );
  const undone = useMemo(() => undoneWork(items, ticks?.store), [items, ticks]);
  // At first, only the time of the newest lines is shown. In a view of several years, the newest work would be in a
  // single column.
  const newest = useMemo(() => wholeSpan(items.map(({ timestamp }) => Date.parse(timestamp))), [items]);
  const whole = useMemo(() => wholeSpan([...(ticks?.store.span() ?? []), newest.from, newest.to]), [ticks, newest]);
  return { lanes, undone, newest, whole };
}

/** Asks for older lines while time before the oldest line is shown, once for each new oldest line. */
function useOlder(isBefore: boolean, oldest: number, onOldest: () => void): void {
  useEffect(() => {
    if (isBefore) onOldest();
    // oxlint-disable-next-line react/exhaustive-deps -- `onOldest` is made anew in each render
  }, [isBefore, oldest]);
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

function PlayheadHint({ playhead: { moment, item } }: { readonly playhead: Playhead }) {
  if (moment === undefined)
    return <span className="quiet">Click or drag on the time above to see the files of that moment.</span>;
  return <span className="quiet">{item === undefined ? moment : `The files after ${visible(item.summary)}`}</span>;
}
