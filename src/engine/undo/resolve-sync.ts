import type { ResolveOptions } from "../../api/action-api.ts";
import type { IdentifiedConflict } from "../../core/records/conflict-record.ts";
import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { quotePath } from "../../core/shell/quote-command.ts";
import { givenPath, shownPath } from "../log/shape.ts";

/**
 * Resolves a conflict between a folder and its origin, for `resolve`, where no sync need be under way. To resolve a
 * conflict about a folder, or about names, takes what the origin has of its contents: that is for `sync resolve`.
 */

/** Throws `REFUSED` for a conflict that is not about one file or link alone. */
export function refuseWhole({ record }: IdentifiedConflict): void {
  const { path, base, current, wanted, reason, sync } = record;
  const isOfOne = ![base, current, wanted].some((entry) => entry?.kind === "dir");
  if (sync === undefined || (isOfOne && reason !== "folder" && reason !== "collision")) return;
  const shown = shownPath(path);
  throw new ChronicleError("REFUSED", `${shown} is a conflict of a sync about more than one file`, {
    hint: `\`chronicle sync resolve ${quotePath(givenPath(path))} --keep-local\`, or --accept-upstream`,
    data: { path: shown },
  });
}

/**
 * The paths that are proposed to the origin once more: the folder's side was refused there, or not even sent, and if nothing
 * is written here no event of the journal tells of it.
 */
export function proposedBy(
  { record: { path, sync, wanted } }: IdentifiedConflict,
  target: Entry | undefined,
  isWritten: boolean,
): readonly WorkspacePath[] | undefined {
  return sync === undefined || isWritten || sameEntry(target, wanted) ? undefined : [path];
}

/** Says in words how the conflict was settled. */
export const SYNC_WORDS: Readonly<Record<ResolveOptions["keep"], string>> = {
  current: "the folder's side was kept",
  undo: "the upstream's side was taken",
  merged: "a merged content was given",
};

/** Says the same for the list of operations. */
export function settledInWords(path: WorkspacePath, keep: ResolveOptions["keep"]): string {
  return `resolve of ${shownPath(path)}: ${SYNC_WORDS[keep]}`;
}
