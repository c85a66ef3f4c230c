import type { WorkspaceApi } from "../api/workspace-api.ts";
import { wasMoved } from "../core/tree/moved-folder.ts";

export interface Asked {
  /** The client's folders. If there are none, the server's own folder is used. */
  readonly folders: readonly string[];
  /** The name that the client gives itself, or an empty string. */
  readonly client: string;
}

export type OpenWorkspace = (asked: Asked) => Promise<WorkspaceApi>;

/**
 * The maximum number of client names that get a workspace of their own. All further clients share one workspace, which
 * is opened for the empty name.
 */
const MAX_CLIENTS = 8;

/**
 * The workspaces of an MCP server, by client name. A workspace is opened at the first call that needs it. A client
 * therefore gets the list of tools at once, and a person can begin to record the folder while the server runs.
 */
export class LazyWorkspace {
  readonly #open: OpenWorkspace;
  readonly #opening = new Map<string, Promise<Opened>>();
  /** Workspaces that were replaced but may still be in use by a call. They are closed when the server is closed. */
  readonly #outdated: WorkspaceApi[] = [];

  constructor(open: OpenWorkspace) {
    this.#open = open;
  }

  /**
   * Returns the client's workspace. If the workspace cannot be opened, throws the error, and the next call tries again.
   * If the settings of the workspace have changed or its folder was moved, opens the workspace anew.
   */
  async get(name: string, folders: () => Promise<readonly string[]>): Promise<WorkspaceApi> {
    const client = this.#opening.has(name) || this.#opening.size < MAX_CLIENTS ? name : "";
    const opening = this.#opening.get(client) ?? this.#begin(client, folders);
    try {
      const { workspace, settings } = await opening;
      if ((await settingsInForce(workspace)) === settings) return workspace;
      if (this.#opening.get(client) === opening) {
        this.#opening.delete(client);
        this.#outdated.push(workspace);
      }
    } catch (error) {
      if (this.#opening.get(client) === opening) this.forget(client);
      throw error;
    }
    return this.get(name, folders);
  }

  /**
   * Makes the next `get` open the client's workspace anew. Called if the client's folders have changed, or if the
   * workspace could not be opened.
   */
  forget(client: string): void {
    const opening = this.#opening.get(client);
    if (opening === undefined) return;
    this.#opening.delete(client);
    void opening.then(
      ({ workspace }) => this.#outdated.push(workspace),
      () => undefined,
    );
  }

  #begin(client: string, folders: () => Promise<readonly string[]>): Promise<Opened> {
    const opening = this.#openNow(client, folders);
    this.#opening.set(client, opening);
    return opening;
  }

  async #openNow(client: string, folders: () => Promise<readonly string[]>): Promise<Opened> {
    const workspace = await this.#open({ folders: await folders(), client });
    return { workspace, settings: await settingsOf(workspace) };
  }

  async close(): Promise<void> {
    const all = await Promise.allSettled(this.#opening.values());
    this.#opening.clear();
    for (const one of all) if (one.status === "fulfilled") await one.value.workspace.close();
    for (const one of this.#outdated.splice(0)) await one.close();
  }
}

interface Opened {
  readonly workspace: WorkspaceApi;
  /** The workspace's configuration when it was opened, as JSON. */
  readonly settings: string;
}

/**
 * Returns the workspace's present configuration as JSON; `undefined` if the folder was moved after the workspace was
 * opened.
 */
async function settingsInForce(workspace: WorkspaceApi): Promise<string | undefined> {
  try {
    return await settingsOf(workspace);
  } catch (error) {
    if (wasMoved(error)) return undefined;
    throw error;
  }
}

async function settingsOf(workspace: WorkspaceApi): Promise<string> {
  return JSON.stringify(await workspace.config());
}
