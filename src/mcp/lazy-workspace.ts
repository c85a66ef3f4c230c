import type { WorkspaceApi } from "../api/workspace-api.ts";
import { wasMoved } from "../core/tree/moved-folder.ts";

/** Who asks, and where. */
export interface Asked {
  /** The folders that the client works in; none: the server's own is meant. */
  readonly folders: readonly string[];
  /** The client's name, as it calls itself; empty where it does not. */
  readonly client: string;
}

/** How a workspace is found and opened. */
export type OpenWorkspace = (asked: Asked) => Promise<WorkspaceApi>;

/** Over HTTP, many clients may come: beyond these they share one workspace without a name. */
const MAX_CLIENTS = 8;

/**
 * The workspace of a server, for each client by name: opened at the first call that needs it, so that a client gets its
 * list of tools at once, and a folder that is not recorded yet may become so while the server runs.
 */
export class LazyWorkspace {
  readonly #open: OpenWorkspace;
  readonly #opening = new Map<string, Promise<Opened>>();
  /** Opened with other settings than those in force now; a call may still be at work with one. */
  readonly #outdated: WorkspaceApi[] = [];

  constructor(open: OpenWorkspace) {
    this.#open = open;
  }

  /**
   * The open workspace. A failure is not remembered: the next call tries again. What is tracked is taken over when a
   * workspace is opened: where that was changed meanwhile, it is opened anew.
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

  /** A client works in other folders now: its workspace is found anew with the next call. */
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
  /** What was tracked when it was opened. */
  readonly settings: string;
}

/** `undefined`: its folder was moved since it was opened. */
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
