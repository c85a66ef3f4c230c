import type { CallToolResult } from "@modelcontextprotocol/server";
import { ChronicleError } from "../core/values/errors.ts";
import { oneLine, shortened } from "./one-line.ts";
import { hintInTools } from "./tool-words.ts";

/** The maximum number of characters of an answer's text without its next steps. Longer text is cut, with a note. */
const MAX_TEXT = 40_000;

/** A tool's answer: words for the model, and data for programs. */
export interface Answer {
  readonly summary: string;
  readonly lines?: readonly string[];
  /** Possible next steps: one sentence each, mostly with the call of a tool. Default: none. */
  readonly next?: readonly string[];
  /** The engine's result for programs, with its lists cut to a maximum length (`show.ts`). */
  readonly data: Readonly<Record<string, unknown>>;
  /** True if the tool did not do the requested work. Clients then see the answer as an error. Default: false. */
  readonly failed?: boolean;
}

function capped(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  return `${shortened(text, MAX_TEXT)}\n(cut off after ${MAX_TEXT} characters: ask for less)`;
}

/**
 * Returns an answer in the form of MCP. The text and the structured content must each suffice alone, because a client
 * shows the model only one of them.
 */
export function resultOf({ summary, lines = [], next = [], data, failed }: Answer): CallToolResult {
  const text = [summary, ...lines].join("\n");
  const steps = next.map((step) => `\nNext: ${step}`).join("");
  return {
    content: [{ type: "text", text: capped(text) + steps }],
    structuredContent: { summary, ...data, next },
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
  const lines = [`${code}: ${message}`, ...(advice === "" ? [] : [`Hint: ${advice}`])];
  return {
    content: [{ type: "text", text: capped(lines.join("\n")) }],
    structuredContent: { error: { code, message, hint: advice === "" ? null : advice, data } },
    isError: true,
  };
}

const MAX_MESSAGE = 2_000;

interface Told {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

function told(error: unknown): Told {
  if (error instanceof ChronicleError) {
    const { code, message, hint, data } = error;
    return { code, message: oneLine(message, MAX_MESSAGE), hint, data };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: "INTERNAL", message: `unexpected: ${oneLine(message, MAX_MESSAGE)}`, data: {} };
}
