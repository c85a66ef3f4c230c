import { COMMANDS } from "./command-table.ts";
import { outlivesProcess } from "../../api/store-address.ts";
import type { Input } from "../../process/input.ts";
import { shownCommand } from "../../process/printable.ts";

/**
 * Adds global options to each `chronicle` command in a text, so that the command reaches the same history when a user
 * types it.
 */
export type WithGlobalOptions = (text: string) => string;

/** The options that choose a history. Each pair has commander's name of the option and the flag that people type. */
const CHOICE = [
  ["directory", "-C"],
  ["store", "--store"],
  ["remote", "--remote"],
  ["tokenFile", "--token-file"],
  ["workspace", "-w"],
] as const;

/** Commands to which `-w` is not added, because they are about a whole store or about no existing history. */
const OF_NO_WORKSPACE = new Set([
  "workspaces",
  "init",
  "gc",
  "du",
  "forget",
  "unforget",
  "serve",
  "token",
  "agents",
  "doctor",
  "replicate",
]);
/** Commands to which no option is added, because they use no store. */
const OF_NOTHING = new Set(["completion", "help"]);
/** Commands to which no option of a server is added, because they only work on this machine. */
const HERE_ONLY = new Set(COMMANDS.filter((spec) => spec.localOnly !== undefined).map((spec) => spec.name));

const COMMAND = new RegExp(
  `\\bchronicle (-w \\S+ )?(?=(${COMMANDS.map((spec) => spec.name).join("|")})(?![\\w-]))`,
  "g",
);

/**
 * Returns a function that adds the global options of this command line to the commands in a text. The function adds to
 * each command only the options that apply to the command, and never replaces a `-w` in the text. It adds no
 * environment variables, because they stay in effect. Callers do not use the function for JSON output.
 */
export function withGlobalOptions(input: Pick<Input, "text">): WithGlobalOptions {
  const given = CHOICE.flatMap(([name, flag]) => {
    const value = input.text(name);
    // An empty --remote is added too, because it means that no server is used. A --store whose store exists only until
    // this command ends (`memory:`) is not added, because no later command can reach such a store.
    return value === undefined || (name === "store" && !outlivesProcess(value))
      ? []
      : [{ name, words: `${flag} ${shownCommand([value])} ` }];
  });
  if (given.length === 0) return (text) => text;
  return (text) =>
    text.replaceAll(COMMAND, (whole: string, named: string | undefined, command: string) => {
      if (OF_NOTHING.has(command)) return whole;
      const fits = given.filter(({ name }) => {
        if (name === "workspace") return named === undefined && !OF_NO_WORKSPACE.has(command);
        return (name !== "remote" && name !== "tokenFile") || !HERE_ONLY.has(command);
      });
      return `chronicle ${fits.map(({ words }) => words).join("")}${named ?? ""}`;
    });
}
