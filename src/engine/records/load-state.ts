import { parseLine } from "../../core/log/chain.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { EMPTY_HEAD } from "../../core/values/event.ts";
import { decodeCheckpoint, decodeRecordBase, type ReadState } from "../../core/records/record-checkpoint.ts";
import { decodeRecordSentinel, type RecordSentinel } from "../../core/records/record-sentinel.ts";
import { RecordState } from "../../core/records/record-state.ts";
import type { EventLog, LogEnd } from "../../storage/event-log.ts";
import { refuseOtherHistory } from "../log/history-start.ts";
import {
  type BadLine,
  type Bound,
  followLog,
  isDamage,
  type Place,
  soundEvent,
  type FollowOptions,
} from "./follow-log.ts";
import { decodeKeptEnd, type KeptEnd, type RecordFiles } from "./record-files.ts";

/** The state of a store, as loaded. */
export interface Loaded extends Place {
  /** The seq of the checkpoint from which the state was loaded; `undefined` if no checkpoint was used. */
  readonly checkpoint: number | undefined;
  /**
   * The torn tail of the log, which is what a crash left of an unfinished commit. The next writer moves it to
   * `quarantine/`.
   */
  readonly torn: BadLine | undefined;
  /** The last event that the log must have, according to `head.json`, the checkpoint or the caller. */
  readonly bound: Bound;
  /**
   * The error `LOG_DAMAGED` or `ROLLBACK_DETECTED`, if the log is damaged or was rolled back. Such a store can only be
   * read.
   */
  readonly damage: ChronicleError | undefined;
  /**
   * The fault of `head.json`: the file is damaged, or belongs to another store. `undefined` if the file is sound or
   * missing.
   */
  readonly headFault: string | undefined;
  /** Notes for people about the loading, such as a discarded checkpoint. */
  readonly notes: readonly string[];
}

interface Start extends Place {
  readonly checkpoint: number | undefined;
}

/**
 * Loads the state of a store from its checkpoint and the later lines of the log. A checkpoint that is damaged or does
 * not fit the log is discarded. Without a checkpoint, the whole log is read. If the log starts on a base, its lines are
 * applied to the state of that base. `acknowledged` is the last event that the caller appended.
 *
 * A damaged log is not an error, but is returned as `Loaded.damage`. Throws `USAGE` for the log of a workspace.
 */
export async function loadState(log: EventLog, files: RecordFiles, acknowledged: Bound): Promise<Loaded> {
  const notes: string[] = [];
  const end = await log.refresh();
  const store = await storeOf(log);
  const { kept, fault } = readKeptEnd(files, { end, store }, notes);
  const checkpoint = readCheckpoint(files, { notes, kept, store });
  const witnesses = [acknowledged, ...(kept === undefined ? [] : [kept as Bound])];
  const bound = [...witnesses, ...(checkpoint === undefined ? [] : [checkpoint.state.head])].reduce<Bound>(
    (most, one) => (one.seq > most.seq ? one : most),
    EMPTY_HEAD,
  );
  const known = { bound, witnesses };
  const fitting = fits(checkpoint, log, end, notes);
  const start = fitting !== undefined && agrees(fitting, log, witnesses) ? fitting : undefined;
  const first = start === undefined ? undefined : await attempt(log, start, known);
  // If the first line after the checkpoint does not continue the chain, either the line or the checkpoint is wrong.
  // Reading the whole log shows which.
  if (first !== undefined && !isMisfit(first, start))
    return await settle(first, { log, end, bound, headFault: fault, notes });
  if (first !== undefined) notes.push("snapshot.json does not fit the log and was discarded");
  const whole = await wholeLog(log, files, notes);
  if (whole instanceof ChronicleError) {
    const nothing = { state: new RecordState(), offset: 0, checkpoint: undefined, torn: undefined };
    return { ...nothing, bound, damage: whole, headFault: fault, notes };
  }
  return await settle(await attempt(log, whole, known), { log, end, bound, headFault: fault, notes });
}

interface Attempt extends Start {
  readonly bad: BadLine | undefined;
  readonly replaced: number | undefined;
}

async function attempt(log: EventLog, start: Start, known: FollowOptions): Promise<Attempt> {
  const place = { state: start.state, offset: start.offset };
  const { bad, replaced } = await followLog(log, place, known);
  return { ...place, checkpoint: start.checkpoint, bad, replaced };
}

