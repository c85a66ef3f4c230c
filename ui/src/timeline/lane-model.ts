import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { SessionShape } from "../../../src/api/shapes.ts";
import { actorName, hueOf } from "../parts/actor.tsx";

/** One row of the timeline: an actor, with its sessions and its work. */
export interface Lane {
  readonly key: string;
  readonly name: string;
  readonly hue: number;
  /** The sessions and runs, from their start to their end. */
  readonly bars: readonly { readonly from: number; readonly to: number; readonly isOpen: boolean }[];
  readonly marks: readonly Mark[];
}

/** One piece of work, at the time at which it ended. */
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

/** Returns a lane for each actor. Whoever was at work last comes first. */
export function lanesOf(items: readonly RecentItem[], sessions: readonly SessionShape[], now: number): Lane[] {
  const byActor = Map.groupBy(items, laneKey);
  const known = new Map(items.map((item) => [item.session ?? item.id, laneKey(item)]));
  const bars = Map.groupBy(sessions, ({ session_id: id, actor }) => known.get(id) ?? actor);
  return [...byActor].flatMap(([key, own]) => {
    const [newest] = own;
    if (newest === undefined) return [];
    return {
      key,
      name: newest.who === "command" ? "commands" : actorName(newest.actor, newest.who),
      hue: hueOf(key),
      bars: (bars.get(key) ?? []).map(({ started, ended }) => ({
        from: Date.parse(started),
        to: ended === null ? now : Date.parse(ended),
        isOpen: ended === null,
      })),
      marks: own.map((item) => ({ time: Date.parse(item.timestamp), item, shape: SHAPES[item.kind] ?? "work" })),
    };
  });
}

function laneKey({ who, actor }: RecentItem): string {
  return who === "command" ? "command" : actor;
}
