import type { WorkspaceApi } from "../api/workspace-api.ts";
import { answerHook, type HookAnswer } from "../hooks/answer-hook.ts";
import { hookAdapter } from "../hooks/adapters.ts";
import type { HookParts } from "../hooks/perform-hook.ts";
import type { Lease, OpenWorkspaces } from "../server/callers/open-workspaces.ts";
import type { Route } from "../server/answers/route.ts";

/** The call contains a tool's input and response; agents sometimes write files of tens of megabytes. */
const MAX_BODY = 256 * 1024 * 1024;

/** The parts that all hooks share; the agent's process comes with each call. */
export type RouteParts = Omit<HookParts, "owner" | "open"> & {
  readonly workspaces: OpenWorkspaces;
  /** Finds the agent's process from the program that started its hook. */
  readonly ownerOf: (parent: number) => number | null;
};

/** `POST /hooks/<agent>[?strict=1]`: returns the output that the agent's hook should print. */
export function hookRoute(parts: RouteParts, onAnswer: (agent: string, answer: HookAnswer) => void): Route {
  return {
    method: "POST",
    path: "/hooks/:agent",
    maxBody: MAX_BODY,
    async handle({ params, query, headers, body }) {
      const adapter = hookAdapter(params["agent"] ?? "");
      const strict = query.get("strict") === "1";
      const owner = parts.ownerOf(Number(headers["x-chronicle-parent"]));
      const { notes, workspaces, guarded } = parts;
      const leases: Lease[] = [];
      const open = async (folder: string, create: boolean): Promise<WorkspaceApi> => {
        const lease = await workspaces.openFolder(folder, create);
        leases.push(lease);
        return lease.workspace.as({ role: "agent" });
      };
      try {
        const answer = await answerHook({ notes, open, owner, adapter, strict, guarded, input: body.toString("utf8") });
        onAnswer(adapter.name, answer);
        const problem =
          answer.problem === undefined ? {} : { "x-chronicle-problem": encodeURIComponent(answer.problem) };
        return { status: 200, headers: { "content-type": "application/json", ...problem }, body: answer.stdout };
      } finally {
        for (const lease of leases) lease[Symbol.dispose]();
      }
    },
  };
}
