import type { WorkspacePath } from "../../core/values/path.ts";
import { backTo, SeenAbsent } from "../capture/seen-absent.ts";
import { type OwnEvents, withoutEvents, type Work } from "../facts/own-work.ts";
import type { Context } from "../log/context.ts";

/**
 * Leaves out each event that only records the first sight of a path: the rules had left the path out, and now they do
 * not. Such an event is nobody's change, because the path may have existed before. If the path was deleted later, the
 * event and the deletion together would be no change, and an undo would not bring the path back.
 *
 * Only work that includes everybody's events (`everything`) contains such an event. The event is not left out if the
 * path has no later event in the work. An undo then reports why the path is not removed.
 */
export async function withoutSightings(
  context: Context,
  { everything, back }: Pick<Work, "everything" | "back">,
  own: OwnEvents,
): Promise<OwnEvents> {
  if (everything !== true) return own;
  const absent = new SeenAbsent(context);
  const sightings = new Map<WorkspacePath, number>();
  for (const [path, seqs] of own.byPath) {
    const first = own.firsts.get(path);
    if (first === undefined || seqs.size < 2) continue;
    const rows = await context.index.iterations(path);
    const at = rows.findIndex(({ seq }) => seq === first.seq);
    const { entry } = rows[at] ?? {};
    if (entry === undefined || rows[at - 1]?.entry !== undefined) continue;
    const doubt = await absent.doubt(path, entry.kind === "dir", backTo(first, back));
    if (doubt !== undefined) sightings.set(path, first.seq);
  }
  return withoutEvents(own, sightings);
}
