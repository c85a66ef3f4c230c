/**
 * The name of the staging folder in a tracked root, which is used if the store is on another device. The folder is
 * never captured, and only Chronicle writes to it. The name is reserved at any depth, because a staging folder can be
 * at any depth. For example, a tracked folder can contain the root of another workspace, or a folder that a person has
 * filled from a history.
 */
export const STAGING_FOLDER = ".chronicle-tmp";

const BESIDE = `${STAGING_FOLDER}-`;

/**
 * Returns the name of a staging folder inside a folder that receives files. An apply (an operation that writes entries
 * into a worktree) stages the new files there. `own` identifies the apply.
 */
export function stagingBeside(own: string): string {
  return BESIDE + own;
}

/** Returns true for a name under which Chronicle stages files. Such a path is never captured. */
export function isStagingName(name: string): boolean {
  return name === STAGING_FOLDER || isStagedBeside(name);
}

/**
 * Returns true for a name that `stagingBeside` returns. A staging folder that an interrupted apply has left is removed
 * together with the folder that contains it.
 */
export function isStagedBeside(name: string): boolean {
  return name.startsWith(BESIDE);
}

export function isInStaging(inner: string): boolean {
  return inner.includes(STAGING_FOLDER) && inner.split("/").some(isStagingName);
}
