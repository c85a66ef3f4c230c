import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useApi, useMayChange } from "../data/api.ts";
import { renewWorkspace } from "../data/live.ts";
import { useSyncs } from "../data/queries.ts";
import { workOf } from "../data/work-ref.ts";
import { type Plan, planOf } from "../undo/plan.ts";
import { chooseTheme } from "./theme.ts";

/** One line of the palette. */
export interface Entry {
  readonly key: string;
  readonly group: string;
  readonly label: string;
  /** The palette is closed once the promise resolves. If it rejects, the palette shows the error. */
  readonly go: () => void | Promise<unknown>;
}

/** The actions that the shell carries out for the palette. */
export interface PaletteActs {
  readonly onKeys: () => void;
  /** Shows a plan with its preview. `subject`: the work that the plan is about. */
  readonly onPlan: (plan: Plan, subject: string) => void;
}

/** The number of the newest lines among which the last turn is sought. */
const LATELY = 100;

/** Returns the commands that this person may give in this view. */
export function useCommands(workspace: string | undefined, acts: PaletteActs): readonly Entry[] {
  const own = useWorkspaceCommands(workspace, acts);
  return [
    ...own,
    commandOf("Copy the link to this view", () => navigator.clipboard.writeText(location.href)),
    commandOf("Theme: light", () => chooseTheme("light")),
    commandOf("Theme: dark", () => chooseTheme("dark")),
    commandOf("Theme: as the system", () => chooseTheme("system")),
    commandOf("Show the keys", acts.onKeys),
  ];
}

function commandOf(label: string, go: Entry["go"]): Entry {
  return { key: `command ${label}`, group: "command", label, go };
}

function useWorkspaceCommands(workspace: string | undefined, { onPlan }: PaletteActs): readonly Entry[] {
  const { client } = useApi();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const mayChange = useMayChange();
  const { data: syncs = [] } = useSyncs();
  if (workspace === undefined) return [];
  const on = client.workspace(workspace);
  const params = { workspace };
  const takeBack = async (): Promise<void> => {
    const { items } = await on.recent(LATELY, { kind: "turn" });
    const last = items.find((item) => item.undone !== true && item.open !== true);
    const plan = last === undefined ? undefined : planOf(workOf(last), last);
    if (last === undefined || plan === undefined) throw new Error("There is no turn to take back.");
    onPlan(plan, last.summary);
  };
  const snapshot = async (): Promise<void> => {
    await on.snapshot();
    await renewWorkspace(queries, workspace);
    await navigate({ to: "/w/$workspace", params });
  };
  const verify = commandOf("Verify the history", () =>
    navigate({ to: "/w/$workspace/integrity", params, search: { check: "all" } }),
  );
  const flush = syncs
    .filter((sync) => sync.id === workspace && sync.state !== "stopped")
    .map(({ id }) => commandOf("Flush the sync: wait until both sides are equal", () => client.syncs.flush(id)));
  if (!mayChange) return [verify];
  return [commandOf("Take back the last turn…", takeBack), commandOf("Take a snapshot", snapshot), verify, ...flush];
}
