import { ChronicleError } from "../core/values/errors.ts";
import type { HookAdapter, HookCall } from "./hook-call.ts";
import { notUnderstood } from "./hook-input.ts";
import { refusePersonsCommand } from "./refuse-persons-commands.ts";
import { type HookParts, performHook, SnapshotRefused } from "./perform-hook.ts";

export interface HookAnswer {
  /** The whole text for the hook's stdout. The exit code is 0 in any case. */
  readonly stdout: string;
  /** True if the answer keeps the tool from running. */
  readonly blocked: boolean;
  /** A text for stderr and the diagnostics: the failure, the refusal, or a warning of a call that succeeded. */
  readonly problem?: string;
  /** Undefined if the input was not understood. */
  readonly call?: HookCall;
}

export interface HookRequest extends HookParts {
  readonly adapter: HookAdapter;
  readonly input: string;
  /**
   * If true, a failure of the hook before a tool call keeps the tool from running. An input that is not understood also
   * keeps the tool from running, because the input may be about a tool call.
   */
  readonly strict: boolean;
  /** Called as soon as the input is understood, before any work. */
  readonly onCall?: (call: HookCall) => void;
}

/** Answers a call of a hook. Never throws: the answer reports errors in the agent's form. */
export async function answerHook(request: HookRequest): Promise<HookAnswer> {
  const { adapter } = request;
  let call: HookCall | undefined;
  try {
    call = adapter.read(parse(request.input));
    request.onCall?.(call);
    const refused = refusePersonsCommand(call, request.guarded);
    if (refused !== undefined) return blocked(adapter, call, refused);
    const told = await performHook(adapter, call, request);
    if (told === undefined) return { stdout: adapter.goOn(), blocked: false, call };
    return { stdout: adapter.goOn(`Chronicle: ${told}`), blocked: false, problem: told, call };
  } catch (error) {
    const told = inWords(error);
    const known = call === undefined ? {} : { call };
    const mayBlock = call === undefined || call.kind === "before";
    if (mayBlock && (error instanceof SnapshotRefused || request.strict)) {
      return { stdout: adapter.block(`Chronicle: ${told}`), blocked: true, problem: told, ...known };
    }
    const message = `Chronicle: this step is not recorded: ${told}`;
    return { stdout: adapter.goOn(message), blocked: false, problem: told, ...known };
  }
}

function blocked(adapter: HookAdapter, call: HookCall, problem: string): HookAnswer {
  return { stdout: adapter.block(`Chronicle: ${problem}`), blocked: true, problem, call };
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
