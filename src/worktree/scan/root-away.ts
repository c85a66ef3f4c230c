import { ChronicleError } from "../../core/values/errors.ts";
import { pathInRoot, ROOT } from "../../core/values/path.ts";
import { quotePath } from "../../core/shell/quote-command.ts";
import type { Disk, NodeKind } from "../../disk/disk.ts";
import type { TrackedRoot } from "../worktree.ts";
import type { StatCache } from "./stat-cache.ts";

const IN_PLACE: Readonly<Record<NodeKind, string | undefined>> = {
  file: "a file",
  symlink: "a symbolic link",
  special: "a special file",
  dir: undefined,
};

/** What stands where the folder was, and is no folder. `undefined`: nothing does. */
export function standsInPlace(disk: Disk, folder: string): string | undefined {
  const stat = disk.lstat(folder);
  return stat === undefined ? undefined : IN_PLACE[stat.kind];
}

/** The error for a tracked folder that is not there. The hint depends on the record: it may say that the folder holds nothing. */
export function rootAway(
  { disk, cache }: { readonly disk: Disk; readonly cache: StatCache },
  { id, folder }: TrackedRoot,
): ChronicleError {
  const obstacle = standsInPlace(disk, folder);
  const inPlace = obstacle === undefined ? "" : `: ${obstacle} stands in its place`;
  const path = pathInRoot(id, ROOT);
  const isEmpty = [...cache.beneath(path, cache.rowOf(path))].length === 0;
  return new ChronicleError("NOT_FOUND", `the tracked folder ${folder} is not there${inPlace}`, {
    hint: isEmpty ? hintForEmpty(folder, obstacle) : hintForHeld(folder, obstacle),
    data: { folder },
  });
}

/** Nothing is recorded in it any more, as after a run that has removed it: `undo` makes it again. */
function hintForEmpty(folder: string, obstacle: string | undefined): string {
  const first = obstacle === undefined ? "" : `move ${obstacle} away; then `;
  return (
    `nothing is recorded in it now; what was deleted in it comes back, and the folder with it: ` +
    `${first}\`chronicle undo\` or \`chronicle restore MOMENT\`. For an empty one: mkdir ${quotePath(folder)}`
  );
}

function hintForHeld(folder: string, obstacle: string | undefined): string {
  const first = obstacle === undefined ? "mount it or put it back" : `move ${obstacle} away and put the folder back`;
  return (
    `${first}; nothing was recorded as deleted\n` +
    `if it is gone for good: mkdir ${quotePath(folder)}, then: chronicle restore latest`
  );
}
