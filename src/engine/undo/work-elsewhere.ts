import type { RemoteWorkRow } from "../../core/records/remote-work.ts";
import type { Context } from "../log/context.ts";

/**
 * Work that was done in another copy of the workspace, and that came here by a sync. This history has no records of its
 * actions and sessions.
 */
export interface WorkElsewhere {
  readonly session?: string;
  readonly turn?: string;
  readonly action?: string;
  readonly actor: string;
  /** How the work came here: a replica wrote it back, or a sync brought it from the origin. */
  readonly from: "replica" | "origin";
  /** The seq of the event before the first event of the work. */
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** Returns all work from other copies, in the order of its last events. */
export async function workElsewhere({ index }: Context): Promise<readonly WorkElsewhere[]> {
  return (await index.remoteWork()).map(elsewhere);
}

function elsewhere({ session, turn, action, actor, replica, firstSeq, lastSeq }: RemoteWorkRow): WorkElsewhere {
  return {
    ...(session === "" ? {} : { session }),
    ...(turn === "" ? {} : { turn }),
    ...(action === "" ? {} : { action }),
    actor,
    from: replica === "" ? "origin" : "replica",
    fromSeq: firstSeq - 1,
    toSeq: lastSeq,
  };
}
