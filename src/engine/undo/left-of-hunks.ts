import type { WorkspacePath } from "../../core/values/path.ts";
import { holdsSeq } from "../../core/values/seq-ranges.ts";
import { optional } from "../../util/optional.ts";
import { unlessGone } from "../capture/paths-gone.ts";
import { groupsOf, type OwnEvents, type Rest } from "../facts/own-work.ts";
import type { HunkUndo, UndoneEvents } from "../facts/undone-events.ts";
import type { Context } from "../log/context.ts";
import { withoutGroups } from "./way-back.ts";

/**
 * Returns the own events with what is left of them after undos of hunks. Such an undo in force has undone only a part of
 * an event's change, so the event cannot say what is left. This follows from the state that the undo wrote to the path:
 * the change from this state without all of the work to this state. If a person has since repeated an undone hunk, it
 * is the person's work, and is not undone again.
 */
export async function withRests(context: Context, own: OwnEvents, taken: UndoneEvents): Promise<OwnEvents> {
  const rests = new Map<WorkspacePath, readonly Rest[]>();
  for (const [path, seqs] of own.byPath) {
    const undos = taken.partsAt(path);
    const found = undos.length === 0 ? [] : await restsAt(context, { path, seqs, own }, undos);
    if (found.length > 0) rests.set(path, found);
  }
  return rests.size === 0 ? own : { ...own, rests };
}

interface OwnPath {
  readonly path: WorkspacePath;
  readonly seqs: ReadonlySet<number>;
  readonly own: OwnEvents;
}

/** `undos`: the undos of hunks of the path, the newest first. */
async function restsAt(
  context: Context,
  { path, seqs, own }: OwnPath,
  undos: readonly HunkUndo[],
): Promise<readonly Rest[]> {
  const rows = await context.index.iterations(path);
  const found: Rest[] = [];
  const known = new Set<number>();
  for (const [i, undo] of undos.entries()) {
    const about = rows.filter(({ seq }) => holdsSeq(undo.took, seq)).map(({ seq }) => seq);
    const at = rows.findLastIndex(({ seq }) => seq > undo.fromSeq && seq <= undo.toSeq);
    const [row, before] = [rows[at], rows[at - 1]];
    const isMeant = about.length > 0 && about.every((seq) => seqs.has(seq) && !known.has(seq));
    // An undo that wrote nothing has undone nothing.
    if (!isMeant || row === undefined || before === undefined) continue;
    const taken = new Set(about);
    const earlier = await restsAt(context, { path, seqs: taken, own }, undos.slice(i + 1));
    const part = { byPath: new Map([[path, taken]]), firsts: own.firsts, rests: new Map([[path, earlier]]) };
    const [groups] = await groupsOf(context, part);
    const rest =
      groups === undefined ? undefined : await unlessGone(() => withoutGroups(context, groups, before.entry));
    // A part that did not merge is still to be undone, and is found only by the events themselves. These count also if
    // a content is gone: the undo then leaves the path alone, or merges without this content.
    if (rest === undefined || rest.reason !== undefined) continue;
    for (const seq of taken) known.add(seq);
    found.push({ seqs: taken, at: row.seq, before: rest.entry, after: row.entry, ...optional({ made: rest.made }) });
  }
  return found;
}
