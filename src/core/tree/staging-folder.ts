/**
 * Where staging lies, in a root, when the store is on another device: never captured, and never written by anybody else. Within a
 * tracked folder another workspace may have its root, or somebody fill a folder from a history: so that holds at any depth.
 */
export const STAGING_FOLDER = ".chronicle-tmp";

/** Begins the name of a folder in which new files for the folder around it are staged. */
const BESIDE = `${STAGING_FOLDER}-`;

/** The name of the folder in which an apply stages what goes into the folder around it. */
export function stagingBeside(own: string): string {
  return BESIDE + own;
}

/** Is it a name under which Chronicle stages? Never captured. */
export function isStagingName(name: string): boolean {
  return name === STAGING_FOLDER || isStagedBeside(name);
}

/** Is it the name of a folder in which an apply stages for the folder around it? What one that was cut off has left there goes with that. */
export function isStagedBeside(name: string): boolean {
  return name.startsWith(BESIDE);
}

/** Does a path beneath a tracked folder lie where Chronicle stages? */
export function isInStaging(inner: string): boolean {
  return inner.includes(STAGING_FOLDER) && inner.split("/").some(isStagingName);
}
