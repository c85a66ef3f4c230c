import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ActionShape } from "../../../src/api/action-shapes.ts";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { LogEventShape } from "../../../src/api/shapes.ts";
import { useWorkspaceApi } from "../data/api.ts";
import { parseWork, workOf, workText } from "../data/work-ref.ts";
import { tickEventQuery, workOfTick } from "./tick-event.ts";
import type { TickAt } from "./tick-store.ts";

interface Selected {
  /** The selected work: a line, or an action within a turn. */
  readonly selected: RecentItem | undefined;
  /** The marked line of the list: the selected line, or the line of the turn to which the selected action belongs. */
  readonly line: RecentItem | undefined;
  /** True if the address names work that is neither a line of the list nor a known action. */
  readonly isMissing: boolean;
}

/**
 * Returns the work that the address names. An action within a turn has no line of its own, so it is read from the
 * server.
 */
export function useSelected(workspace: string, items: readonly RecentItem[], work: string | undefined): Selected {
  const on = useWorkspaceApi(workspace);
  const line = work === undefined ? undefined : items.find((one) => workText(workOf(one)) === work);
  const { action = "" } = (work === undefined || line !== undefined ? undefined : parseWork(work)?.select) ?? {};
  const { data, isLoading } = useQuery({
    queryKey: ["workspace", workspace, "action", action],
    queryFn: () => on.showAction(action),
    enabled: action !== "",
    retry: false,
  });
  if (line !== undefined || work === undefined) return { selected: line, line, isMissing: false };
  if (action === "" || data === undefined) return { selected: undefined, line: undefined, isMissing: !isLoading };
  const turn = items.find(({ kind, id, session }) => kind === "turn" && id === data.turn && session === data.session);
  return { selected: itemOfAction(data, turn), line: turn, isMissing: false };
}

/** Makes a line for an action that has no line in the list. */
function itemOfAction(action: ActionShape, turn: RecentItem | undefined): RecentItem {
  const { id, actor, session, changed, seq, from_seq } = action;
  return {
    ...{ kind: "action", id, short_id: id.slice(0, 8), timestamp: action.ended ?? action.timestamp },
    ...{ from_seq, to_seq: seq, summary: action.action_summary, actor, changed: changed ?? 0, paths: [], back: "" },
    who: turn?.who ?? (action.recursion_depth > 0 ? "sub-agent" : "agent"),
    ...(session === null ? {} : { session }),
    ...(action.state === "open" ? { open: true } : {}),
  };
}

/** Returns a function that selects the work of a tick. The last event of the tick says which work this is. */
export function useTickSelection(workspace: string, items: readonly RecentItem[]): (tick: TickAt) => void {
  const on = useWorkspaceApi(workspace);
  const queries = useQueryClient();
  const navigate = useNavigate({ from: "/w/$workspace/" });
  return (tick) => {
    const select = (event: LogEventShape | null): void => {
      const work = workText(workOfTick(items, tick, event));
      // The panel at the side shows either the selected work or the playhead's moment, so the playhead is removed.
      void navigate({ search: ({ at: _playhead, ...rest }) => ({ ...rest, work }) });
    };
    // If the event cannot be read, the tick's line in the list is selected or, without a line, the range of the tick's
    // events.
    void queries.fetchQuery(tickEventQuery(on, tick.last)).then(select, () => select(null));
  };
}
