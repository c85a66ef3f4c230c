import { randomUUID } from "node:crypto";
import { STATUS_CODES } from "node:http";
import { httpStatusOf } from "../../api/problems.ts";
import { hintOfErrno, isOutOfSpace, STAYS_IN_WORDS, troubleInWords } from "../../core/values/errno.ts";
import { ChronicleError, codedError } from "../../core/values/errors.ts";

/** What went wrong, in the form of RFC 9457. */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  /** Stable; see `core/values/errors.ts`. `INTERNAL`: what nobody expected. */
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
  readonly report: Report;
}

/** Takes a line for the server's diagnostics, and what it is about. */
export type Report = (line: string, error?: unknown) => void;

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

/** A command helps nobody who has none. */
const COMMAND = /\bchronicle (?:-\w \S+ )?[a-z]/;

function isFor(hint: string, { commands }: { readonly commands?: boolean }): boolean {
  return commands === true || !COMMAND.test(hint);
}

function isForDiagnostics(error: ChronicleError): boolean {
  if (error.code === "LOCKED" || error.code === "UNAVAILABLE") return false;
  return statusOf(error) >= 500 || (error.code === "READ_ONLY" && errnoIn(error) !== undefined);
}

/** The problem of what a caller can do nothing about. The reason is named where it is the disk: that tells nothing of the machine. */
export function unexpectedProblem(thrown: unknown, { report, commands }: Omit<ProblemSetting, "hidden">): Problem {
  const error = codedError(thrown);
  const id = randomUUID();
  report(`${id} ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`, error);
  const more = `the server's diagnostics say more under ${id}`;
  if (!(error instanceof ChronicleError)) {
    return { ...makeProblem(500, "INTERNAL", `this request could not be answered; ${more}`), id };
  }
  const errno = errnoIn(error);
  const why = whyOf(error, errno);
  const hint = errno === undefined ? undefined : hintOfErrno(errno);
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
  return code === "POISONED"
    ? "an earlier write could not be made durable, and the store is not taken up again yet"
    : undefined;
}

function errnoIn({ data }: ChronicleError): string | undefined {
  return typeof data["errno"] === "string" ? data["errno"] : undefined;
}

/** The text, without these folders of the machine: of one in another, all of it. */
export function hide(text: string, hidden: readonly string[]): string {
  const outermostLast = hidden.toSorted((a, b) => b.length - a.length);
  return outermostLast.reduce(
    (so, folder) => (folder === "" || folder === "/" ? so : so.replaceAll(folder, HIDDEN)),
    text,
  );
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
