import { type PointerEvent, type RefObject, useEffect, useRef } from "react";
import { NAMES_PX } from "./draw-lanes.ts";

type OnWheel = (event: WheelEvent, share: number) => void;

/**
 * Calls `onWheel` for each wheel event above the canvas. `share`: the position of the pointer in the shown time, from 0
 * to 1.
 */
export function useWheel(ref: RefObject<HTMLCanvasElement | null>, onWheel: OnWheel): void {
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

export interface Drag {
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

/**
 * Returns the pointer handlers of a canvas. A drag moves the shown time or the playhead. A press without a move is a
 * click.
 */
export function useDrag({ isPlayhead, onPlayhead, onMove, onClick, onHover }: Drag) {
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
