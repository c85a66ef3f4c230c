import { existsSync } from "node:fs";
import { join } from "node:path";
import { baseEnv, type Command } from "./command.ts";
import type { Tool } from "./tool.ts";

const BIN = join(import.meta.dirname, "../../bin/chronicle.js");
const BUNDLE = join(import.meta.dirname, "../../dist/cli.js");

/** The command line as users have it: launcher and bundle, a process for each command, limits off. */
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
        return [chronicle("init", "--max-entries", "0", "--max-bytes", "0", "--max-file-size", "0")];
      },
      status: () => [chronicle("status")],
      restoreInPlace: () => [chronicle("restore", "baseline", "--yes")],
      restoreTo: (folder) => [chronicle("restore", "baseline", "--to", folder)],
      collect: () => [chronicle("gc")],
    };
  },
};

/** Makes commands of `chronicle` for a tree, with its store, key and heads in folders of their own. */
export function chronicleCommand(tree: string, store: string): (...args: string[]) => Command {
  if (!existsSync(BUNDLE)) throw new Error("dist/cli.js is missing: run `npm run build` first");
  const env = { ...baseEnv(store), XDG_CONFIG_HOME: join(store, "config") };
  const prefix = [process.execPath, BIN, "--store", join(store, "home"), "-C", tree];
  return (...args) => ({ argv: [...prefix, ...args], cwd: tree, env });
}
