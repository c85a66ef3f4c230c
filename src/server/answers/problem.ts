import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { ServerReply } from "./server-route.ts";
import { httpStatusOf } from "../../api/problems.ts";
import { isOutOfSpace } from "../../core/values/errno.ts";
import { errnoIn, failureInWords } from "../../core/values/failure-in-words.ts";
import { ChronicleError, codedError } from "../../core/values/errors.ts";
import { Encoded } from "./received.ts";

/** A problem in the form of RFC 9457. */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  /** A stable code of `core/values/errors.ts`, or `INTERNAL` for an unexpected error. */
  readonly code: string;
  readonly detail: string;
  readonly hint?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  /** The id of the line in the server's diagnostics that has the details. */
  readonly id?: string;
}

export interface ProblemSetting {
  /** Folders on this machine (absolute paths) that the problem must not name. */
  readonly hidden: readonly string[];
  /** True if the caller uses the command line. Only then may hints name commands. */
  readonly commands?: boolean;
  /** Called with the details that must not be in the problem. */
  readonly report: Report;
}

/** Adds a line to the server's diagnostics. `error` is the error that the line describes, if there is one. */
export type Report = (line: string, error?: unknown) => void;

const HIDDEN = "…";

/** The maximum length of a text in a problem, in characters. */
const MAX_DETAIL = 1_000;

export function makeProblem(status: number, code: string, detail: string): Problem {
  return { type: "about:blank", title: STATUS_CODES[status] ?? "Error", status, code, detail };
}

export function withStatus(problem: Problem, status: number): Problem {
  return { ...problem, status, title: STATUS_CODES[status] ?? "Error" };
}

/**
 * Returns 507 for a full disk (RFC 4918), and 422 for a line of the request's body that does not verify. Otherwise,
 * returns the status of the error's code.
 */
export function statusOf({ code, data }: ChronicleError): number {
  if (code === "IO" && isOutOfSpace(data["errno"])) return 507;
  return code === "INTEGRITY_VIOLATION" && typeof data["line"] === "number" ? 422 : httpStatusOf(code);
}

/**
 * Returns the problem for an error. An unexpected error, or a failure of the store or of this machine, becomes an
 * `unexpectedProblem`.
 */
export function problemOf(thrown: unknown, setting: ProblemSetting): Problem {
  const error = codedError(thrown);
  if (!(error instanceof ChronicleError) || isForDiagnostics(error)) return unexpectedProblem(error, setting);
  const status = statusOf(error);
  const clean = (text: string): string => hide(text, setting.hidden).slice(0, MAX_DETAIL);
  const data = cleanData(error.data, setting.hidden);
  return {
    ...makeProblem(status, error.code, clean(error.message)),
    ...(error.hint === undefined || !isFor(error.hint, setting) ? {} : { hint: clean(error.hint) }),
    ...(Object.keys(data).length === 0 ? {} : { data }),
  };
}

/** Matches a hint that names a command. Only callers that use the command line get such hints. */
const COMMAND = /\bchronicle (?:-\w \S+ )?[a-z]/;

function isFor(hint: string, { commands }: { readonly commands?: boolean }): boolean {
  return commands === true || !COMMAND.test(hint);
}

function isForDiagnostics(error: ChronicleError): boolean {
  if (error.code === "LOCKED" || error.code === "UNAVAILABLE") return false;
  return statusOf(error) >= 500 || (error.code === "READ_ONLY" && errnoIn(error) !== undefined);
}

/**
 * Returns the problem for an error that the caller cannot correct. The error's message is written only to the
 * diagnostics, because it may name files of this machine. The problem has the id of that line in the diagnostics. If
 * the disk or the store is the cause, the problem also has the reason in words.
 */
export function unexpectedProblem(thrown: unknown, { report, commands }: Omit<ProblemSetting, "hidden">): Problem {
  const error = codedError(thrown);
  const id = randomUUID();
  report(`${id} ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`, error);
  const more = `the server's diagnostics say more under ${id}`;
  if (!(error instanceof ChronicleError)) {
    return { ...makeProblem(500, "INTERNAL", `this request could not be answered; ${more}`), id };
  }
  const { errno, why, hint } = failureInWords(error);
  return {
    ...makeProblem(
      statusOf(error),
      error.code,
      `this request could not be answered${why === undefined ? "" : `: ${why}`}; ${more}`,
    ),
    ...(hint === undefined || !isFor(hint, { commands: commands === true }) ? {} : { hint }),
    ...(errno === undefined ? {} : { data: { errno } }),
    id,
  };
}

/**
 * Returns the text with `…` in place of the hidden folders (except `/`). Longer paths are replaced first, because one
 * hidden folder may lie in another.
 */
export function hide(text: string, hidden: readonly string[]): string {
  const longestFirst = hidden.toSorted((a, b) => b.length - a.length);
  return longestFirst.reduce(
    (so, folder) => (folder === "" || folder === "/" ? so : so.replaceAll(folder, HIDDEN)),
    text,
  );
}

/**
 * Returns the hidden folders for a caller who must not learn where folders are on this machine. The result includes the
 * folders that the error itself names, because an open workspace may not know the place to which its folder was moved.
 */
export function hiddenIn(thrown: unknown, hidden: readonly string[]): readonly string[] {
  const error = codedError(thrown);
  if (!(error instanceof ChronicleError)) return hidden;
  const { folder, moved_to: movedTo } = error.data;
  return [...hidden, ...[folder, movedTo].filter((place) => typeof place === "string")];
}

/**
 * Returns the data of an error without values that are absolute paths, and with `…` in place of hidden folders. Texts
 * are cut to `MAX_DETAIL` characters, and lists to 100 items.
 */
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

/** Returns the problem for `Encoded` or for an error of Fastify, and `undefined` for other errors. */
export function formProblem(error: unknown): Problem | undefined {
  if (error instanceof Encoded) return makeProblem(415, "USAGE", error.message);
  if (error instanceof ChronicleError || !(error instanceof Error)) return undefined;
  if (!("statusCode" in error) || typeof error.statusCode !== "number") return undefined;
  const { statusCode: status } = error;
  if (status === 413) return makeProblem(413, "LIMIT_EXCEEDED", "this body is too large for this request");
  if (status === 415) return makeProblem(415, "USAGE", "a body here is JSON: Content-Type: application/json");
  if (status === 414) return makeProblem(414, "USAGE", "this path is too long");
  return status >= 400 && status < 500 ? makeProblem(status, "USAGE", "this request is not well formed") : undefined;
}

/** Returns a problem as the reply of a quick route. */
export function problemReply(problem: Problem, headers: ServerReply["headers"] = {}): ServerReply {
  const type = { "content-type": "application/problem+json; charset=utf-8" };
  return { status: problem.status, headers: { ...type, ...headers }, body: JSON.stringify(problem) };
}
