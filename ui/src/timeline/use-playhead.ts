import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";

export interface Playhead {
  /** The recorded state at the playhead, as `seq:N`; `undefined` if there is no playhead. */
  readonly moment: string | undefined;
  /** The work right before the playhead, if it is loaded. */
  readonly item: RecentItem | undefined;
  /** Puts the playhead after the last work before a time, in epoch milliseconds; `undefined` removes it. */
  readonly put: (time: number | undefined) => void;
  /** Moves the playhead by one piece of work: 1 forward, -1 back. Returns false at the end. */
  readonly step: (by: 1 | -1) => boolean;
}

/** The playhead stands at the state after some work. The address has its event, so that others see the same state. */
export function usePlayhead(items: readonly RecentItem[]): Playhead {
  const { at } = useSearch({ from: "/w/$workspace/" });
  const navigate = useNavigate({ from: "/w/$workspace/" });
  const place = at === undefined ? -1 : placeOf(items, at);
  const go = useCallback(
    (item: RecentItem | undefined): void => {
      const moment = item === undefined ? undefined : `seq:${item.to_seq}`;
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
      // A playhead before the oldest loaded line cannot be moved from here.
      if (place < 0 && at !== undefined) return false;
      // The newest item is the first.
      const next = items[place < 0 ? 0 : place - by];
      if (next !== undefined) go(next);
      return next !== undefined && place - by > 0;
    },
    [items, place, at, go],
  );
  return {
    moment: at,
    item: items[place],
    step,
    put: (time) => go(time === undefined ? undefined : (lastBefore(items, time) ?? items.at(-1))),
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
  const seq = Number(at.replace("seq:", ""));
  return items.findIndex(({ to_seq }) => to_seq <= seq);
}
