import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { answerHook, type HookAnswer, type PromptReader } from "../../src/hooks/answer-hook.ts";
import type { HookAdapter } from "../../src/hooks/hook-call.ts";
import type { SessionNote, SessionNotes } from "../../src/hooks/session-note.ts";
import type { Project } from "../helpers/project.ts";

/** Notes in memory. */
export class MapNotes implements SessionNotes {
  readonly notes = new Map<string, SessionNote>();
  get(session: string): SessionNote | undefined {
    return this.notes.get(session);
  }
  put(session: string, note: SessionNote): void {
    this.notes.set(session, note);
  }
  remove(session: string): void {
    this.notes.delete(session);
  }
}

/** Throws if the hook had something to say. */
export function quiet({ stdout, problem }: HookAnswer): void {
  if (stdout !== "" || problem !== undefined) throw new Error(`the hook said ${stdout} ${problem}`);
}

/** An agent at work in a project: its hooks are answered as the installed command answers them. */
export class Agent {
  readonly notes = new MapNotes();
  /** The notes of the process that answers now. */
  answering: SessionNotes = this.notes;
  readonly #adapter: HookAdapter;
  readonly #project: Project;
  readonly #open: (folder: string, create: boolean) => Promise<WorkspaceApi>;
  readonly #strict: boolean;
  readonly #conversation: () => string | undefined;

  constructor(
    adapter: HookAdapter,
    project: Project,
    {
      open,
      strict = false,
      conversation = () => undefined,
    }: {
      readonly open?: (folder: string, create: boolean) => Promise<WorkspaceApi>;
      readonly strict?: boolean;
      readonly conversation?: () => string | undefined;
    } = {},
  ) {
    this.#adapter = adapter;
    this.#project = project;
    let workspace: Promise<WorkspaceApi> | undefined;
    this.#open = open ?? (() => (workspace ??= project.open({ create: true, role: "agent" })));
    this.#strict = strict;
    this.#conversation = conversation;
  }

  hears(event: string, more: object = {}) {
    const input = { session_id: "s1", cwd: this.#project.folder, hook_event_name: event, ...more };
    const base = { adapter: this.#adapter, notes: this.answering, owner: null, open: this.#open, strict: this.#strict };
    const lastPrompt: PromptReader = (_path, form) => {
      const text = this.#conversation();
      return text === undefined ? undefined : form.lastPrompt(text);
    };
    const rest = { guarded: { folders: [], variables: {} }, lastPrompt };
    return answerHook({ ...base, ...rest, input: JSON.stringify(input) });
  }

  async #call(
    tool: string,
    toolInput: object,
    work: () => void,
    { id, end = "PostToolUse" }: { id: string; end?: string },
  ) {
    const call = { tool_name: tool, tool_input: toolInput, tool_use_id: id, prompt_id: "t1" };
    quiet(await this.hears("PreToolUse", call));
    work();
    quiet(await this.hears(end, call));
  }

  writes(path: string, content: string, id: string) {
    return this.#call("Write", { file_path: this.#project.at(path) }, () => this.#project.write(path, content), { id });
  }

  runs(command: string, work: () => void, id: string) {
    return this.#call("Bash", { command }, work, { id });
  }
}
