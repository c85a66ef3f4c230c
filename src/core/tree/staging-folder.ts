/**
 * The staging folder in a root, used if the store is on another device. Never captured, and written by nobody else.
 * This holds at any depth, because another workspace may have its root within a tracked folder, or somebody may fill a
 * folder from a history.
 */
export const STAGING_FOLDER = ".chronicle-tmp";

/** Prefix of the name of a folder in which new files for the surrounding folder are staged. */
const BESIDE = `${STAGING_FOLDER}-`;

/** Returns the name of the folder in which an apply stages files for the surrounding folder. */
export function stagingBeside(own: string): string {
  return BESIDE + own;
}

/** True for a name under which Chronicle stages. Never captured. */
export function isStagingName(name: string): boolean {
  return name === STAGING_FOLDER || isStagedBeside(name);
}

/**
 * True for the name of a folder in which an apply stages files for the surrounding folder. What an
 * interrupted apply left there is removed together with the surrounding folder.
 */
export function isStagedBeside(name: string): boolean {
  return name.startsWith(BESIDE);
}

/** True if a path beneath a tracked folder is in a staging folder. */
export function isInStaging(inner: string): boolean {
  return inner.includes(STAGING_FOLDER) && inner.split("/").some(isStagingName);
}
