import { ROLE_VARIABLE } from "../../core/values/agents-role.ts";
import { RESIDENT_COMMANDS } from "../../daemon/command-call.ts";
import type { Input } from "../../process/input.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment variables that, if set, keep the long-lived process from carrying out a command. `CI`: no process may
 * outlive a job. `CHRONICLE_DIRECT`: the user does not want the long-lived process. `CHRONICLE_RUN` and the role: a run
 * sets them for its command, and the work of the command belongs to the run. `CHRONICLE_REMOTE`: the command asks a
 * server instead.
 */
const DIRECT_VARIABLES = ["CI", "CHRONICLE_DIRECT", "CHRONICLE_RUN", ROLE_VARIABLE, "CHRONICLE_REMOTE"];

/** True if each of `DIRECT_VARIABLES` is unset or empty. */
export function allowsResident(env: Environment): boolean {
  return DIRECT_VARIABLES.every((name) => (env[name] ?? "") === "");
}

/**
 * Returns the reason why the store's long-lived process may not carry out a command; `undefined` if it may. The
 * long-lived process touches only tracked folders, has its own waiting time for locks, and cannot tell a person from an
 * agent. Commands that need anything else are therefore left to the client.
 */
export function whyDirect(env: Environment, input: Input, command = "list"): string | undefined {
  if (!RESIDENT_COMMANDS.includes(command)) return "the command is not one for the process";
  if (!allowsResident(env) || input.flag("direct")) return "it was asked for";
  // `restore` (of `versions`) is in this list, because a repeated `restoreVersion` is not recognised by its request id.
  const own = ["remote", "wait", "tokenFile", "to", "outside", "restore", "summary", "networkEvents"].find((name) =>
    input.has(name),
  );
  if (own !== undefined || input.flag("upstream")) return `--${own ?? "upstream"} is about the client`;
  if (input.flag("otr")) return "nothing is recorded";
  const persons = ["pin", "acceptDeletions"].some((name) => input.flag(name)) || input.list("onRecord").length > 0;
  return persons ? "only a person may do it" : undefined;
}
