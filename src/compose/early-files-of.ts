import { foldsNames, holdsAllEntries } from "../core/tree/folder-traits.ts";
import { ROOT } from "../core/values/path.ts";
import type { Disk } from "../disk/disk.ts";
import type { OpenedContext } from "./open-context.ts";
import { StagedEarlyFiles } from "./staged-early-files.ts";

/** With less to write, starting threads would take longer. */
const LEAST = { files: 1_500, bytes: 32 * 1024 * 1024 };
/** Without threads (the simulation) nothing is gained; so it is always done, to exercise it. */
const ANY = { files: 1, bytes: 1 };

/**
 * Returns the writer of a first sync's files while their contents come; clears what an earlier process has left of
 * that. Returns `undefined` if the disk takes several names for one, as it would be unknown which files are there, or
 * if it cannot hold everything, which the apply reports.
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
