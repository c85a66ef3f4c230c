/** `*** Update File: src/a.ts`: the headers of the patch text that `apply_patch` takes (codex-rs/apply-patch). */
const HEADER = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\r?$/gm;

/** A line that is nothing but `apply_patch` with a here-document: Codex takes such a one itself. */
const HEREDOC = /^\s*apply_?patch\s+<<-?\s*(['"]?)(\w+)\1[ \t]*\n(?<patch>[^]*?)\n\2\s*$/;

/** `cd DIR &&` before it, where `DIR` is one word that stands for itself: Codex reads that, too. */
const FOLDER = /^\s*cd\s+(?:'([^'\n]+)'|"([^"\n$`\\]+)"|([^\s'"$`\\;&|<>()*?~{}[\]]+))\s*&&/;

/** A patch in a shell line. */
interface PatchInLine {
  readonly patch: string;
  /** The folder in which it is applied, from where the line runs. */
  readonly folder: string;
}

/** The patch that a shell line hands to `apply_patch`, if that is all that it does. */
export function patchInLine(line: string): PatchInLine | undefined {
  const [prefix = "", ...folders] = FOLDER.exec(line) ?? [];
  const patch = HEREDOC.exec(line.slice(prefix.length))?.groups?.["patch"];
  return patch === undefined ? undefined : { patch, folder: folders.find((one) => one !== undefined) ?? "." };
}

/** The paths that a patch in the form of `apply_patch` names, each once, in their order; both ends of a move. */
export function patchPaths(patch: string): string[] {
  const found = new Set<string>();
  for (const [, path] of patch.matchAll(HEADER)) if (path !== undefined) found.add(path.trim());
  return [...found];
}
