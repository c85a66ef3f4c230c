import { ChronicleError } from "../../core/values/errors.ts";
import type { Io } from "../../process/io.ts";
import type { AgentConfig } from "./agent-config.ts";
import { agentStatus } from "./agent-status.ts";
import { AGENT_CONFIGS } from "./agent-table.ts";
import type { AgentBase } from "./install-agent.ts";
import type { HookPlaces } from "./installed-hook.ts";

/**
 * Returns sentences on agents whose hooks are installed and do not record everything. `folders`: those that may hold a
 * project's hooks.
 */
export function inactiveAgents(io: Io, places: HookPlaces, folders: readonly string[]): string[] {
  const bases = [
    { scope: "user", project: folders[0] ?? io.cwd() } as const,
    ...folders.map((project) => ({ scope: "project", project }) as const),
  ];
  const told = AGENT_CONFIGS.flatMap((agent) =>
    bases.flatMap((place) => {
      const base = { ...place, env: io.env, userHome: io.userHome };
      return inactive(io, agent, { base, places });
    }),
  );
  return [...new Set(told)];
}

function inactive(
  io: Io,
  agent: AgentConfig,
  where: { readonly base: AgentBase; readonly places: HookPlaces },
): readonly string[] {
  try {
    const { hooks, active, problems } = agentStatus(io, agent, where);
    const stop = problems.find(({ stops }) => stops);
    if (hooks.length === 0 || active || stop === undefined) return [];
    return [`${agent.title} may work unrecorded: ${stop.what} (${stop.hint})`];
  } catch (error) {
    // The agent's own variable names no valid place. Other agents do not depend on it.
    if (!(error instanceof ChronicleError) || error.code !== "USAGE") throw error;
    return [`${agent.title} may work unrecorded: ${error.message}`];
  }
}
