import { queryOptions } from "@tanstack/react-query";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { LogEventShape } from "../../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../../src/api/workspace-api.ts";
import { type WorkRef, workOf } from "../data/work-ref.ts";
import { laneKey, type TickAt } from "./tick-store.ts";

/**
 * Returns the query that reads the last event of a tick; its result is `null` if the log no longer has the event. The
 * result never becomes outdated, because events never change.
 */
export function tickEventQuery(on: WorkspaceApi, seq: number) {
  return queryOptions({
    queryKey: ["event", on.id, seq],
    queryFn: async (): Promise<LogEventShape | null> => (await on.log({ from: seq, to: seq, limit: 1 }))[0] ?? null,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}

/**
 * Returns the line of the list that stands for exactly the work of a tick. Returns `undefined` if there is no such
 * line, for example for an action within a turn.
 */
export function itemOfTick(items: readonly RecentItem[], tick: TickAt): RecentItem | undefined {
  if (isOfTurn(tick)) return undefined;
  const isWithin = (item: RecentItem): boolean => item.from_seq < tick.last && tick.last <= item.to_seq;
  return items.find((item) => isWithin(item) && item.kind !== "turn" && laneKey(item) === tick.lane.key);
}

function isOfTurn({ kind, turn }: TickAt): boolean {
  return turn !== undefined && (kind === "tool" || kind === "command");
}

/** Returns the name of the work whose last event this is. */
export function nameOfTick(event: LogEventShape | null): string {
  if (event === null) return "older than the kept log";
  const { record_id: id } = event;
  const { summary, command, name, message, number } = event.record as Readonly<Record<string, unknown>>;
  if (typeof summary === "string") return summary;
  if (Array.isArray(command)) return command.join(" ");
  if (typeof name === "string" || typeof message === "string")
    return [name, message].filter((one) => typeof one === "string").join(": ");
  if (typeof number === "number") return number === 0 ? "baseline" : `snapshot ${number}`;
  return id.slice(id.indexOf(":") + 1);
}

/** Returns the work of a tick, as the address names it. */
export function workOfTick(items: readonly RecentItem[], tick: TickAt, event: LogEventShape | null): WorkRef {
  const { record_id: recordId = "" } = event ?? {};
  const id = recordId.slice(recordId.indexOf(":") + 1);
  if (recordId.startsWith("action:")) return { select: { action: id } };
  const item = itemOfTick(items, tick);
  if (item !== undefined) return workOf(item);
  if (recordId.startsWith("session:")) return { select: { session: id } };
  const range = { from: `seq:${tick.first - 1}`, to: `seq:${tick.last}` };
  return recordId.startsWith("intent:") ? { ...range, operation: id } : range;
}
