import { existsSync } from "node:fs";
import { join } from "node:path";
import type { AgentProgram } from "./agent-program.ts";

/** Where CI installs the agents (`scripts/install-test-agents.js`); elsewhere whoever runs the tests says it, or not. */
const folder = process.env["CHRONICLE_TEST_AGENTS"] ?? "";

/** A missing program is then a failure. */
export const agentsRequired = (process.env["CHRONICLE_REQUIRE_AGENTS"] ?? "") !== "";

/** `node_modules` with the agents. */
export const agentModules = join(folder, "node_modules");

/** Whether a program is there; says it loudly if it is not and may be missing. */
export function isInstalled(program: AgentProgram): boolean {
  if (folder !== "" && program.command(agentModules).every((part) => existsSync(part))) return true;
  if (!agentsRequired) {
    console.warn(`SKIPPED, SO NOT TESTED: ${program.name} is not there; AGENTS.md says how to get it`);
  }
  return false;
}
