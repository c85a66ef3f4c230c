import { type Around, ROLE_VARIABLE } from "../../core/values/agents-role.ts";
import type { Input } from "../../process/input.ts";
import type { Io } from "../../process/io.ts";
import { placesOf } from "../../process/places.ts";
import { isThere } from "../../process/user-files.ts";

const always = (): boolean => true;
const verb =
  (...words: readonly string[]) =>
  ({ args: [word = ""] }: Input): boolean =>
    words.includes(word);

function changesOrTakesOver(input: Input): boolean {
  const lists = ["exclude", "excludeGlob", "forceInclude"];
  const limits = ["maxEntries", "maxBytes", "maxFileSize"];
  return (
    input.text("adopt") !== undefined ||
    input.flag("force") ||
    !input.flag("gitignore") ||
    lists.some((name) => input.list(name).length > 0) ||
    limits.some((name) => input.number(name) !== undefined)
  );
}

/**
 * True if this command makes a decision about a halted sync that only a person may make: it accepts deletions, or
 * decides which of two copies continues.
 */
export function decidesHaltedSync(input: Input): boolean {
  return input.flag("acceptDeletions") || ["adopt-as-new", "rejoin"].includes(input.args[0] ?? "");
}

/**
 * The commands that are for persons only, with the condition on their options. For these commands, the ancestors of the
 * process are checked.
 */
const PERSONS: Readonly<Record<string, (input: Input) => boolean>> = {
  forget: always,
  prune: (input) => !input.flag("dryRun"),
  erase: (input) => !input.flag("dryRun"),
  unerase: (input) => input.args.length > 0,
  gc: always,
  compact: always,
  rebuild: always,
  pin: always,
  unpin: always,
  config: (input) => input.args.length > 1 || input.flag("clear"),
  head: (input) => input.flag("accept"),
  snapshot: (input) => input.flag("pin") || input.flag("acceptDeletions") || input.list("onRecord").length > 0,
  record: verb("compact"),
  init: changesOrTakesOver,
  workspaces: verb("archive", "unarchive"),
  verify: (input) => input.list("repairFrom").length > 0,
  agents: verb("install", "uninstall"),
  token: verb("create", "revoke"),
  restore: (input) => input.text("to") !== undefined,
  mv: always,
  sync: (input) => input.flag("withProtected") || decidesHaltedSync(input),
  replicate: (input) => input.flag("withProtected"),
};

/**
 * True if an agent, or a command that a run has started, runs this command. The ancestors of the process are checked
 * only for the commands in `PERSONS`.
 */
export async function isAgents(io: Io, input: Input, command = ""): Promise<boolean> {
  if (io.env[ROLE_VARIABLE] === "agent") return true;
  if (!Object.hasOwn(PERSONS, command) || PERSONS[command]?.(input) !== true) return false;
  return isWithinAgents(io, input);
}

/**
 * True if an ancestor of this process belongs to an agent that works in the store, or (except with `whose: "agents"`)
 * to a run.
 */
export async function isWithinAgents(io: Io, input: Input, whose?: Around): Promise<boolean> {
  const places = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
  if (!isThere(places.home)) return false;
  const { startedByAgent } = await import("../../open.ts");
  const store = await io.openStore(places);
  try {
    return await startedByAgent(store, whose);
  } finally {
    await store.close();
  }
}
