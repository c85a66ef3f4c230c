import type { Disk } from "../disk/disk.ts";
import type { HookAnswer } from "../hooks/answer-hook.ts";
import type { Guarded } from "../hooks/refuse-persons-commands.ts";
import type { OpenWorkspaces } from "../server/callers/open-workspaces.ts";
import type { Route } from "../server/answers/route.ts";
import { agentProcess } from "./agent-process.ts";
import { FileNotes, KeptNotes } from "./file-notes.ts";
import { hookRoute } from "./hook-route.ts";
import { isOwnCall, rememberCall } from "./last-call.ts";

/** A session that was silent for this long, in milliseconds, is over: thirty days. */
const NOTES_MS = 30 * 86_400_000;
/** The time of an agent's last call is written at most this often, in milliseconds. */
const REMEMBER_MS = 10_000;

export interface HookEndpointOptions {
  readonly disk: Disk;
  /** `<store>/run`. */
  readonly folder: string;
  readonly version: string;
  readonly workspaces: OpenWorkspaces;
  /** The files and folders that agents' shell commands must not touch. */
  readonly guarded: Guarded;
  /** Takes a line for the diagnostics. */
  readonly diagnose: (line: string) => void;
}

/** The endpoint at which the long-lived process answers hooks. */
export class HookEndpoint {
  readonly route: Route;
  readonly #options: HookEndpointOptions;
  readonly #remembered = new Map<string, number>();

  constructor(options: HookEndpointOptions) {
    this.#options = options;
    const { disk, folder, workspaces, guarded } = options;
    const files = new FileNotes(disk, folder);
    files.removeOlder(Date.now() - NOTES_MS);
    const doors = {
      notes: new KeptNotes(files),
      ...{ workspaces, guarded },
      ownerOf: (parent: number) => agentProcess(disk, parent),
    };
    this.route = hookRoute(doors, (agent, answer) => this.#onHook(agent, answer));
  }

  #onHook(agent: string, answer: HookAnswer): void {
    const { disk, folder, version, diagnose } = this.#options;
    if (answer.problem !== undefined) diagnose(`hook ${agent}: ${answer.problem}`);
    if (!isOwnCall(answer.call)) return;
    const now = Date.now();
    if (now - (this.#remembered.get(agent) ?? 0) < REMEMBER_MS) return;
    this.#remembered.set(agent, now);
    rememberCall(disk, folder, agent, { at: new Date(now).toISOString(), event: answer.call.kind, version });
  }
}
