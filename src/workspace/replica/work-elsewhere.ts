import type { FileRecord } from "../../core/file-record.ts";
import type { Context } from "../context.ts";
import { indexedFrom } from "../history-start.ts";
import { fileEvents } from "../own-work.ts";

/**
 * Work that was done at another copy of the workspace, and came here by a sync: the actions and sessions that its events
 * name have no events of their own here.
 */
export interface WorkElsewhere {
  readonly session?: string;
  readonly turn?: string;
  readonly action?: string;
  /** Whose history it is a part of: a replica wrote it here; or it came here from the origin. */
  readonly from: "replica" | "origin";
  /** The event before its first, and its last one. */
  readonly fromSeq: number;
  readonly toSeq: number;
}

/** All of it, in the order of the last events. Reads the whole log, but only where there is a sync. */
export async function workElsewhere(context: Context): Promise<readonly WorkElsewhere[]> {
  if (!(await hasSync(context))) return [];
  const found = new Map<string, WorkElsewhere>();
  const begins = (await indexedFrom(context)) ?? 1;
  const { seq: toSeq } = await context.index.head();
  for await (const { seq, record } of fileEvents(context, { fromSeq: begins - 1, toSeq })) {
    if (record.cause !== "replica") continue;
    const key = JSON.stringify([record.session, record.turn, record.action]);
    const known = found.get(key);
    // What was said last stands last.
    found.delete(key);
    found.set(key, { ...named(record), fromSeq: known?.fromSeq ?? seq - 1, toSeq: seq });
  }
  return [...found.values()];
}

function named({ session, turn, action, replica }: FileRecord): Omit<WorkElsewhere, "fromSeq" | "toSeq"> {
  return {
    ...(session === undefined ? {} : { session }),
    ...(turn === undefined ? {} : { turn }),
    ...(action === undefined ? {} : { action }),
    from: replica === undefined ? "origin" : "replica",
  };
}

async function hasSync({ index }: Context): Promise<boolean> {
  for (const prefix of ["replica:", "writeback:"]) if ((await index.records(prefix)).length > 0) return true;
  return false;
}
