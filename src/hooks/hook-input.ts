import { ChronicleError } from "../core/values/errors.ts";
import { optional } from "../util/optional.ts";
import type { HookPrompt } from "./hook-call.ts";

export type HookInput = Readonly<Record<string, unknown>>;

/** Throws `USAGE` if the value is not a JSON object. */
export function asObject(value: unknown): HookInput {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as HookInput;
  throw notUnderstood("it is no JSON object");
}

/** Returns the error for an input that no supported agent writes. */
export function notUnderstood(why: string): ChronicleError {
  return new ChronicleError("USAGE", `this is not what an agent gives to a hook: ${why}`, {
    hint: "agents call this command; to test it, run `chronicle agents test AGENT`",
  });
}

/** Returns the text under a key. Returns `undefined` if the value is missing, empty or not a string. */
export function textAt(input: HookInput, key: string): string | undefined {
  const value = input[key];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns the text under a key. Throws `USAGE` if the value is missing, empty or not a string. */
export function neededText(input: HookInput, key: string): string {
  const value = textAt(input, key);
  if (value === undefined) throw notUnderstood(`there is no ${key}`);
  return value;
}

/** Returns the object under a key, or an empty object if there is none. */
export function objectAt(input: HookInput, key: string): HookInput {
  const value = input[key];
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as HookInput) : {};
}

/**
 * Returns the person's message that begins a turn; `{}` if the input has no message. All supported agents use the same
 * keys for this message. `message`: the agent's own id of the message.
 */
export function promptIn(input: HookInput, message?: string): { readonly prompt?: HookPrompt } {
  const text = textAt(input, "prompt");
  const transcript = textAt(input, "transcript_path");
  return text === undefined ? {} : { prompt: { text, ...optional({ transcript, message }) } };
}

const LONGEST_ID = 128;

/**
 * Returns an agent's id as Chronicle records it: the first 128 characters, with `_` in place of each character that is
 * not an ASCII letter or digit, `.`, `_` or `-`.
 */
export function safeId(id: string): string {
  return id.replace(/[^A-Za-z0-9._-]/g, "_").slice(0, LONGEST_ID);
}
