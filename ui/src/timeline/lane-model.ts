import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { SessionShape } from "../../../src/api/shapes.ts";
import { actorName, hueOf } from "../parts/actor.tsx";
import type { Undone } from "./draw-ticks.ts";
import { laneKey, type TickLane, type TickStore } from "./tick-store.ts";

/** One row of the timeline: an actor, with its sessions and its work. */
export interface Lane {
  readonly key: string;
  readonly name: string;
  readonly hue: number;
  /** The sessions and runs, from their start to their end. */
  readonly bars: readonly Bar[];
  /** All work of the actor; `undefined` until the ticks are read. */
  readonly ticks: TickLane | undefined;
  /**
   * The lines of the list that are drawn as marks. Until the ticks are read, these are all lines. After that, the lines
   * that fit the filters; without filters, no lines.
   */
  readonly marks: readonly Mark[];
}

interface Bar {
  readonly from: number;
  readonly to: number;
  readonly isOpen: boolean;
}

/** One line of the list, at the time at which its work ended. */
export interface Mark {
  readonly time: number;
  readonly item: RecentItem;
  readonly shape: "work" | "back" | "edit" | "point";
}

const SHAPES: Partial<Record<RecentItem["kind"], Mark["shape"]>> = {
  undo: "back",
  redo: "back",
  restore: "back",
  edit: "edit",
  watch: "edit",
  snapshot: "point",
  baseline: "point",
};

/** The data from which the lanes are made. */
export interface LaneSources {
  readonly items: readonly RecentItem[];
  readonly sessions: readonly SessionShape[];
  readonly ticks: TickStore | undefined;
  /** True if filters have limited the items to a part of the work. The items are then drawn above the ticks. */
  readonly isFiltered: boolean;
  readonly now: number;
}

/** Returns a lane for each actor. The actor who was at work last comes first. */
export function lanesOf({ items, sessions, ticks, isFiltered, now }: LaneSources): Lane[] {
  const byActor = Map.groupBy(items, laneKey);
  const known = new Map(items.map((item) => [item.session ?? item.id, laneKey(item)]));
  const bars = Map.groupBy(sessions, ({ session_id: id, actor }) => ticks?.laneOfSession(id) ?? known.get(id) ?? actor);
  const lane = (key: string, who: RecentItem["who"], actor: string, own: TickLane | undefined): Lane => ({
    ...{ key, hue: hueOf(key), name: who === "command" ? "commands" : actorName(actor, who) },
    bars: (bars.get(key) ?? []).map((one) => barOf(one, now)),
    ticks: own,
    marks: own === undefined || isFiltered ? marksOf(byActor.get(key) ?? []) : [],
  });
  if (ticks !== undefined && ticks.size > 0)
    return ticks.lanes().map((own) => lane(own.key, own.actor.who, own.actor.actor, own));
  return [...byActor].flatMap(([key, [newest]]) =>
    newest === undefined ? [] : lane(key, newest.who, newest.actor, undefined),
  );
}

function barOf({ started, ended }: SessionShape, now: number): Bar {
  return { from: Date.parse(started), to: ended === null ? now : Date.parse(ended), isOpen: ended === null };
}

function marksOf(items: readonly RecentItem[]): Mark[] {
  return items.map((item) => ({ time: Date.parse(item.timestamp), item, shape: SHAPES[item.kind] ?? "work" }));
}

/** A place in a lane. */
export interface Spot {
  readonly lane: string;
  readonly time: number;
}

/**
 * Returns the places of a line's work: for a turn, one for each of its actions, and for any other work, the time at
 * which it ended. The same applies to a turn whose ticks are not read.
 */
export function spotsOf(item: RecentItem, ticks: TickStore | undefined): readonly Spot[] {
  const turn = item.kind === "turn" ? (ticks?.turnNumber(item.session ?? "", item.id) ?? -1) : -1;
  const actions = turn < 0 ? [] : (ticks?.endsOfTurn(turn) ?? []);
  return actions.length > 0 ? actions : [{ lane: laneKey(item), time: Date.parse(item.timestamp) }];
}

/**
 * Returns the undone work, which is drawn hollow. Work that is older than the lines of the list is missing, because the
 * page does not know whether it was undone.
 */
export function undoneWork(items: readonly RecentItem[], ticks: TickStore | undefined): Undone {
  const undone = items.filter((item) => item.undone === true);
  const turns = undone.filter(({ kind }) => kind === "turn");
  return {
    turns: new Set(turns.map(({ session = "", id }) => ticks?.turnNumber(session, id) ?? -1).filter((one) => one >= 0)),
    events: new Set(undone.filter(({ kind }) => kind !== "turn").map((one) => one.to_seq)),
  };
}
