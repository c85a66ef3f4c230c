import type { TurnStart } from "../../api/action-api.ts";
import type { TurnStartShape } from "../../api/action-shapes.ts";
import { checkActorName } from "../../core/records/actor-name.ts";
import {
  cutToBytes,
  decodeTurn,
  encodePrompt,
  encodeTurn,
  type KeptPrompt,
  MOST_PROMPT_BYTES,
  type Prompt,
  PROMPT_MS,
  turnRecordId,
} from "../../core/records/turn-record.ts";
import { maskLine } from "../../core/shell/mask-secrets.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { EventDraft } from "../../core/values/event.ts";
import { optional } from "../../util/optional.ts";
import { capture, type Found } from "../capture/capture.ts";
import { promptOf } from "../facts/turns.ts";
import type { Context } from "../log/context.ts";
import { workspaceRecord } from "../log/own-record.ts";
import { keepBytes, refuseOverQuota } from "../log/quota.ts";
import { privateRoom } from "../log/private-room.ts";
import { readEvent } from "../log/read-events.ts";
import { beginningOf } from "./agent-session.ts";
import { checkSessionId } from "./check-action.ts";

/**
 * The maximum length, in UTF-16 code units, of the part of a prompt in which secrets are masked. The rest of a longer
 * prompt is dropped.
 */
const MOST_MASKED = 256 * 1024;

/** The maximum length, in UTF-16 code units, of a path or an id that is kept with a prompt. */
const MOST_WORDS = 4_096;

/**
 * Records that an agent's turn begins, and keeps the person's message. First records the changes on disk, so that the
 * state before the turn is known. Begins or resumes the session if it is not open.
 *
 * A turn that is recorded already is not recorded again, because a hook that is installed twice reports each turn
 * twice. There is one exception. If the record of the turn is still the last event, and nothing has changed on disk, a
 * different message replaces the recorded one.
 *
 * Throws `USAGE` if a field is malformed, and `LIMIT_EXCEEDED` if the store is full.
 */
export async function startTurn(context: Context, start: TurnStart): Promise<TurnStartShape> {
  checkActorName(start.actor);
  const session = checkSessionId(start.session);
  const turn = checkTurnId(start.turn);
  const actor = start.actor ?? "agent";
  using _lease = await context.blobs.lease();
  const prompt = await keptPrompt(context, start);
  let isPromptKept = prompt !== undefined;
  const { seq } = await capture(context, {
    cause: "capture",
    isReported: true,
    also: async (found) => {
      if (await isToldBefore(context, start, found)) {
        isPromptKept = false;
        return [];
      }
      const at = { head: found.head, ahead: found.upTo - found.head.seq };
      const begun = await beginningOf(context, { id: session, actor }, at);
      const started = new Date(context.now()).toISOString();
      const record = encodeTurn({ session, turn, actor, started, ...optional({ prompt }) });
      const draft: EventDraft = { op: "upsert", recordId: turnRecordId({ session, turn }), record };
      return [...(begun === undefined ? [] : [begun]), draft];
    },
  });
  return { turn, session, seq, prompt_kept: isPromptKept };
}

/**
 * The pattern of turn ids, which agents choose freely. The characters are those of session ids, because the id of a
 * turn's record contains both ids.
 */
const TURN_ID = /^[A-Za-z0-9._-]{1,128}$/;

function checkTurnId(id: unknown): string {
  if (typeof id === "string" && TURN_ID.test(id)) return id;
  throw new ChronicleError("USAGE", `${JSON.stringify(id)?.slice(0, 140)} cannot be the id of a turn`, {
    hint: "use at most 128 letters, digits, dots, dashes and underscores",
  });
}

/**
 * Stores the message, and returns the fields with which the turn's record names the stored message. Returns `undefined`
 * if there is no message, if the workspace records no prompts, or if the message exceeds the whole budget for private
 * contents.
 */
async function keptPrompt(context: Context, start: TurnStart): Promise<KeptPrompt | undefined> {
  const prompt = promptIn(start);
  if (prompt === undefined || (await workspaceRecord(context)).recordsPrompts === false) return undefined;
  const bytes = encodePrompt(prompt, context.newId());
  if (bytes.length > privateRoom(context)) return undefined;
  refuseOverQuota(context, bytes.length);
  const content = await keepBytes(context.blobs, bytes);
  return { content, until: new Date(context.now() + PROMPT_MS).toISOString() };
}

function promptIn({ prompt, transcript, message }: TurnStart): Prompt | undefined {
  if (prompt === undefined || prompt.trim() === "") return undefined;
  const masked = maskLine(prompt.slice(0, MOST_MASKED).toWellFormed());
  const text = cutToBytes(masked, MOST_PROMPT_BYTES);
  const isCut = text.length < masked.length || prompt.length > MOST_MASKED;
  const shown = (words: string | undefined): string | undefined => words?.slice(0, MOST_WORDS);
  return { text, isCut, ...optional({ transcript: shown(transcript), message: shown(message) }) };
}

/**
 * Returns true if the turn is recorded already, and nothing must be recorded now. Nothing must be recorded if anything
 * was recorded or changed after the turn's record, if no message is given, or if the recorded message is the same.
 */
async function isToldBefore(context: Context, start: TurnStart, found: Found): Promise<boolean> {
  const row = await context.index.record(turnRecordId(start));
  if (row === undefined) return false;
  if (row.seq !== found.head.seq || found.changes.length > 0) return true;
  const record = decodeTurn((await readEvent(context, row)).record);
  const { prompt } = await promptOf({ ...context, caller: { ...context.caller, role: "person" } }, { record });
  const now = promptIn(start);
  return now === undefined || prompt?.text === now.text;
}
