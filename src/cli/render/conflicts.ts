import type { ConflictShape } from "../../api/conflict-shape.ts";
import { formatBytes } from "../../core/values/duration.ts";
import { modeText, type ChangesStyle } from "./changes.ts";
import { columns } from "./columns.ts";

type Reason = ConflictShape["reason"];

const OF_UNDO: Readonly<Record<Exclude<Reason, "blocked" | "collision">, string>> = {
  content: "the same or adjacent lines were edited later",
  binary: "it was edited later, and is not a text that can be merged",
  mode: "its permissions were changed later",
  kind: "it became something else later",
  deleted: "it was deleted later",
  edited: "it was edited later",
  created: "it was made anew later",
  folder: "its folder is something else now",
};

/** The reasons of conflicts between a folder and its upstream. */
const OF_SYNC: Readonly<Record<Reason, string>> = {
  content: "both edited the same or adjacent lines",
  binary: "both edited it, and it is not a text that can be merged",
  mode: "both changed its permissions",
  kind: "both made something else of it",
  deleted: "deleted here, edited upstream",
  edited: "edited here, deleted upstream",
  created: "both made it",
  folder: "a folder on one side, something else on the other",
  blocked: "it cannot be written",
  collision: "the folder's disk treats its name and another path's name as the same",
};

function reasonOf({ cause, reason, detail, ...both }: ConflictShape): string {
  const areLinks = both.current_kind === "symlink" && both.undo_kind === "symlink";
  if (cause === "sync" && reason === "content" && areLinks) return "both made the link lead elsewhere";
  if (detail !== undefined) return `${OF_SYNC[reason]}: ${detail}`;
  return cause === "sync" || reason === "blocked" || reason === "collision" ? OF_SYNC[reason] : OF_UNDO[reason];
}

function side(kind: ConflictShape["current_kind"], size: number, permissions: number | undefined): string {
  if (kind === null) return "nothing";
  if (kind === "dir") return "a folder";
  if (kind === "symlink") return "a link";
  return permissions === undefined ? formatBytes(size) : `${formatBytes(size)} ${modeText(permissions)}`;
}

/** Returns a text about both sides of a conflict. Permissions are included only if they differ. */
function sides(conflict: ConflictShape): string {
  const { current_permissions: now, undo_permissions: then } = conflict;
  const differ = now !== undefined && then !== undefined && now !== then;
  const current = side(conflict.current_kind, conflict.current_size, differ ? now : undefined);
  const other = side(conflict.undo_kind, conflict.undo_size, differ ? then : undefined);
  return conflict.cause === "sync" ? `here ${current}, upstream ${other}` : `now ${current}, wanted ${other}`;
}

/**
 * The maximum length, in characters, of a path that is on the same line as its reason. A longer path has its own line.
 */
const LONG_NAME = 60;

/**
 * Returns one indented text per conflict, with its id (except in a dry run), its path, its reason and both sides. The
 * text has one line, or two if the path is long.
 */
export function conflictLines(conflicts: readonly ConflictShape[], { paint, shown }: ChangesStyle): string[] {
  const rows = conflicts.map((one) => {
    const state = one.state === "settled" ? ` (settled: ${one.settled ?? ""})` : "";
    const name = `  ${paint("yellow", "!")} ${one.id === "" ? "" : `${one.id.slice(0, 8)} `}${shown(one.path)}`;
    return {
      name,
      isLong: shown(one.path).length > LONG_NAME,
      why: `${reasonOf(one)}${state}`,
      sides: paint("dim", sides(one)),
    };
  });
  const lines = columns(rows.map((one) => [one.isLong ? "   " : one.name, one.why, one.sides]));
  return lines.map((line, at) => (rows[at]?.isLong === true ? `${rows[at].name}\n${line}` : line));
}

export const SETTLE = "settle with: chronicle resolve ID|PATH --keep-current | --take-undo | --merged FILE";

/** The hint for conflicts between a folder and its upstream. */
export const SETTLE_SYNC =
  "settle with: chronicle sync resolve PATH --keep-local | --accept-upstream | --merge [--merged FILE | --tool COMMAND]";
