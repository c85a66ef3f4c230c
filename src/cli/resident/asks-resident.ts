import { ROLE_VARIABLE } from "../../core/values/agents-role.ts";
import { RESIDENT_COMMANDS } from "../../daemon/command-call.ts";
import type { Input } from "../../process/input.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Variables with which a command line does a command itself. `CI`: nothing may outlive a job. `CHRONICLE_RUN` and the role
 * are set for the command of a run, whose work belongs to the run.
 */
const DIRECT_VARIABLES = ["CI", "CHRONICLE_DIRECT", "CHRONICLE_RUN", ROLE_VARIABLE, "CHRONICLE_REMOTE"];

export function allowsResident(env: Environment): boolean {
  return DIRECT_VARIABLES.every((name) => (env[name] ?? "") === "");
}

/**
 * Returns the reason why the store's long-lived process may not carry out a command; `undefined` if it may. The process
 * touches only tracked folders, waits for locks as long as it was told itself, and does not know a person from an agent.
 */
export function whyDirect(env: Environment, input: Input, command = "list"): string | undefined {
  if (!RESIDENT_COMMANDS.includes(command)) return "the command is not one for the process";
  if (!allowsResident(env) || input.flag("direct")) return "it was asked for";
  // The log does not remember the request of `versions --restore`.
  const own = ["remote", "wait", "tokenFile", "to", "outside", "restore", "summary", "networkEvents"].find((name) =>
    input.has(name),
  );
  if (own !== undefined || input.flag("upstream")) return `--${own ?? "upstream"} is about the client`;
  if (input.flag("otr")) return "nothing is recorded";
  const persons = ["pin", "acceptDeletions"].some((name) => input.flag(name)) || input.list("onRecord").length > 0;
  return persons ? "only a person may do it" : undefined;
}
