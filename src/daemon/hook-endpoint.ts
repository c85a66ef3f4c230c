import type { WorkspaceApi } from "../api/workspace-api.ts";
import { answerHook, type HookAnswer, type PromptReader } from "../hooks/answer-hook.ts";
import { hookAdapter } from "../hooks/adapters.ts";
import type { HookParts } from "../hooks/perform-hook.ts";
import type { Lease, OpenWorkspaces } from "../server/callers/open-workspaces.ts";
import type { ServerRoute } from "../server/answers/server-route.ts";
import type { Disk } from "../disk/disk.ts";
import type { Guarded } from "../hooks/refuse-persons-commands.ts";
import { agentProcess } from "./agent-process.ts";
import { promptReader } from "./prompt-reader.ts";
import { FileNotes, KeptNotes } from "./file-notes.ts";
import { isOwnCall, rememberCall } from "./last-call.ts";

/** The time without calls after which the note of a session is removed, in milliseconds (thirty days). */
const NOTES_MS = 30 * 86_400_000;

/** The minimum time between two writes of the time of an agent's last call, in milliseconds. */
const REMEMBER_MS = 10_000;

interface HookEndpointOptions {
  readonly disk: Disk;
  /** The folder for notes and diagnostics: `<store>/run`. */
  readonly folder: string;
  readonly version: string;
  readonly workspaces: OpenWorkspaces;
  readonly guarded: Guarded;
  readonly diagnose: (line: string) => void;
}

/** Answers the calls of agents' hooks. Records the last call of each agent. The constructor removes old notes. */
export class HookEndpoint {
  readonly route: ServerRoute;
  readonly #options: HookEndpointOptions;
  readonly #remembered = new Map<string, number>();

  constructor(options: HookEndpointOptions) {
    this.#options = options;
    const { disk, folder, workspaces, guarded } = options;
    const files = new FileNotes(disk, folder);
    files.removeOlder(Date.now() - NOTES_MS);
    const parts = {
      notes: new KeptNotes(files),
      ...{ workspaces, guarded },
      ownerOf: (parent: number) => agentProcess(disk, parent),
      lastPrompt: promptReader(disk),
    };
    this.route = hookRoute(parts, (agent, answer) => this.#onHook(agent, answer));
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

/**
 * The maximum size of a body, in bytes. A body contains the input and the response of a tool, which sometimes have tens
 * of megabytes.
 */
const MAX_BODY = 256 * 1024 * 1024;

type RouteParts = Omit<HookParts, "owner" | "open" | "strict"> & {
  readonly workspaces: OpenWorkspaces;
  /** Returns the id of the agent's process. `parent`: the id of the process that started the agent's hook. */
  readonly ownerOf: (parent: number) => number | null;
  readonly lastPrompt: PromptReader;
};

/**
 * Returns the route `POST /hooks/<agent>[?strict=1]`. The answer to a request is the output that the agent's hook must
 * print.
 */
function hookRoute(parts: RouteParts, onAnswer: (agent: string, answer: HookAnswer) => void): ServerRoute {
  return {
    method: "POST",
    path: "/hooks/:agent",
    maxBody: MAX_BODY,
    async handle({ params, query, headers, body }) {
      const adapter = hookAdapter(params["agent"] ?? "");
      const strict = query.get("strict") === "1";
      const owner = parts.ownerOf(Number(headers["x-chronicle-parent"]));
      const { notes, workspaces, guarded, lastPrompt } = parts;
      const leases: Lease[] = [];
      const open = async (folder: string, create: boolean): Promise<WorkspaceApi> => {
        const lease = await workspaces.openFolder(folder, create);
        leases.push(lease);
        return lease.workspace.as({ role: "agent" });
      };
      try {
        const answer = await answerHook({
          ...{ notes, open, owner, adapter, strict, guarded, lastPrompt },
          input: body.toString("utf8"),
        });
        onAnswer(answer.agent ?? adapter.name, answer);
        const problem =
          answer.problem === undefined ? {} : { "x-chronicle-problem": encodeURIComponent(answer.problem) };
        return { status: 200, headers: { "content-type": "application/json", ...problem }, body: answer.stdout };
      } finally {
        for (const lease of leases) lease[Symbol.dispose]();
      }
    },
  };
}
