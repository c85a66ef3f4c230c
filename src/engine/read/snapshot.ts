import type { SnapshotShape } from "../../api/shapes.ts";
import type { SnapshotOptions } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { isValidSnapshotName } from "../../core/values/moment.ts";
import { decodePin, pinRecordId } from "../../core/records/pin-record.ts";
import { decodeSnapshot, encodeSnapshot, idOfText, type SnapshotRecord } from "../../core/records/records.ts";
import type { EventRow } from "../../storage/index-store.ts";
import { capture, type Capture } from "../capture/capture.ts";
import { parseGivenPath } from "../log/known-paths.ts";
import { withCommit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { keepFilters } from "../log/filters.ts";
import { historyStart, type HistoryStart } from "../log/history-start.ts";
import { prunedBy } from "../facts/pruning.ts";
import { usedBefore } from "../facts/taken-ids.ts";
import { refuseOverQuota } from "../log/quota.ts";
import { readEvent } from "../log/read-events.ts";
import { coverageShape } from "../log/shape.ts";
import { rootToState } from "../state/root-to-state.ts";
import { optional } from "../../util/optional.ts";
import { memoKey } from "../log/memo.ts";

export interface Snapshot extends SnapshotRecord {
  readonly id: string;
  /** The seq of the snapshot's own event. The snapshot names the state right after this event. */
  readonly seq: number;
  readonly ts: string;
  /**
   * The seq of an event after which the files equal those of the snapshot. Normally, this is the event of the snapshot.
   * If that event was compacted away, and the history begins with the same files, this is the event with which the
   * history begins.
   */
  readonly stateSeq: number;
  /** The seq of the event that compacted the state of the snapshot away. Absent if the state was not compacted away. */
  readonly compactedBy?: number;
  /** The seq of the event that pruned the state of the snapshot. Absent if the state was not pruned. */
  readonly prunedBy?: number;
}

/**
 * Caches the snapshot records that were read, by hash and seq of their rows. The hash alone is not enough, because all
 * rows of a base have the hash of the base.
 */
const read = memoKey<Map<string, SnapshotRecord>>("snapshots");

async function recordOf(context: Context, row: EventRow): Promise<SnapshotRecord> {
  const known = context.memo.get(read) ?? new Map<string, SnapshotRecord>();
  context.memo.set(read, known);
  const key = `${row.hash} ${row.seq}`;
  const seen = known.get(key);
  if (seen !== undefined) return seen;
  const record = decodeSnapshot((await readEvent(context, row)).record);
  known.set(key, record);
  return record;
}

/** Returns all snapshots, ordered by number. */
export async function listSnapshots(context: Context): Promise<Snapshot[]> {
  const rows = await context.index.records("snapshot:");
  const start = await historyStart(context);
  const pins = await pinnedLater(context);
  const snapshots: Snapshot[] = [];
  for (const row of rows) {
    const record = await recordOf(context, row);
    const { seq, ts } = row;
    const id = row.recordId.slice("snapshot:".length);
    const pinned = pins.get(pinRecordId(id)) ?? record.pinned;
    const state = stateOf(seq, record, start);
    const by =
      state.compactedBy === undefined ? await prunedBy(context, state.stateSeq, state.stateSeq + 1) : undefined;
    snapshots.push({ ...record, id, seq, ts, pinned, ...state, ...optional({ prunedBy: by }) });
  }
  return snapshots.sort((a, b) => a.number - b.number);
}

/**
 * Returns, for the id of each pin record, whether its snapshot is pinned. A snapshot has a pin record only if its pin
 * was changed after the snapshot was made.
 */
async function pinnedLater(context: Context): Promise<ReadonlyMap<string, boolean>> {
  const pins = new Map<string, boolean>();
  for (const row of await context.index.records("pin:")) {
    pins.set(row.recordId, decodePin((await readEvent(context, row)).record).pinned);
  }
  return pins;
}

/**
 * Returns the seq of an event with the state of a snapshot. If that state was compacted away, also returns the event
 * that did so. A snapshot from before the beginning of the history is compacted away, unless the history begins with
 * the same files.
 */
function stateOf(
  seq: number,
  { root }: SnapshotRecord,
  start: HistoryStart | undefined,
): Pick<Snapshot, "stateSeq" | "compactedBy"> {
  if (start === undefined || seq >= start.seq) return { stateSeq: seq };
  return root === start.root ? { stateSeq: start.seq } : { stateSeq: seq, compactedBy: start.seq };
}

/** Returns the snapshot with the highest number; `undefined` if there is none. */
export async function latestSnapshot(context: Context): Promise<Snapshot | undefined> {
  return (await listSnapshots(context)).at(-1);
}

export interface SnapshotDraft {
  /** The id of the snapshot. Default: a new one. */
  readonly id?: string | undefined;
  readonly cause: string;
  readonly session?: string;
  readonly message?: string;
  readonly name?: string;
  readonly pin?: boolean;
}

/**
 * Returns the id for the snapshot that the caller asks for; `undefined` if the request has no id. The id is derived
 * from the id of the request, so that a repeated request is recognised.
 */
function idOfRequest({ caller: { requestId } }: Context): string | undefined {
  return requestId === undefined ? undefined : idOfText(`chronicle snapshot\0${requestId}`);
}

/**
 * Returns the snapshot that was taken for the request id of the caller; `undefined` if there is none. Throws `USAGE` if
 * that snapshot has another name or message than the given one.
 */
async function takenBefore(context: Context, { name, message }: SnapshotOptions): Promise<Snapshot | undefined> {
  const id = idOfRequest(context);
  if (id === undefined || (await context.index.record(`snapshot:${id}`)) === undefined) return undefined;
  return takenAmong(context, await listSnapshots(context), { id, ...optional({ name, message }) });
}

/**
 * Returns the snapshot with this id; `undefined` if there is none. Throws `USAGE` if its name or message is not the
 * given one.
 */
function takenAmong(
  context: Context,
  all: readonly Snapshot[],
  { id, name, message }: Pick<SnapshotDraft, "id" | "name" | "message">,
): Snapshot | undefined {
  const taken = all.find((one) => one.id === id);
  if (taken === undefined) return undefined;
  if (taken.name === name && taken.message === message?.toWellFormed()) return taken;
  throw usedBefore(context.caller.requestId ?? "");
}

/**
 * Captures the present state, and records a snapshot of it. If a snapshot was already taken for the request id of the
 * caller, returns that snapshot. Throws `USAGE` if the name is invalid, or if that earlier request had another name or
 * message. Throws `REFUSED` if the name is in use. Also throws the errors of a capture.
 */
export async function takeSnapshot(context: Context, options: SnapshotOptions = {}): Promise<SnapshotShape> {
  if (options.name !== undefined && !isValidSnapshotName(options.name)) {
    throw new ChronicleError("USAGE", `${JSON.stringify(options.name)} cannot be the name of a snapshot`, {
      hint: "begin with a letter or digit, use letters, digits and ._+@-, and choose nothing that means another moment, such as a number, a time or `latest`",
    });
  }
  const before = await takenBefore(context, options);
  if (before !== undefined) return snapshotShape(before);
  refuseOverQuota(context);
  const { onRecord = [] } = options;
  if (onRecord.length > 0)
    await capture(context, { cause: "capture", only: onRecord.map(parseGivenPath), onRecord: true });
  const captured = await capture(context, {
    cause: "capture",
    ...optional({ paranoid: options.paranoid }),
    ...(options.acceptDeletions === true ? { acceptsDeletions: true } : {}),
    ...optional({ onProgress: options.onProgress }),
  });
  const snapshot = await nameMoment(context, captured, {
    cause: "snapshot",
    id: idOfRequest(context),
    ...optional({ message: options.message, name: options.name, pin: options.pin }),
  });
  return snapshotShape(snapshot);
}

/** Records a snapshot of the head, with the coverage of `captured`. Throws `REFUSED` if the name is in use. */
export async function nameMoment(context: Context, captured: Capture, draft: SnapshotDraft): Promise<Snapshot> {
  using _lease = await context.blobs.lease();
  const filter = await keepFilters(context, captured.filters);
  return await withCommit(context, async (commit) => {
    const head = await commit.head();
    const all = await listSnapshots(context);
    // Another process may have carried out the same request in the meantime.
    const taken = takenAmong(context, all, draft);
    if (taken !== undefined) return taken;
    const previous = all.at(-1);
    if (draft.name !== undefined && all.some((one) => one.name === draft.name)) {
      throw new ChronicleError("REFUSED", `there is a snapshot named ${JSON.stringify(draft.name)} already`, {
        hint: "choose another name; `chronicle list --snapshots` shows those in use",
      });
    }
    const record: SnapshotRecord = {
      number: (previous?.number ?? -1) + 1,
      cause: draft.cause,
      root: await rootToState(context, head.seq),
      parent: previous?.number ?? null,
      pinned: draft.pin ?? false,
      actor: context.caller.actor,
      changed: (await context.index.touched(previous?.seq ?? 0, head.seq)).length,
      coverage: captured.coverage,
      filter,
      entries: captured.entries,
      bytes: captured.bytes,
      ...optional({ name: draft.name }),
      ...(draft.message === undefined ? {} : { message: draft.message.toWellFormed() }),
      ...optional({ session: draft.session }),
    };
    const id = draft.id ?? context.newId();
    const [event] = await commit.append([{ op: "upsert", recordId: `snapshot:${id}`, record: encodeSnapshot(record) }]);
    if (event === undefined) throw new ChronicleError("IO", "the snapshot was not written");
    return { ...record, id, seq: event.seq, ts: event.ts, stateSeq: event.seq };
  });
}

export function snapshotShape(snapshot: Snapshot): SnapshotShape {
  return {
    number: snapshot.number,
    id: snapshot.id,
    seq: snapshot.seq,
    root: snapshot.root,
    coverage: coverageShape(snapshot.coverage),
    timestamp: snapshot.ts,
    cause: snapshot.cause,
    ...optional({ name: snapshot.name }),
    pinned: snapshot.pinned,
    ...optional({ message: snapshot.message }),
    parent: snapshot.parent,
    ...optional({ session: snapshot.session }),
    changed: snapshot.changed,
    ...optional({ compacted_by: snapshot.compactedBy, pruned_by: snapshot.prunedBy }),
  };
}
