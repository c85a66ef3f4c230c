/** Where staging lies, in a root, when the store is on another device: never captured, and never written by anybody else. */
export const STAGING_FOLDER = ".chronicle-tmp";
