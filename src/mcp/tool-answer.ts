import type { CallToolResult } from "@modelcontextprotocol/server";
import { ChronicleError } from "../core/values/errors.ts";
import { oneLine, shortened } from "./one-line.ts";
import { hintInTools } from "./tool-words.ts";

/** The maximum number of characters of text in one answer. Longer text is cut, with a note. */
const MAX_TEXT = 40_000;

/** A tool's answer: words for the model, and data for programs. */
export interface Answer {
  readonly summary: string;
  readonly lines?: readonly string[];
  /** Possible next steps: one sentence each, with the tool's name. */
  readonly next?: readonly string[];
  /** The engine's result, with its lists capped (`show.ts`). */
  readonly data: Readonly<Record<string, unknown>>;
  /** True if the tool did not do what was asked. */
  readonly failed?: boolean;
}

function capped(text: string): string {
  if (text.length <= MAX_TEXT) return text;
  return `${shortened(text, MAX_TEXT)}\n(cut off after ${MAX_TEXT} characters: ask for less)`;
}

/** Clients show the model either the text or the structured content, so each must suffice by itself. */
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
  /** The tool's hints, by error code. */
  readonly hints?: Readonly<Record<string, string>> | undefined;
  /**
   * The names of the tool's arguments. `undefined` if no workspace is open yet or the tool is unknown; the error's hint
   * then stays as it is.
   */
  readonly args?: ReadonlySet<string> | undefined;
}

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
