/** `*** Update File: src/a.ts`: the headers of the patch text that `apply_patch` takes (codex-rs/apply-patch). */
const HEADER = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\r?$/gm;

/** A command line that is only `apply_patch` with a here-document: Codex runs it itself. */
const HEREDOC = /^\s*apply_?patch\s+<<-?\s*(['"]?)(\w+)\1[ \t]*\n(?<patch>[^]*?)\n\2\s*$/;

/** `cd DIR &&` before it, where `DIR` is a single literal word: Codex understands that, too. */
const FOLDER = /^\s*cd\s+(?:'([^'\n]+)'|"([^"\n$`\\]+)"|([^\s'"$`\\;&|<>()*?~{}[\]]+))\s*&&/;

/** A patch in a shell line. */
interface PatchInLine {
  readonly patch: string;
  /** The folder in which the patch is applied, relative to the line's folder. */
  readonly folder: string;
}

/** Returns the patch that a shell line passes to `apply_patch`, if the line does nothing else. */
export function patchInLine(line: string): PatchInLine | undefined {
  const [prefix = "", ...folders] = FOLDER.exec(line) ?? [];
  const patch = HEREDOC.exec(line.slice(prefix.length))?.groups?.["patch"];
  return patch === undefined ? undefined : { patch, folder: folders.find((one) => one !== undefined) ?? "." };
}

/** Returns the paths in a patch for `apply_patch`, each once, in their order; for a move, both. */
export function patchPaths(patch: string): string[] {
  const found = new Set<string>();
  for (const [, path] of patch.matchAll(HEADER)) if (path !== undefined) found.add(path.trim());
  return [...found];
}
