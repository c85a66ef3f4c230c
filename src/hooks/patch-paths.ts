/** `*** Update File: src/a.ts`: the headers of the patch text that `apply_patch` takes (codex-rs/apply-patch). */
const HEADER = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\r?$/gm;

/** The paths that a patch in the form of `apply_patch` names, each once, in their order; both ends of a move. */
export function patchPaths(patch: string): string[] {
  const found = new Set<string>();
  for (const [, path] of patch.matchAll(HEADER)) if (path !== undefined) found.add(path.trim());
  return [...found];
}
