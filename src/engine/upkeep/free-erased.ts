import type { EraseShape } from "../../api/action-shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Context } from "../log/context.ts";

/** The number of workspaces that are named as keeping something. */
const MOST_NAMED = 5;

/**
 * Frees contents that were just erased to be gone at once, as far as nothing else needs them. If this fails, the event
 * stands, and a later `gc` frees them.
 */
export async function freeErased(
  context: Context,
  hashes: readonly Hash[],
): Promise<Pick<EraseShape, "freed" | "not_freed">> {
  try {
    const { pending_blobs: pending } = await context.store.collect();
    const kept = await context.store.stored(hashes);
    if (pending === 0 && kept.size === 0) return { freed: true, not_freed: null };
    const why = await whoKeeps(context, kept);
    return { freed: false, not_freed: [...why, ...(pending > 0 || why.length === 0 ? [IN_USE] : [])].join("; ") };
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    return { freed: false, not_freed: error.message };
  }
}

const IN_USE = "another process has a pack with such bytes in use: run `chronicle gc` later";

/** Names the workspaces for which a collection keeps contents, and what can be done there. */
async function whoKeeps(context: Context, kept: ReadonlySet<Hash>): Promise<readonly string[]> {
  const { workspaces, upstream = [] } = await context.store.neededElsewhere(kept, { due: true });
  const needing = new Set((await context.store.neededElsewhere(kept)).workspaces.map(({ id }) => id));
  const named = workspaces.slice(0, MOST_NAMED).map(({ id, contents }) => {
    const what = `workspace ${id} ${needing.has(id) ? "needs" : "has erased, and keeps for its 24 hours,"} ${contents.length}`;
    return `${what} of them (${needing.has(id) ? "erase them there as well" : "say --now there as well"})`;
  });
  const left = workspaces.length - named.length;
  return [
    ...named,
    ...(left > 0 ? [`${left} more workspaces need some of them`] : []),
    ...(upstream.length > 0 ? ["what is kept of the origin's history needs some of them for a time"] : []),
  ];
}