/** True if the first line after the start is bad. In that case, the start may belong to another log. */
function isMisfit({ bad }: Attempt, start: Start | undefined): boolean {
  return bad !== undefined && bad.isUnended !== true && bad.position.offset === start?.offset;
}

interface Judged {
  readonly log: EventLog;
  readonly end: LogEnd;
  readonly bound: Bound;
  readonly headFault: string | undefined;
  readonly notes: string[];
}

/**
 * Returns the loaded state. Decides whether a bad line is damage or a torn tail, and whether the log was rolled back.
 */
async function settle(
  { bad, replaced, ...place }: Attempt,
  { log, end, bound, headFault, notes }: Judged,
): Promise<Loaded> {
  const { seq } = place.state.head;
  const isTorn = bad !== undefined && !(await isDamage(log, bad, bound));
  let damage: ChronicleError | undefined;
  if (bad !== undefined && !isTorn) damage = damagedAt(bad);
  else if (replaced !== undefined)
    damage = rolledBack(`event ${replaced} is not the one that was recorded: the log was replaced`);
  else if (seq < bound.seq)
    damage = rolledBack(`the log ends at event ${seq}, but event ${bound.seq} was recorded before`);
  if (damage !== undefined) notes.push(damage.message);
  const from = { seq: seq + 1, offset: place.offset };
  const tail = { position: from, from, lineNumber: 0, detail: "" };
  const torn = isTorn
    ? bad
    : end.tornBytes > 0
      ? { ...tail, detail: `${end.tornBytes} bytes without an end of line` }
      : undefined;
  if (torn !== undefined && damage === undefined) {
    notes.push(`the log was torn by a crash after event ${seq} (${torn.detail}): the next change moves the rest away`);
  }
  return { ...place, torn: damage === undefined ? torn : undefined, bound, damage, headFault, notes };
}

function damagedAt(bad: BadLine): ChronicleError {
  const { seq, offset } = bad.position;
  return new ChronicleError(
    "LOG_DAMAGED",
    `the log is damaged at line ${bad.lineNumber} (event ${seq}): ${bad.detail}`,
    {
      hint: "no change is possible until you restore the folder from a backup; undamaged records can still be read and exported",
      data: { seq, offset, line: bad.lineNumber },
    },
  );
}

function rolledBack(message: string): ChronicleError {
  return new ChronicleError("ROLLBACK_DETECTED", message, {
    hint: "put the right log back; to continue with the present log anyway, remove head.json and snapshot.json",
  });
}

/**
 * Reads `head.json`, which shows whether the log was truncated after the last close. A damaged file, or the file of
 * another store, is a fault. A missing file is only noted.
 */
function readKeptEnd(
  files: RecordFiles,
  { end, store }: { readonly end: LogEnd; readonly store: string | undefined },
  notes: string[],
): { readonly kept: KeptEnd | undefined; readonly fault: string | undefined } {
  const text = files.readHead();
  const kept = text === undefined ? undefined : decodeKeptEnd(text);
  if (kept !== undefined) {
    const isOther = store !== undefined && kept.store !== store;
    return {
      kept,
      fault: isOther ? `head.json belongs to the store ${kept.store}, but the log to ${store}` : undefined,
    };
  }
  if (text !== undefined) {
    const fault = "head.json is damaged, so it does not show whether the log was truncated after the last close";
    notes.push(`${fault}; the next close writes the file again`);
    return { kept, fault };
  }
  if (end.seq > 0)
    notes.push(
      "head.json is missing, so it is not known whether the log was truncated after the last close; the next close writes the file again",
    );
  return { kept, fault: undefined };
}

interface Known {
  readonly notes: string[];
  readonly kept: KeptEnd | undefined;
  /** The id of the store that the first line of the log names; `undefined` if this line cannot be read. */
  readonly store: string | undefined;
}

/** Reads `snapshot.json`. Returns `undefined` if the file is missing or unusable. Adds a note for an unusable file. */
function readCheckpoint(files: RecordFiles, { notes, kept, store }: Known): ReadState | undefined {
  const bytes = files.readCheckpoint();
  if (bytes === undefined) return undefined;
  try {
    const read = decodeCheckpoint(bytes);
    // A checkpoint of another store is discarded only if `head.json` and the log name the same store. If they name
    // different stores, or `head.json` cannot be read, the log itself may be the wrong one. The checkpoint then stays
    // in use, because a comparison of the log with the bound reveals a wrong log.
    if (read.header.store === store || kept === undefined || kept.store !== store) return read;
    notes.push("snapshot.json was discarded: it belongs to another store");
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    notes.push(`snapshot.json was discarded: ${error.message}`);
  }
  return undefined;
}

