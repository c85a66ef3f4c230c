import { decodeIntent, type IntentRecord, decodeSession } from "../../core/records/records.ts";
import type { EventRow } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { readEvent } from "../log/read-events.ts";
import { claimedName } from "../../core/records/actor-name.ts";
import type { WriteBackEntry } from "../../core/records/write-back.ts";
import { ChronicleError } from "../../core/values/errors.ts";

/**
 * Guards ids against misuse. Events name the ids of the session, run or action to which they belong. A change that
 * names the id of other work would therefore be listed and undone with that work. Any agent may name the id of an
 * agent's session. Only the engine names other ids.
 */

const OPERATIONS = [
  ["action:", "an action"],
  ["transaction:", "a transaction"],
  ["intent:", "an operation"],
] as const;

/**
 * Returns the kind of work that has this id in this history, as a text for people. Returns `undefined` if no work has
 * the id, or if the work is an agent's session.
 */
async function takenBy(context: Context, id: string): Promise<string | undefined> {
  const row = await context.index.record(`session:${id}`);
  if (row !== undefined && decodeSession((await readEvent(context, row)).record).kind !== "agent")
    return "the session of a run";
  for (const [prefix, what] of OPERATIONS) {
    if ((await context.index.record(prefix + id)) !== undefined) return what;
  }
  return undefined;
}

/**
 * Throws `USAGE` if the id that a caller gives as its session is already the id of work that is not an agent's session.
 */
export async function refuseTakenId(context: Context, id: string): Promise<void> {
  const what = await takenBy(context, id);
  if (what !== undefined) throw notOfAnAgent(id, what);
}

export function notOfAnAgent(id: string, what = "the session of a run"): ChronicleError {
  const isRun = what === "the session of a run";
  return new ChronicleError("USAGE", `${id} is ${what}, not ${isRun ? "" : "the session "}of an agent`, {
    hint: isRun
      ? "the session of a run ends with the run's command; `chronicle sessions` lists all sessions"
      : "give the id of the agent's own session, or leave it out",
  });
}

/**
 * Returns a replica's entries without ids that the replica must not use. No change may use the ids of runs, actions and
 * operations of this history. A change under an agent's name must also not use the ids of a person's work at another
 * replica. A change with such an id stays in the result, but without its session, turn and action.
 */
export async function withOwnIds(
  context: Context,
  replica: string,
  entries: readonly WriteBackEntry[],
): Promise<WriteBackEntry[]> {
  const known = new Map<string, Promise<boolean>>();
  const isOthers = (id: string, isPerson: boolean): Promise<boolean> => {
    const key = `${isPerson ? "person" : "agent"} ${id}`;
    const found = known.get(key) ?? isForeign(context, { id, replica, isPerson });
    known.set(key, found);
    return found;
  };
  const own: WriteBackEntry[] = [];
  for (const entry of entries) {
    const { session, turn: _turn, action, ...rest } = entry;
    const isPerson = claimedName(entry.actor) !== undefined;
    let isTaken = false;
    for (const id of [session, action]) isTaken ||= id !== undefined && (await isOthers(id, isPerson));
    own.push(isTaken ? rest : entry);
  }
  return own;
}

interface Named {
  readonly id: string;
  readonly replica: string;
  /** True if the entry names a person as its author, which only an operator's replica may do. */
  readonly isPerson: boolean;
}

async function isForeign(context: Context, { id, replica, isPerson }: Named): Promise<boolean> {
  if ((await takenBy(context, id)) !== undefined) return true;
  if (isPerson) return false;
  const work = await context.index.remoteWork({ naming: id });
  return work.some((row) => row.replica !== replica && claimedName(row.actor) !== undefined);
}

export interface DoneRequest {
  readonly intent: IntentRecord;
  readonly row: EventRow;
}

/** Returns the request with this id if the index shows that it was carried out. */
export async function doneRequest(context: Context, id: string): Promise<DoneRequest | undefined> {
  const row = await context.index.record(`intent:${id}`);
  if (row === undefined) return undefined;
  const intent = decodeIntent((await readEvent(context, row)).record);
  return intent.state === "done" ? { intent, row } : undefined;
}

/**
 * The error for a request that another process has begun or carried out since this process looked the request up. When
 * the error is thrown, the lock is held, and nothing has been changed yet. The caller then looks the request up again.
 */
export class RequestMeanwhile extends ChronicleError {
  constructor(request: string) {
    super("LOCKED", `the request with the id ${JSON.stringify(request)} is being carried out by another process`, {
      hint: "ask again in a moment, with the same id",
      data: { request },
    });
  }
}

export function usedBefore(request: string): ChronicleError {
  return new ChronicleError("USAGE", `the request id ${JSON.stringify(request)} was used for something else`, {
    hint: "give each request its own id, and use an id again only to repeat the same request",
    data: { request },
  });
}
