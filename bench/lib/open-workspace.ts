import { join } from "node:path";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { openStore } from "../../src/open.ts";

/**
 * Records `tree` in a new store within `home`, without limits, and calls `work` with the open workspace, as in a
 * program that keeps its workspace open. Then closes the workspace and the store. Resolves to the result of `work`.
 */
export async function withWorkspace<T>(
  home: string,
  tree: string,
  work: (workspace: WorkspaceApi) => Promise<T>,
): Promise<T> {
  const store = await openStore({ home: join(home, "home"), configFolder: join(home, "config") });
  const { workspace } = await store.init({ roots: [tree], maxEntries: 0, maxBytes: 0, maxFileSize: 0 });
  const result = await work(workspace);
  await workspace.close();
  await store.close();
  return result;
}
