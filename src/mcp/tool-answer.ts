import type { CallToolResult } from "@modelcontextprotocol/server";
import { ChronicleError } from "../core/values/errors.ts";
import { type Part, fitted } from "./fit.ts";
import { fittedData, withShortIds } from "./fit-data.ts";
import { oneLine, shortened } from "./one-line.ts";
import { shortIds } from "./short-ids.ts";
import { hintInTools } from "./tool-words.ts";

/** The usual and the greatest length of an answer's text, in characters. */
export const USUAL_CHARS = 1_500;
export const MOST_CHARS = 40_000;

/** The room for one answer, in characters: for its text, and for its structured content as JSON. */
export interface Room {
  readonly text: number;
  readonly data: number;
}

/** The usual length of the structured content. The names of its fields take more than half of it. */
const USUAL_DATA = 4_000;

/** Returns the room for an answer whose text may have `maxChars` characters. */
export function roomOf(maxChars: number): Room {
  return { text: maxChars, data: Math.max(USUAL_DATA, 2 * maxChars) };
}

/** A tool's answer: words for the model, and data for programs. `resultOf` shortens both. */
export interface Answer {
  readonly summary: string;
  readonly lines?: readonly Part[];
  /** Possible next steps: one sentence each, mostly with the call of a tool. Default: none. */
  readonly next?: readonly string[];
  /** The engine's result for programs, with its lists cut to a maximum length (`show.ts`). */
  readonly data: Readonly<Record<string, unknown>>;
  /** True if the tool did not do the requested work. Clients then see the answer as an error. Default: false. */
  readonly failed?: boolean;
  /**
   * The number of characters that the call has requested in addition to the room, such as those of a file. Default: 0.
   */
  readonly extra?: number;
  /** The advice, for an answer that was cut, about arguments that make the answer shorter. */
  readonly narrow?: string;
}

const LONGEST_SUMMARY = 500;

/** The number of characters that is reserved for the sentence of `cutNote`. */
const NOTE = 150;

/** Returns the sentence that says how to see the rest of an answer that was cut. */
function cutNote(most: number, narrow: string | undefined): string {
  const less = narrow === undefined ? "" : `, ${narrow}`;
  return most < MOST_CHARS
    ? `(Shortened. For more: "max_chars" up to ${MOST_CHARS}${less}.)`
    : `(Shortened after ${most} characters${less}.)`;
}

/** Returns the first steps that take no more than half of the room. */
function stepsIn(next: readonly string[], most: number): string[] {
  let room = most / 2;
  return next.filter((step) => (room -= step.length + 7) >= 0);
}

/**
 * Returns an answer in the form of MCP, shortened to the room. The text and the structured content must each suffice
 * alone, because a client shows the model only one of them.
 */
export function resultOf({ lines = [], data, failed, narrow, ...answer }: Answer, room: Room): CallToolResult {
  const { extra = 0 } = answer;
  const most = room.text + extra;
  const summary = shortened(answer.summary, LONGEST_SUMMARY);
  const next = stepsIn(answer.next ?? [], most);
  const steps = next.map((step) => `\nNext: ${step}`).join("");
  const left = most - summary.length - 1 - steps.length;
  const whole = fitted(lines, left);
  const shown = whole.isCut ? fitted(lines, left - NOTE) : whole;
  const note = shown.isCut ? [cutNote(room.text, narrow)] : [];
  const content = { summary, ...withShortIds(data), next };
  return {
    content: [{ type: "text", text: [summary, ...shown.lines, ...note].join("\n") + steps }],
    structuredContent: fittedData(content, room.data + 2 * extra),
    ...(failed === true ? { isError: true } : {}),
  };
}

export interface ErrorHow {
  /** The tool's hints, by error code. Default: none. */
  readonly hints?: Readonly<Record<string, string>> | undefined;
  /**
   * The names of the tool's arguments, for `hintInTools`; `undefined` if no workspace is open yet, or if the tool is
   * unknown. If `undefined`, the error's hint stays as it is.
   */
  readonly args?: ReadonlySet<string> | undefined;
}

/**
 * Returns an error in the form of MCP. Any error that is not a `ChronicleError` has the code `INTERNAL`. The tool's
 * hint for the code precedes the error's own hint.
 */
export function errorResult(error: unknown, { hints = {}, args }: ErrorHow = {}): CallToolResult {
  const { code, message, hint, data } = told(error);
  const own = hint === undefined || args === undefined ? hint : hintInTools(hint, args);
  const advice = [hints[code], own].filter((one) => one !== undefined).join("\n");
  const said = shortened(shortIds(advice), MAX_ADVICE);
  const lines = [`${code}: ${message}`, ...(said === "" ? [] : [`Hint: ${said}`])];
  const details = fittedData(withShortIds(data), USUAL_DATA - USUAL_CHARS);
  return {
    content: [{ type: "text", text: lines.join("\n") }],
    structuredContent: { error: { code, message, hint: said === "" ? null : said, data: details } },
    isError: true,
  };
}

const MAX_MESSAGE = 800;
const MAX_ADVICE = 600;

interface Told {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

function told(error: unknown): Told {
  if (error instanceof ChronicleError) {
    const { code, message, hint, data } = error;
    return { code, message: saidOf(message), hint, data };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: "INTERNAL", message: `unexpected: ${saidOf(message)}`, data: {} };
}

/**
 * Returns a message on one line, with short ids. Cuts the message twice, because the escapes that `oneLine` adds after
 * its cut can make the message longer.
 */
function saidOf(message: string): string {
  return shortened(oneLine(shortIds(message), MAX_MESSAGE), MAX_MESSAGE);
}
