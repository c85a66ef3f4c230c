import type { RestoreShape } from "../../api/shapes.ts";
import type { Context } from "./context.ts";

const MOST_TOLD = 20;

/**
 * Returns notes for people on files that somebody wrote while Chronicle replaced or removed them, and on the kept
 * copies.
 */
export function notesOfCopies(conflicts: RestoreShape["conflicts"]): string[] {
  const more = conflicts.length - MOST_TOLD;
  return [
    ...conflicts
      .slice(0, MOST_TOLD)
      .map(({ path, kept_at: at }) => `${path} was written meanwhile: a copy of what was written is kept as ${at}`),
    ...(more > 0 ? [`${more} more files were written meanwhile: copies of what was written are kept beside them`] : []),
  ];
}

/** Tells people of the copies that an operation kept. Used for operations whose answer has no field for the copies. */
export function tellOfCopies({ tell }: Pick<Context, "tell">, conflicts: RestoreShape["conflicts"]): void {
  for (const note of notesOfCopies(conflicts)) tell?.(note);
}
