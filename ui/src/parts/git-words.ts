import type { GitChangeShape } from "../../../src/api/shapes.ts";
import { visible } from "./words.ts";

/** The words for files of a git folder whose names say little. */
const WORDS: Readonly<Record<string, string>> = {
  index: "what is staged (the index)",
  "logs/refs/stash": "stashes",
  MERGE_HEAD: "an unfinished merge (MERGE_HEAD)",
};

/** Returns the words for what changed in a git folder: refs by their names, then the other files. */
export function gitWords({ refs, also }: Pick<GitChangeShape, "refs" | "also">): string {
  return [...refs.map(({ name }) => visible(name)), ...also.map((name) => WORDS[name] ?? visible(name))].join(", ");
}
