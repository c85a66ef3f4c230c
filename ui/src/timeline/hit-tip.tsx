import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import { useWorkspaceApi } from "../data/api.ts";
import { outcomeWords } from "../parts/outcome.tsx";
import { clockTime } from "../parts/time.tsx";
import { counted, visible } from "../parts/words.ts";
import { NAMES_PX } from "./draw-lanes.ts";
import type { Hit } from "./hit.ts";
import { itemOfTick, nameOfTick, tickEventQuery } from "./tick-event.ts";
import type { TickAt } from "./tick-store.ts";
import { positionOf, type Span } from "./time-scale.ts";

interface HitTipProps {
  readonly workspace: string;
  readonly hit: Hit;
  readonly items: readonly RecentItem[];
  readonly span: Span;
  readonly width: number;
}

/** The time, in milliseconds, for which the pointer must rest on a tick before the name of the tick is read. */
const REST_MS = 80;

/** Shows a description of the work under the pointer. */
export function HitTip({ workspace, hit: { time, item, tick, others }, items, span, width }: HitTipProps) {
  const x = NAMES_PX + positionOf(span, time, width - NAMES_PX);
  const line = item ?? (tick === undefined ? undefined : itemOfTick(items, tick));
  const ended = line === undefined ? "" : outcomeWords(line);
  const outcome = tick === undefined || tick.outcome === "done" ? ended : ended || OUTCOMES[tick.outcome];
  const trouble = outcome === "" ? "" : ` · ${outcome}`;
  return (
    <div className="mark-tip" style={{ left: Math.min(Math.max(8, x - 120), Math.max(8, width - 260)) }}>
      <span className="quiet">
        {clockTime(time)} · {item?.kind ?? tick?.kind}
        {trouble}
        {tick === undefined || tick.changed === 0 ? "" : ` · ${counted(tick.changed, "path")}`}
      </span>
      <span>
        {item !== undefined ? (
          visible(item.summary)
        ) : tick === undefined ? (
          ""
        ) : (
          <TickName {...{ workspace, tick, items }} />
        )}
      </span>
      {others === 0 ? null : <span className="quiet">and {others} more here: come closer (+)</span>}
    </div>
  );
}

const OUTCOMES: Readonly<Record<TickAt["outcome"], string>> = {
  done: "done",
  open: "at work",
  failed: "failed",
  denied: "denied",
  abandoned: "abandoned",
  conflict: "conflict",
};

interface TickNameProps {
  readonly workspace: string;
  readonly tick: TickAt;
  readonly items: readonly RecentItem[];
}

/**
 * Shows the name of a tick. If the list has a line for the work of the tick, the name is the summary of the line. If
 * not, the name comes from the last event of the tick.
 */
function TickName({ workspace, tick, items }: TickNameProps) {
  const on = useWorkspaceApi(workspace);
  const [isStill, setStill] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setStill(true), REST_MS);
    return () => clearTimeout(timer);
  }, []);
  const item = itemOfTick(items, tick);
  const { data } = useQuery({ ...tickEventQuery(on, tick.last), enabled: isStill && item === undefined });
  return visible(item?.summary ?? (data === undefined ? "…" : nameOfTick(data)));
}
