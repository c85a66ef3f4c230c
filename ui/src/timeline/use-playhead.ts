import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useEffectEvent } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { TickStore } from "./tick-store.ts";

export interface Playhead {
  /** The recorded state at the playhead, as `seq:N`; `undefined` if there is no playhead. */
  readonly moment: string | undefined;
  /** The work right before the playhead, if it is loaded. */
  readonly item: RecentItem | undefined;
  /** The time at which the playhead stands, in epoch milliseconds. */
  readonly time: number | undefined;
  /**
   * Sets the playhead right after the last work before a time, which is in epoch milliseconds. `undefined` removes the
   * playhead.
   */
  readonly put: (time: number | undefined) => void;
  /**
   * Moves the playhead by one piece of work: 1 forward, -1 back. Returns false once the playhead has reached the end.
   */
  readonly step: (by: 1 | -1) => boolean;
}

/**
 * Returns the playhead, which stands at the recorded state right after some work. The address of the page contains the
 * event of this state, so that everybody who opens the address sees the same state. The playhead moves from line to
 * line of the list. Before the oldest loaded line, it moves from tick to tick.
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
        // The panel at the side shows either the playhead's moment or the selected work, so the selection is removed.
        search: ({ at: _former, work: _selected, ...rest }) => (moment === undefined ? rest : { ...rest, at: moment }),
      });
    },
    [at, navigate],
  );
  const step = useCallback(
    (by: 1 | -1): boolean => {
      // The first item of `items` is the newest.
      const next = at === undefined ? items[0] : place < 0 ? undefined : items[place - by];
      const seq = next?.to_seq ?? tickBeside(ticks, at, by);
      if (seq !== undefined) go(seq);
      return seq !== undefined && (place < 0 || place - by > 0);
    },
    [items, ticks, place, at, go],
  );
  const put = (time: number | undefined): void => {
    if (time === undefined) return go(undefined);
    const found = lastBefore(items, time);
    const row = found === undefined ? ticks?.lastBy(time) : undefined;
    go(found?.to_seq ?? (row === undefined ? items.at(-1)?.to_seq : ticks?.lastAt(row)));
  };
  const onTime = useEffectEvent((time: number) => put(time));
  // If the address names a time, the playhead goes to the work before it once all work is known.
  const time = at === undefined || at.startsWith("seq:") ? Number.NaN : Date.parse(at);
  const isKnown = ticks !== undefined && !ticks.hasOlder;
  useEffect(() => {
    if (isKnown && !Number.isNaN(time)) onTime(time);
  }, [isKnown, time]);
  const item = items[place];
  return { moment: at, item, time: item === undefined ? timeOf(ticks, at) : Date.parse(item.timestamp), step, put };
}

/**
 * Returns the work with the latest time that is at or before the given time. The items begin with the newest. If a
 * clock was wrong, the first item at or before the given time is not always the one with the latest time. The latest
 * time decides, so that the playhead goes where a person points.
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
