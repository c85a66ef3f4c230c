import type { BlameKind, BlameOriginShape } from "../../api/file-api.ts";
import { formatAgo, formatDuration } from "../../core/values/duration.ts";
import { printable, shortened } from "../../process/printable.ts";
import { LONGEST_NARROW_NAME } from "./columns.ts";

/** The length of a shown id, in characters. */
const ID = 8;

const NOT_RECORDED: Readonly<Record<Exclude<BlameKind, "recorded">, (origin: BlameOriginShape) => string>> = {
  nobody: () => "by nobody that was recorded",
  baseline: () => "baseline",
  unrecorded: () => "not recorded yet",
  earlier: ({ iteration }) => `before @${iteration}, no longer kept`,
  between: ({ iteration, first_iteration: first }) => `one of @${first} to @${iteration}`,
};

/** The shorter texts that replace those of `NOT_RECORDED` on a narrow terminal. */
const SHORT_NOT_RECORDED: Partial<typeof NOT_RECORDED> = {
  nobody: () => "nobody recorded",
  unrecorded: () => "not recorded",
  earlier: ({ iteration }) => `before @${iteration}`,
  between: ({ iteration, first_iteration: first }) => `@${first} to @${iteration}`,
};

/**
 * Returns the id, the actor and the time of an origin for a narrow terminal: names of at most 12 characters, and times
 * such as `3m`.
 */
export function shortOriginCells(origin: BlameOriginShape, now: number): readonly [string, string, string] {
  const { kind, timestamp } = origin;
  const [id, who] = originCells(origin, now);
  const when = timestamp === null ? "" : (formatDuration(Math.max(0, now - timestamp)).split(/[. ]/)[0] ?? "");
  const words = kind === "recorded" ? undefined : SHORT_NOT_RECORDED[kind]?.(origin);
  return [id, words ?? shortened(printable(who), LONGEST_NARROW_NAME), when];
}

/** Returns the texts for an origin: the id of its action, operation or session, the actor, the turn and the time. */
export function originCells(origin: BlameOriginShape, now: number): readonly [string, string, string, string] {
  const { kind, action, operation, session, turn, actor, timestamp, replica } = origin;
  const when = timestamp === null ? "" : formatAgo(timestamp, now);
  if (kind !== "recorded") return ["", NOT_RECORDED[kind](origin), "", when];
  const id = action ?? operation ?? session ?? "";
  const where = replica === undefined ? "" : ` (replica ${replica.slice(0, ID)})`;
  return [short(id), (actor === "" ? origin.cause : actor) + where, short(turn ?? ""), when];
}

function short(id: string): string {
  return printable(id).slice(0, ID);
}
