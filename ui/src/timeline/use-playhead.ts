import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { TickStore } from "./tick-store.ts";

export interface Playhead {
  /** The recorded state at the playhead, as `seq:N`; `undefined` if there is no playhead. */
  readonly moment: string | undefined;
  /** The work right before the playhead, if it is loaded. */
  readonly item: RecentItem | undefined;
  /** The time at which the playhead stands, in epoch milliseconds. */
  readonly time: number | undefined;
  /** Puts the playhead after the last work before a time, in epoch milliseconds; `undefined` removes it. */
  readonly put: (time: number | undefined) => void;
  /** Moves the playhead by one piece of work: 1 forward, -1 back. Returns false at the end. */
  readonly step: (by: 1 | -1) => boolean;
}

/**
 * The playhead stands at the state after some work. The address has its event, so that others see the same state. It
 * moves from line to line of the list, and before the oldest loaded line, from tick to tick.
 */
export function usePlayhead(items: readonly RecentItem[], ticks: TickStore | undefined): Playhead {
  const { at } = useSearch({ from: "/w/$workspace/" });
  const navigate = useNavigate({ from: "/w/$workspace/" });
  const place = at === undefined ? -1 : placeOf(items, at);
  const go = useCallback(
    (seq: number | undefined): void => {
      const moment = seq === undefined ? undefined : `seq:${seq}`;
      if (moment === at) return;
      void navigate({
        replace: true,
        // The panel at the side is for the playhead, or for selected work.
        search: ({ at: _former, work: _selected, ...rest }) => (moment === undefined ? rest : { ...rest, at: moment }),
      });
    },
    [at, navigate],
  );
  const step = useCallback(
    (by: 1 | -1): boolean => {
      // The newest item is the first.
      const next = at === undefined ? items[0] : place < 0 ? undefined : items[place - by];
      const seq = next?.to_seq ?? tickBeside(ticks, at, by);
      if (seq !== undefined) go(seq);
      return seq !== undefined && (place < 0 || place - by > 0);
    },
    [items, ticks, place, at, go],
  );
  const item = items[place];
  return {
    moment: at,
    item,
    time: item === undefined ? timeOf(ticks, at) : Date.parse(item.timestamp),
    step,
    put: (time) => {
      if (time === undefined) return go(undefined);
      const found = lastBefore(items, time);
      const row = found === undefined ? ticks?.lastBy(time) : undefined;
      go(found?.to_seq ?? (row === undefined ? items.at(-1)?.to_seq : ticks?.lastAt(row)));
    },
  };
}

/**
 * Returns the work at the latest time up to a time, from the newest items to the oldest. If a clock was wrong, that is
 * not the first one in the list: the playhead goes where somebody points.
 */
export function lastBefore(items: readonly RecentItem[], time: number): RecentItem | undefined {
  let best: RecentItem | undefined;
  let latest = Number.NEGATIVE_INFINITY;
  for (const item of items) {
    const at = Date.parse(item.timestamp);
    if (at <= time && at > latest) [best, latest] = [item, at];
  }
  return best;
}

function placeOf(items: readonly RecentItem[], at: string): number {
  const seq = seqOf(at);
  return items.findIndex(({ to_seq }) => to_seq <= seq);
}

function seqOf(at: string): number {
  return Number(at.replace("seq:", ""));
}

function tickBeside(ticks: TickStore | undefined, at: string | undefined, by: 1 | -1): number | undefined {
  const row = at === undefined ? undefined : ticks?.beside(seqOf(at), by);
  return row === undefined ? undefined : ticks?.lastAt(row);
}

function timeOf(ticks: TickStore | undefined, at: string | undefined): number | undefined {
  const row = at === undefined ? undefined : ticks?.beside(seqOf(at), 0);
  return row === undefined ? undefined : ticks?.endedAt(row);
}
