import { existsSync } from "node:fs";
import { join } from "node:path";
import { baseEnv, type Command } from "./command.ts";
import type { Tool } from "./tool.ts";

/** The folder with `bin` and `dist`. */
export const PACKAGE = join(import.meta.dirname, "../..");

/** For `init`: no limit of a workspace. */
export const LIMITS_OFF = ["--max-entries", "0", "--max-bytes", "0", "--max-file-size", "0"];

/** The command line without the long-lived process: launcher and bundle, a process for each command, limits off. */
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
      restoreTo: (folder) => [chronicle("restore", "baseline", "--to", folder)],
      collect: () => [chronicle("gc")],
    };
  },
};

/**
 * Makes commands of `chronicle` for a tree, with its store, key and heads in folders of their own. They are carried out
 * directly: they neither ask the store's long-lived process nor start it.
 */
export function chronicleCommand(tree: string, store: string): (...args: string[]) => Command {
  return commandsBy(join(PACKAGE, "bin", "chronicle.js"), tree, store);
}

/**
 * Makes the same commands as users give them: the client asks the store's long-lived process, starts it if it is not
 * there, and does what the process does not do. `packageFolder`: where the client lies, if it is another package.
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
