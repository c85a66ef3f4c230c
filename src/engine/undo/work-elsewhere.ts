import type { RemoteWorkRow } from "../../core/records/remote-work.ts";
import type { Context } from "../log/context.ts";

/**
 * Work that was done in another copy of the workspace, and that came here by a sync. The actions and sessions of this
 * work have no records in this history.
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

/** Returns all work from other copies, sorted by the last event of each work. */
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
