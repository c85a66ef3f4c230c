/** `*** Update File: src/a.ts`: the headers of the patch text that `apply_patch` takes (codex-rs/apply-patch). */
const HEADER = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\r?$/gm;

/** A line that is nothing but `apply_patch` with a here-document: Codex takes such a one itself. */
const HEREDOC = /^\s*apply_patch\s+<<-?\s*(['"]?)(\w+)\1[ \t]*\n(?<patch>[^]*?)\n\2\s*$/;

/** The patch that a shell line hands to `apply_patch`, if that is all that it does. */
export function patchInLine(line: string): string | undefined {
  return HEREDOC.exec(line)?.groups?.["patch"];
}

/** The paths that a patch in the form of `apply_patch` names, each once, in their order; both ends of a move. */
export function patchPaths(patch: string): string[] {
  const found = new Set<string>();
  for (const [, path] of patch.matchAll(HEADER)) if (path !== undefined) found.add(path.trim());
  return [...found];
}
