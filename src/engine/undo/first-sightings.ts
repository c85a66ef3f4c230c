import type { WorkspacePath } from "../../core/values/path.ts";
import { backTo, SeenAbsent } from "../capture/seen-absent.ts";
import { type OwnEvents, withoutEvents, type Work } from "../facts/own-work.ts";
import type { Context } from "../log/context.ts";

/**
 * Leaves out the events that only say that a path was first seen. A capture records a path that the rules have left out until
 * then: nothing shows that it was absent before, so this is no change of anybody. Together with a later deletion it would be: the path came and went, and stays away.
 *
 * Only work that counts everybody's events holds such an event. A path without later events keeps it: an undo says why the path
 * stays.
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
