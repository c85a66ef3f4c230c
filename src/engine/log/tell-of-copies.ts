import type { RestoreShape } from "../../api/shapes.ts";
import type { Context } from "./context.ts";

/** The maximum number of files that the notes name. */
const MOST_TOLD = 20;

/**
 * Returns notes, for people, on files that somebody wrote while Chronicle replaced or removed them. The notes name the
 * kept copies of what was written.
 */
export function notesOfCopies(conflicts: RestoreShape["conflicts"]): string[] {
  const more = conflicts.length - MOST_TOLD;
  return [
    ...conflicts
      .slice(0, MOST_TOLD)
      .map(
        ({ path, kept_at: at }) =>
          `${path} was written during this operation: a copy of what was written is kept as ${at}`,
      ),
    ...(more > 0
      ? [`${more} more files were written during this operation: copies of what was written are kept beside them`]
      : []),
  ];
}

/** Tells people of the copies that an operation kept. Used by operations whose answer has no field for the copies. */
export function tellOfCopies({ tell }: Pick<Context, "tell">, conflicts: RestoreShape["conflicts"]): void {
  for (const note of notesOfCopies(conflicts)) tell?.(note);
}
