import { existsSync } from "node:fs";
import { join } from "node:path";
import { baseEnv, type Command } from "./command.ts";
import type { Tool } from "./tool.ts";

/** The folder of Chronicle's package, with `bin` and `dist`. */
export const PACKAGE = join(import.meta.dirname, "../..");

/** The options of `init` that turn off all limits of a workspace. */
export const LIMITS_OFF = ["--max-entries", "0", "--max-bytes", "0", "--max-file-size", "0"];

/** Chronicle's command line without the store's long-lived process and without limits. Each command is one process. */
export const chronicleTool: Tool = {
  name: "chronicle",
  begin(tree, store) {
    const chronicle = chronicleCommand(tree, store);
    let begun = false;
    return {
      tree,
      store: join(store, "home"),
      record() {
        if (begun) return [chronicle("snapshot")];
        begun = true;
        return [chronicle("init", ...LIMITS_OFF)];
      },
      status: () => [chronicle("status")],
      restoreInPlace: () => [chronicle("restore", "baseline", "--yes")],
      backToFirst: () => [chronicle("restore", "baseline", "--yes")],
      restoreTo: (folder) => [chronicle("restore", "baseline", "--to", folder)],
      collect: () => [chronicle("gc")],
    };
  },
};

/**
 * Returns a function that makes `chronicle` commands for a tree. The store, the keys and the heads are in `store`. The
 * commands neither ask the store's long-lived process nor start it.
 */
export function chronicleCommand(tree: string, store: string): (...args: string[]) => Command {
  return commandsBy(join(PACKAGE, "bin", "chronicle.js"), tree, store);
}

/**
 * Like `chronicleCommand`, but with the client that users run. The client asks the store's long-lived process. If there
 * is no process, or if the process leaves the command to the client, the client runs the whole program. In the first
 * case the program also starts the process. `packageFolder`: the package of the client, by default `PACKAGE`.
 */
export function clientCommand(
  tree: string,
  store: string,
  packageFolder: string = PACKAGE,
): (...args: string[]) => Command {
  return commandsBy(join(packageFolder, "bin", "chronicle.cjs"), tree, store);
}

function commandsBy(bin: string, tree: string, store: string): (...args: string[]) => Command {
  if (!existsSync(join(bin, "../../dist/cli.js"))) throw new Error("dist/cli.js is missing: run `npm run build` first");
  const env = { ...baseEnv(store), XDG_CONFIG_HOME: join(store, "config") };
  const prefix = [process.execPath, bin, "--store", join(store, "home"), "-C", tree];
  return (...args) => ({ argv: [...prefix, ...args], cwd: tree, env });
}
