/** Where staging lies, in a root, when the store is on another device: never captured, and never written by anybody else. */
export const STAGING_FOLDER = ".chronicle-tmp";

/** Begins the name of a folder in which new files for the folder around it are staged. */
const BESIDE = `${STAGING_FOLDER}-`;

/** The name of the folder in which an apply stages what goes into the folder around it. */
export function stagingBeside(own: string): string {
  return BESIDE + own;
}

/** Is it a name under which Chronicle stages? Never captured. `inRoot`: it stands in a tracked folder itself, not deeper. */
export function isStagingName(name: string, inRoot: boolean): boolean {
  return name.startsWith(STAGING_FOLDER) && ((inRoot && name === STAGING_FOLDER) || name.startsWith(BESIDE));
}

/** Does a path beneath a tracked folder lie where Chronicle stages? */
export function isInStaging(inner: string): boolean {
  return inner.includes(STAGING_FOLDER) && inner.split("/").some((name, depth) => isStagingName(name, depth === 0));
}
