import type { LineCountShape } from "../../api/shapes.ts";
import type { Change } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Patches } from "./patches.ts";

/** The maximum size, in bytes, of a file in which a list of changes counts lines. */
const MOST_BYTES = 256 * 1024;

/**
 * True if the lines of a change may be counted: a file is changed, its content is another one than before, and neither
 * side is a secret.
 */
export function isOfText({ before, after }: Change): boolean {
  const isFile = before?.kind === "file" || after?.kind === "file";
  return isFile && before?.hash !== after?.hash && before?.class === undefined && after?.class === undefined;
}

/** True if counting the lines of a change would take long. */
export function isLarge({ before, after }: Change): boolean {
  return Math.max(before?.size ?? 0, after?.size ?? 0) > MOST_BYTES;
}

/**
 * Returns the numbers of added and removed lines of a change. Returns `none` for contents that are not shown, such as
 * binary ones. Returns `undefined` if a content is gone or damaged, or if counting would take long.
 */
export async function countedLines(patches: Patches, change: Change): Promise<LineCountShape | "none" | undefined> {
  try {
    const part = await patches.of(change);
    if (part.too_large === true || part.no_room === true) return undefined;
    return part.patch === undefined ? "none" : linesIn(part.patch);
  } catch (error) {
    if (isOfLostContent(error)) return undefined;
    throw error;
  }
}

const LOST: ReadonlySet<string> = new Set(["PRUNED", "ERASED", "BLOB_MISSING", "BLOB_CORRUPT"]);

/** True if the error says that a content is gone or damaged. */
export function isOfLostContent(error: unknown): boolean {
  return error instanceof ChronicleError && LOST.has(error.code);
}

function linesIn(patch: string): LineCountShape {
  const lines = { added: 0, removed: 0 };
  let isInHunk = false;
  for (const line of patch.split("\n")) {
    if (line.startsWith("@@")) isInHunk = true;
    else if (line.startsWith("diff ")) isInHunk = false;
    else if (isInHunk && line.startsWith("+")) lines.added += 1;
    else if (isInHunk && line.startsWith("-")) lines.removed += 1;
  }
  return lines;
}
