import type { WorkspaceApi } from "../api/workspace-api.ts";
import { wasMoved } from "../core/tree/moved-folder.ts";

/** The client for which a workspace is opened. */
export interface Asked {
  /** The folders that the client works in; if empty, the server's own folder is meant. */
  readonly folders: readonly string[];
  /** The client's own name for itself; empty if it gives none. */
  readonly client: string;
}

/** Finds and opens a workspace. */
export type OpenWorkspace = (asked: Asked) => Promise<WorkspaceApi>;

/**
 * The most client names with a workspace of their own. Further clients, over HTTP, share a workspace without a name.
 */
const MAX_CLIENTS = 8;

/**
 * The workspace of a server, for each client by name. It is opened at the first call that needs it, so that a client
 * gets its list of tools at once, and a folder may begin to be recorded while the server runs.
 */
export class LazyWorkspace {
  readonly #open: OpenWorkspace;
  readonly #opening = new Map<string, Promise<Opened>>();
  /** Workspaces opened with settings that are no longer in force; a call may still be using one. */
  readonly #outdated: WorkspaceApi[] = [];

  constructor(open: OpenWorkspace) {
    this.#open = open;
  }

  /**
   * Returns the open workspace. A failed opening is tried again at the next call. A workspace is opened anew if, since
   * it was opened, the settings of what is tracked have changed or its folder was moved.
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

  /** Forgets a client's workspace, as its folders have changed or it did not open: the next call finds it anew. */
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
  /** The settings of what is tracked, as of the workspace's opening. */
  readonly settings: string;
}

/** Returns the settings now in force; `undefined` if the workspace's folder was moved since it was opened. */
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
