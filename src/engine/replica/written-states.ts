import type { Entry } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { sameEntry } from "../../core/values/entry.ts";
import type { UpstreamChange, WrittenState } from "../../core/tree/upstream-change.ts";
import type { WriteBackEntry } from "../../core/records/write-back.ts";
import type { TakenEntry } from "./write-back-plan.ts";

/** A state of a path that came with an entry. */
export function writtenBy(replica: string, entry: WriteBackEntry, state: Entry | undefined): WrittenState {
  const { actor, session, turn, action, localSeq } = entry;
  const by = {
    actor: actor.toWellFormed(),
    ...(session === undefined ? {} : { session: session.toWellFormed() }),
    ...(turn === undefined ? {} : { turn: turn.toWellFormed() }),
    ...(action === undefined ? {} : { action: action.toWellFormed() }),
  };
  return { entry: state, by, replica: { id: replica, localSeq } };
}

/**
 * Returns the changes to make to the files: one for each path, with all states that it went through. A path that ends
 * as it was is left out: `backAt` is the entry at which it first was so again; -1: none is.
 */
export function changesOf(
  replica: string,
  taken: readonly TakenEntry[],
): { readonly changes: UpstreamChange[]; readonly backAt: number } {
  const changes = new Map<WorkspacePath, UpstreamChange & { readonly written: readonly WrittenState[] }>();
  for (const [i, { entry, changes: own }] of taken.entries()) {
    for (const { path, before, after } of own) {
      const earlier = changes.get(path);
      const first = earlier === undefined ? before : earlier.before;
      if (sameEntry(first, after)) return { changes: [...changes.values()], backAt: i };
      const written = [...(earlier?.written ?? []), writtenBy(replica, entry, after)];
      changes.set(path, { path, before: first, after, written });
    }
  }
  return { changes: [...changes.values()], backAt: -1 };
}
