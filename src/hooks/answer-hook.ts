import { ChronicleError } from "../core/values/errors.ts";
import { writerOf } from "./adapters.ts";
import type { ConversationForm, HookAdapter, HookCall, HookPrompt } from "./hook-call.ts";
import { notUnderstood } from "./hook-input.ts";
import { refusePersonsCommand } from "./refuse-persons-commands.ts";
import { type HookParts, performHook, SnapshotRefused } from "./perform-hook.ts";

export interface HookAnswer {
  /** The whole text for the hook's stdout. The exit code is 0 in any case. */
  readonly stdout: string;
  /** True if the answer keeps the tool from running. */
  readonly blocked: boolean;
  /** A text for stderr and the diagnostics: the failure, the refusal, or a warning about a call that succeeded. */
  readonly problem?: string;
  /** The call of the hook; `undefined` if the input was not understood. */
  readonly call?: HookCall;
  /**
   * The name of the agent that called the hook. Set only if the hook is installed for another agent (see `writerOf`).
   */
  readonly agent?: string;
}

/** Reads the file of a conversation, and returns the person's last message in it; `undefined` if none can be read. */
export type PromptReader = (path: string, form: ConversationForm) => HookPrompt | undefined;

export interface HookRequest extends HookParts {
  /** The adapter of the agent in whose settings the hook is installed. */
  readonly adapter: HookAdapter;
  readonly input: string;
  readonly lastPrompt: PromptReader;
  /** Called as soon as the input is understood, before any work. */
  readonly onCall?: (call: HookCall) => void;
}

/** Answers a call of a hook. Never throws: the answer reports errors in the agent's form. */
export async function answerHook(request: HookRequest): Promise<HookAnswer> {
  let { adapter } = request;
  let known: Pick<HookAnswer, "call" | "agent"> = {};
  try {
    const input = parse(request.input);
    adapter = writerOf(adapter, input);
    const call = read(adapter, input, request);
    known = { call, ...(adapter === request.adapter ? {} : { agent: adapter.name }) };
    request.onCall?.(call);
    const refused = refusePersonsCommand(call, request.guarded);
    if (refused !== undefined) return blocked(adapter, refused, known);
    const told = await performHook(adapter, call, request);
    if (told === undefined) return { stdout: adapter.goOn(), blocked: false, ...known };
    return { stdout: adapter.goOn(`Chronicle: ${told}`), blocked: false, problem: told, ...known };
  } catch (error) {
    const told = inWords(error);
    const mayBlock = known.call === undefined || known.call.kind === "before";
    // The hook after a tool call can also throw `SnapshotRefused`. If the agent's calls are queued, this hook takes the
    // snapshot for the next call.
    if (error instanceof SnapshotRefused || (mayBlock && request.strict)) return blocked(adapter, told, known);
    const message = `Chronicle: this step is not recorded: ${told}`;
    return { stdout: adapter.goOn(message), blocked: false, problem: told, ...known };
  }
}

function read(adapter: HookAdapter, input: unknown, { lastPrompt }: HookRequest): HookCall {
  const { conversation } = adapter;
  const path = conversation?.pathFor(input);
  if (conversation === undefined || path === undefined) return adapter.read(input);
  return adapter.read(input, lastPrompt(path, conversation));
}

function blocked(adapter: HookAdapter, problem: string, known: Pick<HookAnswer, "call" | "agent">): HookAnswer {
  return { stdout: adapter.block(`Chronicle: ${problem}`, known.call), blocked: true, problem, ...known };
}

function parse(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch (cause) {
    throw notUnderstood(`it is no JSON (${cause instanceof Error ? cause.message : "not readable"})`);
  }
}

function inWords(error: unknown): string {
  if (error instanceof SnapshotRefused)
    return `the files that this step would change could not be kept: ${inWords(error.reason)}`;
  if (error instanceof ChronicleError)
    return error.hint === undefined ? error.message : `${error.message} (${error.hint})`;
  return error instanceof Error ? error.message : String(error);
}
