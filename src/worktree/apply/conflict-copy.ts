import type { WorkspacePath } from "../../core/values/path.ts";
import type { Step } from "./apply-step.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { childOf, nameOf, parentOf, pathInRoot, pathToBytes } from "../../core/values/path.ts";

/** The list in which conflict copies are noted. */
export interface ConflictList {
  readonly token: string;
  readonly conflicts: { readonly path: WorkspacePath; readonly keptAt: WorkspacePath }[];
}

/** The longest name that Linux and macOS take, in bytes. */
const MAX_NAME_BYTES = 255;

/**
 * Gives a trashed file that somebody wrote at the last moment a free name beside its path, or further up if its folder
 * is gone or takes no new name. If no folder does, throws the disk's error and leaves the file in the trash.
 */
export function keepConflict(list: ConflictList, step: Step, trashed: WorkspacePath): void {
  const { fs, root } = step.root;
  for (let folder = parentOf(step.inner); ; folder = parentOf(folder)) {
    if (folder !== "" && fs.lstat(folder)?.kind !== "dir") continue;
    try {
      const kept = copyInto(folder, { list, step, trashed });
      list.conflicts.push({ path: step.path, keptAt: pathInRoot(root.id, kept) });
      return;
    } catch (error) {
      if (errnoOf(error) === undefined || folder === "") throw error;
    }
  }
}

interface Copying {
  readonly list: ConflictList;
  readonly step: Step;
  readonly trashed: WorkspacePath;
}

function copyInto(folder: WorkspacePath, { list, step, trashed }: Copying): WorkspacePath {
  const { fs, staging } = step.root;
  for (let n = 1; ; n += 1) {
    const mark = `.conflict-${list.token.slice(-8).toLowerCase()}${n === 1 ? "" : `-${n}`}`;
    const kept = childOf(folder, `${cutTo(MAX_NAME_BYTES - mark.length, nameOf(step.inner))}${mark}`);
    if (fs.lstat(kept) !== undefined) continue;
    try {
      staging.trash.link(trashed, kept, fs);
    } catch (error) {
      if (errnoOf(error) === "EEXIST") continue;
      staging.trash.renameFile(trashed, kept, fs);
    }
    return kept;
  }
}

/** The longest extension that a shortened name keeps, in bytes. */
const MAX_ENDING_BYTES = 32;

/**
 * Shortens a name to at most this many bytes, between characters. It keeps its beginning and its extension, by which
 * secrets are recognised.
 */
function cutTo(bytes: number, name: string): string {
  const dot = name.lastIndexOf(".");
  const ending = dot > 0 && pathToBytes(name.slice(dot)).length <= MAX_ENDING_BYTES ? name.slice(dot) : "";
  const characters = Array.from(name.slice(0, name.length - ending.length));
  while (pathToBytes(`${characters.join("")}${ending}`).length > bytes) characters.pop();
  return `${characters.join("")}${ending}`;
}
