import { canonicalJson, parseCanonical } from "../values/canonical-json.ts";
import type { Json, RecordBody } from "../values/event.ts";
import type { Hash } from "../values/hash.ts";
import { damaged, flag, hashOf, object, optionalText, text } from "../values/record-fields.ts";
import { optional } from "../../util/optional.ts";

/** `turn:<session>:<turn>`: an agent's turn, which began with a person's message to the agent. */
export interface TurnRecord {
  readonly session: string;
  readonly turn: string;
  readonly actor: string;
  /** The time at which the person sent the message, in ISO 8601. */
  readonly started: string;
  /** The message. Omitted if the agent reported no message, or if the workspace records no prompts. */
  readonly prompt?: KeptPrompt;
}

/**
 * The reference to the stored message of a person to an agent. The message has the class `private`: it is shown to
 * persons only, is kept for `PROMPT_MS`, and no replica receives it. The record names the hash of a blob that has the
 * message and a random salt (`encodePrompt`). Because of the salt, a short message cannot be guessed from the hash in
 * the log.
 */
export interface KeptPrompt {
  readonly content: Hash;
  /** The time, in ISO 8601, until which the blob is kept. */
  readonly until: string;
}

/** A person's message to an agent, and the file of the conversation. */
export interface Prompt {
  /** The beginning of the message, at most `MOST_PROMPT_BYTES` in UTF-8. Secrets are masked. */
  readonly text: string;
  /** True if the message was longer than `text`. */
  readonly isCut: boolean;
  /** The file in which the agent keeps the conversation. */
  readonly transcript?: string;
  /** The agent's own id of the message. */
  readonly message?: string;
}

/** The time for which a prompt is kept: thirty days, in ms. */
export const PROMPT_MS = 30 * 24 * 3_600_000;

/** The maximum length of a kept prompt, in bytes of UTF-8. */
export const MOST_PROMPT_BYTES = 16 * 1024;

const PREFIX = "turn:";

export function turnRecordId({ session, turn }: Pick<TurnRecord, "session" | "turn">): string {
  return `${PREFIX}${session}:${turn}`;
}

/**
 * Returns the prefix of the record ids of the turns of a session. Without `session`, returns the prefix for all turns.
 */
export function turnsPrefix(session?: string): string {
  return session === undefined ? PREFIX : `${PREFIX}${session}:`;
}

export function encodeTurn({ session, turn, actor, started, prompt }: TurnRecord): RecordBody {
  const kept = prompt === undefined ? {} : { prompt: { class: "private", ...prompt } };
  return { session, turn, actor: actor.toWellFormed(), started, ...kept };
}

/** Decodes the record of a turn. Throws `LOG_DAMAGED` if it is invalid. */
export function decodeTurn(body: RecordBody): TurnRecord {
  const [session, turn] = [text(body, "session"), text(body, "turn")];
  const prompt = decodeKeptPrompt(body);
  return { session, turn, actor: text(body, "actor"), started: text(body, "started"), ...optional({ prompt }) };
}

/**
 * Returns the reference to the prompt in the record of a turn; `undefined` if the record has none. Throws `LOG_DAMAGED`
 * if the reference is invalid.
 */
export function decodeKeptPrompt(body: RecordBody): KeptPrompt | undefined {
  if (body["prompt"] === undefined) return undefined;
  const prompt = object(body["prompt"], "prompt");
  if (text(prompt, "class") !== "private") damaged("a prompt is not of the class private");
  return { content: hashOf(prompt, "content"), until: text(prompt, "until") };
}

/** Encodes a prompt as the blob that the record of the turn names. `salt` must be random. */
export function encodePrompt({ text: words, isCut, transcript, message }: Prompt, salt: string): Buffer {
  const fields: { readonly [key: string]: Json | undefined } = { transcript, message };
  const given = Object.entries(fields).flatMap(([key, value]) =>
    typeof value === "string" ? [[key, value.toWellFormed()]] : [],
  );
  const cut = isCut ? { cut: true } : {};
  return Buffer.from(canonicalJson({ ...cut, ...Object.fromEntries(given), salt, text: words.toWellFormed() }));
}

/** Decodes the output of `encodePrompt`. Throws `LOG_DAMAGED` if it is invalid. */
export function decodePrompt(bytes: Uint8Array): Prompt {
  const body = object(parseCanonical(Buffer.from(bytes).toString("utf8")), "a prompt");
  const isCut = body["cut"] !== undefined && flag(body, "cut");
  const [transcript, message] = [optionalText(body, "transcript"), optionalText(body, "message")];
  return { text: text(body, "text"), isCut, ...optional({ transcript, message }) };
}

/** Returns the longest prefix of the text that has at most `most` bytes in UTF-8. Does not split a character. */
export function cutToBytes(words: string, most: number): string {
  const bytes = Buffer.from(words);
  if (bytes.length <= most) return words;
  let end = most;
  // A byte of the form 10xxxxxx continues a character.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString("utf8", 0, end);
}
