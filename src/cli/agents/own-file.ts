import { ChronicleError } from "../../core/values/errors.ts";
import type { ConfigFile, Wanted } from "./agent-config.ts";

/** A file with Chronicle's hooks that belongs to Chronicle as a whole. */
interface OwnFile {
  readonly path: string;
  readonly foldersAbove: number;
  /** The first lines of the file, without the last line break. A file with another beginning belongs to the user. */
  readonly head: string;
  /** The characters that begin a comment in the file. */
  readonly comment: string;
  /** The name of the file in the message about a file with another beginning, such as `Chronicle's plugin`. */
  readonly called: string;
  /** Returns the text after the head. */
  body(wanted: Wanted): string;
  /** Returns the command lines in a text of this file. */
  commandsIn(text: string): readonly string[];
}

/**
 * Returns the `ConfigFile` of a file that belongs to Chronicle as a whole. If the user has a file of the same name, an
 * installation throws `REFUSED` instead of overwriting that file.
 */
export function ownFile(own: OwnFile): ConfigFile {
  const { path, foldersAbove, head, comment, called } = own;
  const isOurs = (text: string): boolean => text.startsWith(`${head}\n`);
  /** Matches the line that says how many of the folders above the file the installation has made. */
  const folders = new RegExp(`^${comment} The installation made (\\d) of the folders above it\\.\n`, "m");
  const withFolders = (text: string, made: number | undefined): string => {
    if (made === undefined) return text;
    return text.replace(head, () => `${head}\n${comment} The installation made ${made} of the folders above it.`);
  };
  const foldersMade = (text: string): number | undefined => {
    const made = folders.exec(text)?.[1];
    return made === undefined ? undefined : Number(made);
  };
  return {
    path,
    holds: "hooks",
    foldersAbove,
    otherwise: "cannot load this file",
    misfit: () => undefined,
    install: (text, wanted) => {
      if (text !== undefined && text.trim() !== "" && !isOurs(text)) {
        throw new ChronicleError("REFUSED", `this file is not ${called}`, {
          hint: "rename it, then install again; nothing was written",
        });
      }
      return withFolders(`${head}\n${own.body(wanted)}`, foldersMade(text ?? ""));
    },
    noteFolders: withFolders,
    foldersMade,
    uninstall: (text) => (isOurs(text) ? "" : text),
    found: (text) => ({
      hooks: isOurs(text) ? own.commandsIn(text) : [],
      mcp: undefined,
      namesake: false,
      missing: [],
      misplaced: [],
    }),
  };
}
