import { GRACE_MS, partId, type GivenUpPart, type Tombstone } from "../core/records/tombstone.ts";
import type { StoreParts } from "./open-context.ts";
import type { ListedWorkspace } from "../store/roots-cache.ts";
import { Tombstones } from "../store/tombstones.ts";
import { optional } from "../util/optional.ts";

interface HowGivenUp {
  /** The time for which the history or part is kept, in milliseconds. */
  readonly grace: number;
  /** The part that is given up. Absent for a whole history. */
  readonly part?: GivenUpPart;
}

/** Returns a note about a history or part that is given up. The note names the last signed head. */
export async function tombstoneOf(
  parts: StoreParts,
  workspace: Pick<ListedWorkspace, "id" | "name" | "folders">,
  { grace, part }: HowGivenUp,
): Promise<Tombstone> {
  const { backends, heads, actor, layout } = parts;
  const { id, name, folders } = workspace;
  const [at, kept] = [backends.now(), heads.last(id)];
  const { pid } = backends.processes;
  return {
    id: part === undefined ? id : partId(id, part),
    ...(part === undefined ? {} : { part: { ...part, workspace: id } }),
    ...optional({ name }),
    path: folders[0] ?? "",
    store: layout.home,
    forgotten: new Date(at).toISOString(),
    until: new Date(at + grace).toISOString(),
    head: kept === undefined ? null : { seq: kept.seq, hash: kept.hash },
    by: { pid, ancestors: await backends.processes.ancestors(pid), actor },
  };
}

/**
 * Writes a note about a given-up part of a history. The note lies beside the signing key. The part can be brought back
 * during the grace period.
 */
export async function noteGivenUp(parts: StoreParts, id: string, part: GivenUpPart): Promise<void> {
  const listed = (await parts.roots.list()).find((one) => one.id === id);
  const stone = await tombstoneOf(parts, listed ?? { id, folders: [] }, { grace: GRACE_MS, part });
  new Tombstones(parts).put(stone);
}
