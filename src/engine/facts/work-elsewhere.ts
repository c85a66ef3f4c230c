import type { RemoteWorkRow } from "../../core/records/remote-work.ts";
import type { Context } from "../log/context.ts";

/**
 * Work that was done at another copy of the workspace, and came here by a sync: the actions and sessions that its
 * events name have no events of their own here.
 */
export interface WorkElsewhere {
  readonly session?: string;
  readonly turn?: string;
  readonly action?: string;
  /** The history that it is a part of: a replica wrote it here, or it came here from the origin. */
  readonly from: "replica" | "origin";
  /** The event before its first one, and its last one. */
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** Returns all such work, ordered by the last events. */
export async function workElsewhere({ index }: Context): Promise<readonly WorkElsewhere[]> {
  return (await index.remoteWork()).map(elsewhere);
}

function elsewhere({ session, turn, action, replica, firstSeq, lastSeq }: RemoteWorkRow): WorkElsewhere {
  return {
    ...(session === "" ? {} : { session }),
    ...(turn === "" ? {} : { turn }),
    ...(action === "" ? {} : { action }),
    from: replica === "" ? "origin" : "replica",
    fromSeq: firstSeq - 1,
    toSeq: lastSeq,
  };
}
