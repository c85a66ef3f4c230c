import type { RecordBody } from "../values/event.ts";
import { damaged, flag, list, object, oneOf, orNull, text, whole } from "../values/record-fields.ts";
import type { KeptStates } from "../tree/kept-states.ts";
import { optional } from "../../util/optional.ts";

export type PruneCause = "limits" | "asked" | "brought-back";

/**
 * `prune:<workspace id>`: the states that are kept of a pruned history. Each pruning, and each withdrawal of prunings,
 * is a new event of this one record. The last event is in force.
 *
 * A pruning removes no lines of the log. `floorSeq` and `kept` alone determine which contents a pruning gives up,
 * except for private contents (see `privates`). The state at the floor, all later states, and the states in `kept` can
 * still be restored.
 */
export interface PruneRecord {
  /**
   * The floor: the seq of an event. The state after this event and all later states are kept. The floor never
   * decreases, unless a pruning is withdrawn.
   */
  readonly floorSeq: number;
  /**
   * The states below the floor that are kept, too. Each seq names an event, and stands for the state right after this
   * event. The seqs are ascending.
   */
  readonly kept: readonly number[];
  /**
   * The members of `kept` that kept actions need. An action that begins at any other state below the floor is pruned.
   */
  readonly keptActions: readonly number[];
  /** The numbers of actions and of snapshots that this event gave up. */
  readonly actions: number;
  readonly snapshots: number;
  /**
   * The cause: the configured limits (`limits`), a request by a person (`asked`), or a person's withdrawal of prunings
   * (`brought-back`).
   */
  readonly cause: PruneCause;
  /** True if a person has said that the given-up contents may be freed at once, without the grace period. */
  readonly now?: boolean;
  /** An upper bound for the size, in bytes, of the contents that were given up since contents were last freed. */
  readonly pendingBytes: number;
  /** The private contents that this event and earlier events of the record gave up. Omitted if there are none. */
  readonly privates?: GivenUpPrivates;
  readonly actor: string;
}

/**
 * The private contents (`Aside`, `KeptPrompt`) that were given up before their `until`, because all private contents
 * together exceeded `max_private_bytes`. The private contents of a record were given up if the record's last event at
 * that time was below `floorSeq` and not in `kept`. A withdrawal of prunings does not bring these contents back.
 */
export interface GivenUpPrivates extends KeptStates {
  /**
   * The number of records whose private contents were given up since the history began, and the size of these contents.
   */
  readonly records: number;
  readonly bytes: number;
}

export function pruneRecordId(workspaceId: string): string {
  return `prune:${workspaceId}`;
}

export function encodePrune(record: PruneRecord): RecordBody {
  const ofActions = new Set(record.keptActions);
  return {
    floor_seq: record.floorSeq,
    kept: record.kept.filter((state) => !ofActions.has(state)),
    kept_actions: record.keptActions,
    actions: record.actions,
    snapshots: record.snapshots,
    cause: record.cause,
    ...(record.now === true ? { now: true } : {}),
    pending_bytes: record.pendingBytes,
    ...optional({ private: record.privates === undefined ? undefined : encodePrivates(record.privates) }),
    actor: record.actor.toWellFormed(),
  };
}

function encodePrivates({ floorSeq, kept, records, bytes }: GivenUpPrivates): RecordBody {
  return { floor_seq: floorSeq, kept, records, bytes };
}

function decodePrivates(body: RecordBody): GivenUpPrivates {
  const floorSeq = whole(body, "floor_seq");
  const kept = statesIn(body, "kept", floorSeq);
  return { floorSeq, kept, records: whole(body, "records"), bytes: whole(body, "bytes") };
}

/** Decodes a prune record. Throws `LOG_DAMAGED` if it is invalid. */
export function decodePrune(body: RecordBody): PruneRecord {
  const floorSeq = whole(body, "floor_seq");
  const others = statesIn(body, "kept", floorSeq);
  const keptActions = statesIn(body, "kept_actions", floorSeq);
  return {
    floorSeq,
    kept: [...new Set([...others, ...keptActions])].sort((a, b) => a - b),
    keptActions,
    actions: whole(body, "actions"),
    snapshots: whole(body, "snapshots"),
    cause: oneOf(body, "cause", CAUSES),
    ...(body["now"] === undefined ? {} : { now: flag(body, "now") }),
    pendingBytes: orNull(body, "pending_bytes", whole) ?? 0,
    ...(body["private"] === undefined ? {} : { privates: decodePrivates(object(body["private"], "private")) }),
    actor: text(body, "actor"),
  };
}

const CAUSES: ReadonlySet<PruneCause> = new Set(["limits", "asked", "brought-back"]);

function statesIn(body: RecordBody, key: string, floorSeq: number): number[] {
  const states = list(body, key).map((one) => {
    if (typeof one !== "number" || !Number.isSafeInteger(one))
      return damaged(`${key} holds something else than event numbers`);
    return one;
  });
  const isWrong = (seq: number, i: number): boolean => seq >= floorSeq || seq <= (states[i - 1] ?? -1);
  return states.some(isWrong) ? damaged(`${key} is not in order below floor_seq`) : states;
}

/**
 * Returns true if an action can still be rolled back. `state`: the `fromSeq` of the action. `pruning`: the pruning in
 * force; `undefined` if nothing was pruned.
 */
export function keepsAction(pruning: PruneRecord | undefined, state: number): boolean {
  return pruning === undefined || state >= pruning.floorSeq || pruning.keptActions.includes(state);
}
