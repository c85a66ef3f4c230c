import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import type { ServerReply } from "./route.ts";
import { httpStatusOf } from "../../api/problems.ts";
import { hintOfErrno, isOutOfSpace, STAYS_IN_WORDS, troubleInWords } from "../../core/values/errno.ts";
import { ChronicleError, codedError, type ErrorCode, errnoOf } from "../../core/values/errors.ts";
import { Encoded } from "./received.ts";

/** Returns a problem in the form of RFC 9457. `code` is stable; `detail` is for people. */
export function problemReply(status: number, code: string, detail: string): ServerReply {
  return {
    status,
    headers: { "content-type": "application/problem+json" },
    body: JSON.stringify({ type: "about:blank", title: code, status, code, detail }),
  };
}

/** A problem in the form of RFC 9457. */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  /** A stable code; see `core/values/errors.ts`. `INTERNAL`: an unexpected error. */
  readonly code: string;
  /** The problem in words, for people. */
  readonly detail: string;
  readonly hint?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  /** Identifies the line of the server's diagnostics that says more. */
  readonly id?: string;
}

/** The folders that a problem's body must not name, and the diagnostics that get the details instead. */
export interface ProblemSetting {
  /** Absolute folders of this machine that the caller must not learn. */
  readonly hidden: readonly string[];
  /** True if the caller has the command line: hints may then name its commands. */
  readonly commands?: boolean;
  readonly report: Report;
}

/** Adds a line to the server's diagnostics, with the error that it is about. */
export type Report = (line: string, error?: unknown) => void;

/** The text that replaces a folder of this machine. */
const HIDDEN = "…";
const MAX_DETAIL = 1_000;

export function makeProblem(status: number, code: string, detail: string): Problem {
  return { type: "about:blank", title: STATUS_CODES[status] ?? "Error", status, code, detail };
}

/** Returns the same problem under another status. */
export function withStatus(problem: Problem, status: number): Problem {
  return { ...problem, status, title: STATUS_CODES[status] ?? "Error" };
}

/**
 * Returns the status for an error. Sent data of which a line does not verify is the client's fault, not the server's. A
 * full disk has a status of its own (RFC 4918).
 */
export function statusOf({ code, data }: ChronicleError): number {
  if (code === "IO" && isOutOfSpace(data["errno"])) return 507;
  return code === "INTEGRITY_VIOLATION" && typeof data["line"] === "number" ? 422 : httpStatusOf(code);
}

/**
 * Returns the problem that a caller gets for an error. For trouble of the store or of this machine, and for unexpected
 * errors, it has only a code and an id. The message, which may name files of this machine, goes to the diagnostics
 * under the same id.
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

/** Hints that name a command are left out for callers without the command line. */
const COMMAND = /\bchronicle (?:-\w \S+ )?[a-z]/;

function isFor(hint: string, { commands }: { readonly commands?: boolean }): boolean {
  return commands === true || !COMMAND.test(hint);
}

function isForDiagnostics(error: ChronicleError): boolean {
  if (error.code === "LOCKED" || error.code === "UNAVAILABLE") return false;
  return statusOf(error) >= 500 || (error.code === "READ_ONLY" && errnoIn(error) !== undefined);
}

/**
 * Returns the problem for an error that the caller cannot act on. If the disk is the reason, it is named, since that
 * reveals nothing of the machine.
 */
export function unexpectedProblem(thrown: unknown, { report, commands }: Omit<ProblemSetting, "hidden">): Problem {
  const error = codedError(thrown);
  const id = randomUUID();
  report(`${id} ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`, error);
  const more = `the server's diagnostics say more under ${id}`;
  if (!(error instanceof ChronicleError)) {
    return { ...makeProblem(500, "INTERNAL", `this request could not be answered; ${more}`), id };
  }
  const errno = errnoWithin(error);
  const why = whyOf(error, errno);
  const hint = errno === undefined ? DAMAGE_HINTS[error.code] : hintOfErrno(errno);
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

function whyOf({ code, data }: ChronicleError, errno: string | undefined): string | undefined {
  if (data["stays"] === true) return STAYS_IN_WORDS;
  if (errno !== undefined) return troubleInWords(errno);
  return CODES_IN_WORDS[code];
}

/** Trouble of the store in words that name nothing of the machine, where no errno says more. */
const CODES_IN_WORDS: Readonly<Partial<Record<ErrorCode, string>>> = {
  POISONED: "an earlier write could not be made durable, and the store is not taken up again yet",
  INTEGRITY_VIOLATION: "something in the store is not as it was recorded",
  BLOB_MISSING: "a content is not in the store",
  BLOB_CORRUPT: "a content in the store is damaged",
  LOG_DAMAGED: "a log in the store is damaged, or cannot be read",
  ROLLBACK_DETECTED: "a history does not go on from the head that is kept of it",
};

const LOOK = "`chronicle doctor` and `chronicle verify` say what is wrong with the store";
const DAMAGE_HINTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  INTEGRITY_VIOLATION: LOOK,
  BLOB_MISSING: LOOK,
  BLOB_CORRUPT: LOOK,
  LOG_DAMAGED: LOOK,
  ROLLBACK_DETECTED: LOOK,
};

/** The errno of an error, or of what has caused it: trouble of the store often begins with a refusal of the system. */
function errnoWithin(error: ChronicleError): string | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const errno = at instanceof ChronicleError ? errnoIn(at) : errnoOf(at);
    if (errno !== undefined) return errno;
  }
  return undefined;
}

function errnoIn({ data }: ChronicleError): string | undefined {
  return typeof data["errno"] === "string" ? data["errno"] : undefined;
}

/**
 * Returns the text with these folders of the machine hidden. If one is within another, the whole path of the inner one
 * is.
 */
export function hide(text: string, hidden: readonly string[]): string {
  const outermostLast = hidden.toSorted((a, b) => b.length - a.length);
  return outermostLast.reduce(
    (so, folder) => (folder === "" || folder === "/" ? so : so.replaceAll(folder, HIDDEN)),
    text,
  );
}

/** Returns data for programs: texts, numbers and lists of them, without absolute paths. */
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

/** Returns the problem for an error of Fastify, which only concerns the form of the request; `undefined` for others. */
export function formProblem(error: unknown): Problem | undefined {
  if (error instanceof Encoded) return makeProblem(415, "USAGE", error.message);
  if (error instanceof ChronicleError || !(error instanceof Error)) return undefined;
  if (!("statusCode" in error) || typeof error.statusCode !== "number") return undefined;
  const { statusCode: status } = error;
  if (status === 413) return makeProblem(413, "LIMIT_EXCEEDED", "this body is larger than is taken here");
  if (status === 415) return makeProblem(415, "USAGE", "a body here is JSON: Content-Type: application/json");
  if (status === 414) return makeProblem(414, "USAGE", "this path is too long");
  return status >= 400 && status < 500 ? makeProblem(status, "USAGE", "this request is not well formed") : undefined;
}
