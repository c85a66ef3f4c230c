import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import { httpStatusOf } from "../api/problems.ts";
import { isOutOfSpace } from "../core/errno.ts";
import { ChronicleError } from "../core/errors.ts";

/** What went wrong, in the form of RFC 9457. */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  /** Stable; see `core/errors.ts`. `INTERNAL`: what nobody expected. */
  readonly code: string;
  /** For people. */
  readonly detail: string;
  readonly hint?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  /** Names the line of the server's diagnostics that says more. */
  readonly id?: string;
}

/** What a problem's body must not tell, and who is told instead. */
export interface ProblemSetting {
  /** Absolute folders of this machine that the caller need not know. */
  readonly hidden: readonly string[];
  /** The caller has the command line at hand: hints may name its commands. */
  readonly commands?: boolean;
  /** Takes a line for the server's diagnostics. */
  readonly report: (line: string) => void;
}

/** Stands where a folder of this machine stood. */
const HIDDEN = "…";
const MAX_DETAIL = 1_000;

export function makeProblem(status: number, code: string, detail: string): Problem {
  return { type: "about:blank", title: STATUS_CODES[status] ?? "Error", status, code, detail };
}

/** The same under another status. */
export function withStatus(problem: Problem, status: number): Problem {
  return { ...problem, status, title: STATUS_CODES[status] ?? "Error" };
}

/**
 * The status for an error. What was sent and does not verify, at some line of it, is no trouble of the server's; a disk without
 * room has a status of its own (RFC 4918).
 */
export function statusOf({ code, data }: ChronicleError): number {
  if (code === "IO" && isOutOfSpace(data["errno"])) return 507;
  return code === "INTEGRITY_VIOLATION" && typeof data["line"] === "number" ? 422 : httpStatusOf(code);
}

/**
 * What a caller is told of an error. Trouble of the store or of this machine, and whatever nobody expected, is told by its
 * code and an id alone: the words, which may name files of this machine, go to the diagnostics under the same id.
 */
export function problemOf(error: unknown, setting: ProblemSetting): Problem {
  if (!(error instanceof ChronicleError)) return unexpected(error, 500, "INTERNAL", setting);
  const status = statusOf(error);
  if (status >= 500 && error.code !== "LOCKED" && error.code !== "UNAVAILABLE") {
    return unexpected(error, status, error.code, setting);
  }
  const clean = (text: string): string => hide(text, setting.hidden).slice(0, MAX_DETAIL);
  const data = cleanData(error.data, setting.hidden);
  return {
    ...makeProblem(status, error.code, clean(error.message)),
    ...(error.hint === undefined || !isFor(error.hint, setting) ? {} : { hint: clean(error.hint) }),
    ...(Object.keys(data).length === 0 ? {} : { data }),
  };
}

/** A command helps nobody who has none. */
const COMMAND = /\bchronicle (?:-\w \S+ )?[a-z]/;

function isFor(hint: string, { commands }: ProblemSetting): boolean {
  return commands === true || !COMMAND.test(hint);
}

function unexpected(error: unknown, status: number, code: string, { report }: ProblemSetting): Problem {
  const id = randomUUID();
  report(`${id} ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  const detail = `this request could not be answered; the server's diagnostics say more under ${id}`;
  return { ...makeProblem(status, code, detail), id };
}

/** The text, without these folders of the machine. */
export function hide(text: string, hidden: readonly string[]): string {
  return hidden.reduce((so, folder) => (folder === "" || folder === "/" ? so : so.replaceAll(folder, HIDDEN)), text);
}

/** Data is for programs: texts, numbers and lists of them; absolute paths are left out. */
function cleanData(data: Readonly<Record<string, unknown>>, hidden: readonly string[]): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(data)) {
    const clean = cleanValue(value, hidden);
    if (clean !== undefined) kept[name] = clean;
  }
  return kept;
}

function cleanValue(value: unknown, hidden: readonly string[]): unknown {
  if (typeof value === "string") return value.startsWith("/") ? undefined : hide(value, hidden).slice(0, MAX_DETAIL);
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  if (Array.isArray(value)) {
    return value
      .slice(0, 100)
      .map((item) => cleanValue(item, hidden))
      .filter((item) => item !== undefined);
  }
  if (typeof value === "object" && value !== undefined) return cleanData({ ...value }, hidden);
  return undefined;
}
