import { join } from "node:path";
import { baseEnv, runCommand, type Command } from "./command.ts";
import type { Tool } from "./tool.ts";

/** restic with its repository and its cache on the same disk as the tree. */
export const resticTool: Tool = {
  name: "restic",
  begin(tree, store) {
    const repository = join(store, "repository");
    const env = {
      ...baseEnv(store),
      RESTIC_PASSWORD: "bench",
      RESTIC_REPOSITORY: repository,
      RESTIC_CACHE_DIR: join(store, "cache"),
    };
    const restic = (...args: string[]): Command => ({ argv: ["restic", "--quiet", ...args], cwd: tree, env });
    runCommand(restic("init"));
    return {
      tree,
      store: repository,
      record: () => [restic("backup", ".")],
      restoreTo: (folder) => [restic("restore", "latest", "--target", folder)],
      collect: () => [restic("prune")],
    };
  },
};
