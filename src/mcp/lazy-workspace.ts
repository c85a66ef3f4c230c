import type { WorkspaceApi } from "../api/workspace-api.ts";

/** How a workspace is found and opened: for one of these folders, or, without any, for the server's own. */
export type OpenWorkspace = (folders: readonly string[]) => Promise<WorkspaceApi>;

/**
 * The workspace of a connection: opened at the first call that needs it, so that a client gets its list of tools at
 * once, and a folder that is not recorded yet may become so while the server runs.
 */
export class LazyWorkspace {
  readonly #open: OpenWorkspace;
  #opening: Promise<WorkspaceApi> | undefined;

  constructor(open: OpenWorkspace) {
    this.#open = open;
  }

  /** The open workspace. A failure is not remembered: the next call tries again. */
  async get(folders: () => Promise<readonly string[]>): Promise<WorkspaceApi> {
    this.#opening ??= folders().then(this.#open);
    const opening = this.#opening;
    try {
      return await opening;
    } catch (error) {
      if (this.#opening === opening) this.#opening = undefined;
      throw error;
    }
  }

  async close(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    const [opened] = opening === undefined ? [] : await Promise.allSettled([opening]);
    if (opened?.status === "fulfilled") await opened.value.close();
  }
}
