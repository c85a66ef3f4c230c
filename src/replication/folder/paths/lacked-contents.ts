import type { Entry } from "../../../core/values/entry.ts";
import type { Hash } from "../../../core/values/hash.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import type { BlobStore } from "../../../storage/blob-store.ts";
import { withBreaths } from "../../../util/with-breaths.ts";
import type { Mirror } from "../../replica/mirror.ts";
import type { WithheldContents } from "../../replica/withheld-contents.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";

/** The parts from which a folder's missing contents are found. */
export interface LackingFolder {
  readonly mirror: Pick<Mirror, "head" | "entriesAt">;
  readonly blobs: Pick<BlobStore, "has">;
  readonly withheld: WithheldContents;
  readonly rules: Pick<ReplicatedPaths, "isShared" | "keepsApart">;
}

/**
 * Returns contents of the origin's present files that were not taken when their events came, and that the folder now
 * needs: a filter was removed, or secrets are asked for that were not.
 */
export async function lackedContents({ mirror, blobs, withheld, rules }: LackingFolder): Promise<readonly Hash[]> {
  const listed = withheld.list();
  if (listed.size === 0) return [];
  const wanted = new Set<Hash>();
  const isWanted = (path: WorkspacePath, remote: Entry): boolean =>
    rules.isShared(path, false) && !rules.keepsApart({ path, local: undefined, remote });
  for await (const rows of withBreaths(mirror.entriesAt(mirror.head.seq)))
    for (const { path, entry } of rows)
      if (entry?.hash !== undefined && listed.has(entry.hash) && isWanted(path, entry)) wanted.add(entry.hash);
  const held = await blobs.has([...wanted]);
  return [...wanted].filter((hash) => !held.has(hash));
}
