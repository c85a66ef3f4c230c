/**
 * The staging folder in a root, which is used if the store is on another device. The folder is never captured, and
 * nobody else writes to it. Its name is reserved at any depth, because a staging folder can be at any depth. For
 * example, a tracked folder can contain the root of another workspace, or a folder that a person has filled from a
 * history.
 */
export const STAGING_FOLDER = ".chronicle-tmp";

const BESIDE = `${STAGING_FOLDER}-`;

/**
 * Returns the name of the folder in which an apply stages files for the surrounding folder. `own` identifies the apply.
 */
export function stagingBeside(own: string): string {
  return BESIDE + own;
}

/** Returns true for a name under which Chronicle stages files. Such a path is never captured. */
export function isStagingName(name: string): boolean {
  return name === STAGING_FOLDER || isStagedBeside(name);
}

/**
 * Returns true for the name of a folder in which an apply stages files for the surrounding folder. Files that an
 * interrupted apply left there are removed together with the surrounding folder.
 */
export function isStagedBeside(name: string): boolean {
  return name.startsWith(BESIDE);
}

export function isInStaging(inner: string): boolean {
  return inner.includes(STAGING_FOLDER) && inner.split("/").some(isStagingName);
}