/**
 * Returns the checkpoint as the place to begin reading, if the position of its last event fits the present log. Returns
 * `undefined` otherwise.
 */
function fits(read: ReadState | undefined, log: EventLog, end: LogEnd, notes: string[]): Start | undefined {
  if (read === undefined) return undefined;
  const { header, state } = read;
  const { seq, offset, hash } = header;
  const isAtEnd = seq === end.seq && hash === end.hash && offset === end.bytes;
  if (isAtEnd || (seq < end.seq && seq >= log.firstSeq && offset < end.bytes))
    return { state, offset, checkpoint: seq };
  // A checkpoint before the present log is no fault, because a compaction starts a new log.
  if (seq >= log.firstSeq)
    notes.push(`snapshot.json (event ${seq}) does not fit the log, which ends at event ${end.seq}`);
  return undefined;
}

/**
 * True if the lines before the start need not be read. A witness is an event that the log must have, according to
 * `head.json` or the caller. The lines must be read if a witness precedes the last event of the start, or has another
 * hash than this event at the same seq.
 */
function agrees({ state: { head } }: Start, log: EventLog, witnesses: readonly Bound[]): boolean {
  const inLog = witnesses.filter(({ seq }) => seq >= log.firstSeq);
  return inLog.every(({ seq, hash }) => seq > head.seq || (seq === head.seq && hash === head.hash));
}

/**
 * Returns the state before the first line to read. This state is empty for a log that begins with event 1. Any other
 * log begins with a sentinel, which is a compaction event that names a base, and the state is that of the base. If the
 * base cannot be used, the state is empty, so that the archive is read from event 1. Returns an error if the sentinel
 * cannot be read, or if neither the base nor an archive from event 1 can be used.
 */
async function wholeLog(log: EventLog, files: RecordFiles, notes: string[]): Promise<Start | ChronicleError> {
  const nothing = { state: new RecordState(), offset: 0, checkpoint: undefined };
  if (log.firstSeq === 1) return nothing;
  const sentinel = await sentinelOf(log);
  if (sentinel instanceof ChronicleError) return sentinel;
  try {
    const bytes = files.readBase(sentinel.base);
    if (bytes === undefined) throw new ChronicleError("BLOB_MISSING", "its file is missing");
    const { state } = decodeRecordBase(bytes, sentinel.base);
    if (state.head.hash === sentinel.head && state.head.seq === sentinel.size) return { ...nothing, state };
    throw new ChronicleError("INTEGRITY_VIOLATION", "its last event is not the one that the log names");
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    const lost = `the base ${sentinel.base} cannot be used: ${error.message}`;
    if ((await log.archived())[0]?.first !== 1) {
      return new ChronicleError("LOG_DAMAGED", `${lost}, and the archive does not go back to event 1`, {
        hint: "restore the folder from a backup",
      });
    }
    notes.push(`${lost}; the archive was read instead`);
    return nothing;
  }
}

async function sentinelOf(log: EventLog): Promise<RecordSentinel | ChronicleError> {
  try {
    for await (const [line] of log.read()) if (line !== undefined) return decodeRecordSentinel(parseLine(line.bytes));
    return new ChronicleError("LOG_DAMAGED", "the log has no first line");
  } catch (error) {
    if (error instanceof ChronicleError) return error;
    throw error;
  }
}

/**
 * Returns the id of the store that the first line of the log names; `undefined` if this line cannot be read. Throws
 * `USAGE` for the log of a workspace.
 */
async function storeOf(log: EventLog): Promise<string | undefined> {
  for await (const [line] of log.read()) {
    const event = line === undefined ? undefined : soundEvent(line);
    if (event !== undefined) refuseOtherHistory(event);
    const isForeign = event?.recordId.startsWith("workspace:") === true || event?.record["workspace"] !== undefined;
    if (!isForeign) return event?.recordId.replace(/^(?:store|compact):/, "");
    throw new ChronicleError("USAGE", "this is the log of a workspace, not of a record store", {
      hint:
        "read the records in the workspace itself (`chronicle record list`, `workspace.records`); in a copy that `backup` " +
        "made, the file records.ndjson has one record in each line",
    });
  }
  return undefined;
}
