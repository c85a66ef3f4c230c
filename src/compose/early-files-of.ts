import { foldsNames, holdsAllEntries } from "../core/tree/folder-traits.ts";
import { ROOT } from "../core/values/path.ts";
import type { Disk } from "../disk/disk.ts";
import type { OpenedContext } from "./open-context.ts";
import { StagedEarlyFiles } from "./staged-early-files.ts";

/** For less, starting threads would take longer. */
const LEAST = { files: 1_500, bytes: 32 * 1024 * 1024 };
/** Where there are no threads (the simulation) nothing is gained; so it is done always, that it is seen what comes of it. */
const ANY = { files: 1, bytes: 1 };

/**
 * Who writes the files of a first sync while their contents come; what an earlier process has left of that is swept.
 * `undefined`: where the disk takes several names for one, it would not be known what is there; what it cannot hold is for an apply to tell.
 */
export function earlyFilesOf(
  disk: Disk,
  { worktree, pools }: NonNullable<OpenedContext["early"]>,
): StagedEarlyFiles | undefined {
  const { early: stage } = worktree;
  if (stage === undefined) return undefined;
  stage.clear();
  const traits = worktree.traitsOf(ROOT);
  if (foldsNames(traits) || !traits.modes || !holdsAllEntries(traits)) return undefined;
  return new StagedEarlyFiles({ disk, stage, pools, least: pools === undefined ? ANY : LEAST });
}
