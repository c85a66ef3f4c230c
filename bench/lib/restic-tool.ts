import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { baseEnv, runCommand, type Command } from "./command.ts";
import type { Tool } from "./tool.ts";

/** restic with its repository and its cache on the same disk as the tree. */
export const resticTool: Tool = {
  name: "restic",
  begin(tree, store) {
    const repository = join(store, "repository");
    const restic = resticIn(repository, tree, store);
    runCommand({ argv: ["cp", "-a", emptyRepository(dirname(store), tree), repository], cwd: tree });
    return {
      tree,
      store: repository,
      record: () => [restic("backup", ".")],
      restoreTo: (folder) => [restic("restore", "latest", "--target", folder)],
      collect: () => [restic("prune")],
    };
  },
};

function resticIn(repository: string, tree: string, store: string): (...args: string[]) => Command {
  const env = {
    ...baseEnv(store),
    RESTIC_PASSWORD: "bench",
    RESTIC_REPOSITORY: repository,
    RESTIC_CACHE_DIR: join(store, "cache"),
  };
  return (...args) => ({ argv: ["restic", "--quiet", ...args], cwd: tree, env });
}

/**
 * Returns an empty repository in `folder`, to be copied. It is made once in a run, because `restic init` needs seconds
 * of processor time to choose the cost of the password.
 */
function emptyRepository(folder: string, tree: string): string {
  const empty = join(folder, "restic-empty");
  if (!existsSync(empty)) runCommand(resticIn(empty, tree, folder)("init"));
  return empty;
}
