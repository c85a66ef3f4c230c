import type { BlameKind, BlameOriginShape } from "../../api/file-api.ts";
import { formatAgo } from "../../core/values/duration.ts";
import { printable } from "../../process/printable.ts";

/** The length of shown ids. */
const ID = 8;

const NOT_RECORDED: Readonly<Record<Exclude<BlameKind, "recorded">, (origin: BlameOriginShape) => string>> = {
  nobody: () => "by nobody that was recorded",
  baseline: () => "baseline",
  unrecorded: () => "not recorded yet",
  earlier: ({ iteration }) => `before @${iteration}, no longer kept`,
  between: ({ iteration, first_iteration: first }) => `one of @${first} to @${iteration}`,
};

/** Returns the id, the actor and the turn of an origin, and its time. */
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
