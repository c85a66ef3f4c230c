import type { RestoreShape } from "../../api/shapes.ts";
import type { Context } from "./context.ts";

const MOST_TOLD = 20;

/** Returns notes for people on files that were written while Chronicle replaced or removed them, and on the copies. */
export function notesOfCopies(conflicts: RestoreShape["conflicts"]): string[] {
  const more = conflicts.length - MOST_TOLD;
  return [
    ...conflicts
      .slice(0, MOST_TOLD)
      .map(({ path, kept_at: at }) => `${path} was written meanwhile: a copy of what was written is kept as ${at}`),
    ...(more > 0 ? [`${more} more files were written meanwhile: copies of what was written are kept beside them`] : []),
  ];
}

/** Tells of the copies that an operation kept, if its answer has no place for them. */
export function tellOfCopies({ tell }: Pick<Context, "tell">, conflicts: RestoreShape["conflicts"]): void {
  for (const note of notesOfCopies(conflicts)) tell?.(note);
}
