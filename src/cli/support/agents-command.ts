import { type Around, ROLE_VARIABLE, WHO_CAN, type WorkAround } from "../../core/values/agents-role.ts";
import { ChronicleError } from "../../core/values/errors.ts";
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
 * The commands that are restricted for agents. `mv`, `bisect`, `restore --to`, `turns` and `rewind` do or show less for
 * an agent; the other commands are refused. Each function returns true if the restriction applies with the given
 * options. The ancestors of the process are checked only if the restriction applies.
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
  export: (input) => input.flag("withKey") || input.flag("withProtected") || input.flag("withPrivate"),
  import: (input) => input.text("from") === undefined,
  init: changesOrTakesOver,
  workspaces: verb("archive", "unarchive"),
  verify: (input) => input.list("repairFrom").length > 0,
  agents: verb("install", "uninstall"),
  token: verb("create", "revoke"),
  ui: always,
  watch: (input) => input.flag("install") || input.flag("uninstall"),
  restore: (input) => input.text("to") !== undefined,
  bisect: always,
  mv: always,
  turns: always,
  rewind: always,
  sync: (input) => input.flag("withProtected") || decidesHaltedSync(input),
  replicate: (input) => input.flag("withProtected"),
};

/**
 * True if an agent, or a command that a run has started, runs this command. `$CHRONICLE_ROLE` with the value `agent` is
 * enough. Otherwise, the ancestors of the process are checked, but only for the commands in `PERSONS`. The store's
 * long-lived process throws `NeedsClient` for these commands.
 */
export async function isAgents(io: Io, input: Input, command = ""): Promise<boolean> {
  if (io.env[ROLE_VARIABLE] === "agent") return true;
  if (!Object.hasOwn(PERSONS, command) || PERSONS[command]?.(input) !== true) return false;
  if (io.served !== undefined) throw io.served.needsClient("only a person may do this");
  return isWithinAgents(io, input);
}

/**
 * True if an ancestor of the process that runs the command belongs to a run, or to an agent that works in the store.
 * With `whose: "agents"`, runs do not count. The store's long-lived process throws `NeedsClient` if the ancestors of its
 * client are unknown.
 */
export async function isWithinAgents(io: Io, input: Input, whose?: Around): Promise<boolean> {
  return (await workAround(io, input, whose)) !== undefined;
}

async function workAround(io: Io, input: Input, whose?: Around): Promise<WorkAround | undefined> {
  if (io.served !== undefined) return io.served.startedWithin(whose);
  const places = placesOf({ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") });
  if (!isThere(places.home)) return undefined;
  const { startedWithin } = await import("../../open.ts");
  const store = await io.openStore(places);
  try {
    return await startedWithin(store, whose);
  } finally {
    await store.close();
  }
}

/**
 * Extends the hint of a refusal if the hint tells a person to use another terminal (`WHO_CAN`). The new hint names the
 * agent's session to which this terminal belongs, and says how that session ends. The refusal is returned unchanged if
 * this terminal belongs to no session, or if `$CHRONICLE_ROLE` is `agent`. Other errors are always returned unchanged.
 */
export async function withSession(error: unknown, io: Io, input: Input): Promise<unknown> {
  const isRefusal = error instanceof ChronicleError && error.code === "FORBIDDEN" && error.hint?.includes(WHO_CAN);
  if (isRefusal !== true || io.env[ROLE_VARIABLE] === "agent") return error;
  // If the store cannot be opened, the original refusal is returned.
  const around = await workAround(io, input, "agents").catch(() => undefined);
  if (around?.kind !== "session") return error;
  const { message, code, data, hint } = error;
  const { id, actor, pid } = around;
  const which = `here, the session ${id} of ${actor} is open, and its process ${pid} has started this command`;
  const how = "the session ends with that process, or when the agent reports the end of the session to its hook";
  return new ChronicleError(code, message, { hint: `${hint}\n${which}; ${how}`, data, cause: error });
}
