import type { Entry } from "../../core/values/entry.ts";
import type { LogEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { changeOf, changesOf, type FileRecord, isOriginsState, pathOfRecordId } from "../../core/values/file-record.ts";
import { isWithin, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { proposedPath } from "../../core/records/proposal-record.ts";
import type { WriteBackEntry } from "../../core/records/write-back.ts";
import type { EventRow, IterationRow } from "../../storage/index-store.ts";
import { catchUp } from "../log/catch-up.ts";
import type { HistoryContext } from "../log/context.ts";
import { indexedFrom } from "../log/history-start.ts";
import { isInBase } from "../log/read-base.ts";
import { readEvent, readEvents } from "../log/read-events.ts";
import { ReplicaState, type WithheldThen } from "./replica-state.ts";
import { optional } from "../../util/optional.ts";

export type JournalEntry = WriteBackEntry;

export interface JournalPage {
  readonly entries: readonly JournalEntry[];
  /** The seq of the last event of this folder's log that was read. The page has all entries up to this event. */
  readonly upTo: number;
}

/** Returns the iteration that a path has in the mirror of the origin after event `seq` of the origin. */
export type MirrorIteration = (path: WorkspacePath, seq: number) => Promise<IterationRow | undefined>;

export interface JournalQuery {
  readonly origin: string;
  /** A seq of this folder's log. Only entries of later events are returned. */
  readonly after: number;
  /** The page ends after the event with which the number of entries reaches this limit. */
  readonly limit: number;
  /**
   * True if these patterns or names withhold a path. If a path was withheld when a change of the path was recorded, the
   * change makes no entry, because neither side knew the other's state. Default: no path is withheld.
   */
  readonly isWithheld?: (by: WithheldThen, path: WorkspacePath, isFolder: boolean) => boolean;
}

/** The number of rows that are read from the index at once. */
const WINDOW = 2_000;

/**
 * Returns the changes that this folder made itself after an event, in order. These changes are the iterations of paths
 * that did not come from the origin, and the proposals. A proposal offers a path's present state to the origin once
 * more. Each change is based on the origin's state of the path at the last reconciliation before the change. The log is
 * therefore read in order, with the replica's progress and the open conflicts at each event. Leaves out changes of an
 * earlier sync (another `sandboxId`), and changes in further roots, which an origin does not have.
 */
export async function readJournal(
  context: HistoryContext,
  mirrorIterationAt: MirrorIteration,
  query: JournalQuery,
): Promise<JournalPage> {
  const { origin, after, limit } = query;
  const { seq: head } = await context.index.head();
  if (after >= head) return { entries: [], upTo: after };
  // Events before the start of the index need not be read. Events are dropped only after the origin has answered them.
  let upTo = Math.max(after, ((await indexedFrom(context)) ?? 1) - 1);
  const state = await ReplicaState.at(context, origin, upTo);
  if (state === undefined) return { entries: [], upTo: head };
  const reader = new JournalReader(context, state, { ...query, mirrorIterationAt });
  while (upTo < head && reader.entries.length < limit) {
    const rows = await context.index.events({ from: upTo + 1, to: head, limit: WINDOW });
    upTo = await reader.take(rows, limit);
    if (reader.entries.length < limit && rows.length < WINDOW) upTo = head;
  }
  return { entries: reader.entries, upTo };
}

class JournalReader {
  readonly entries: JournalEntry[] = [];
  readonly #context: HistoryContext;
  readonly #state: ReplicaState;
  readonly #mirrorIterationAt: MirrorIteration;
  readonly #isWithheld: JournalQuery["isWithheld"];
  readonly #turns = new Map<string, string | undefined>();

  constructor(
    context: HistoryContext,
    state: ReplicaState,
    { mirrorIterationAt, isWithheld }: Pick<JournalQuery, "isWithheld"> & { mirrorIterationAt: MirrorIteration },
  ) {
    this.#context = context;
    this.#state = state;
    this.#mirrorIterationAt = mirrorIterationAt;
    this.#isWithheld = isWithheld;
  }

  /** Reads events until there are `limit` entries. Returns the seq of the last event that was read. */
  async take(rows: readonly EventRow[], limit: number): Promise<number> {
    const relevant = rows.filter((row) => !isInBase(row) && isRelevant(row.recordId));
    for (let from = 0; from < relevant.length; from += READ) {
      for (const event of await readEvents(this.#context, relevant.slice(from, from + READ))) {
        await this.#event(event);
        if (this.entries.length >= limit) return event.seq;
      }
    }
    return rows.at(-1)?.seq ?? 0;
  }

  async #event(event: LogEvent): Promise<void> {
    const { recordId, seq } = event;
    if (this.#state.take(event) || !this.#state.isCurrent) return;
    const proposed = proposedPath(recordId);
    if (proposed !== undefined) return this.#proposal(proposed, event);
    for (const { path, file } of changesOf(event)) {
      if (isOriginsState(file) || (await this.#wasWithheld(path, file.entry, seq))) continue;
      const whose = file.cause === "merge" ? await this.#mergedBy(path, file, seq) : file;
      await this.#add(path, { ...whose, entry: file.entry }, event);
    }
  }

  async #wasWithheld(path: WorkspacePath, entry: Entry | undefined, seq: number): Promise<boolean> {
    const isWithheld = this.#isWithheld;
    if (isWithheld === undefined) return false;
    const state = entry ?? (await this.#context.index.iterationAt(path, seq - 1))?.entry;
    return isWithheld(this.#state.withheld, path, state?.kind === "dir");
  }

  /**
   * Returns the author of the state of this folder that was merged with the origin's state. The merge is attributed to
   * this author.
   */
  async #mergedBy(path: WorkspacePath, merge: FileRecord, seq: number): Promise<Whose> {
    const event = await this.#eventOf(path, seq - 1);
    const own = event === undefined ? undefined : changeOf(event, path);
    return own === undefined || isOriginsState(own) ? merge : own;
  }

  /** Adds the entry of a proposal. The entry is attributed to the author of the proposed state. */
  async #proposal(path: WorkspacePath, proposal: LogEvent): Promise<void> {
    const { seq } = proposal;
    const entry = (await this.#context.index.iterationAt(path, seq))?.entry;
    const event = await this.#eventOf(path, seq);
    const own = event === undefined ? undefined : changeOf(event, path);
    const actor = typeof event?.record["actor"] === "string" ? event.record["actor"] : UNKNOWN;
    const whose: Whose = own ?? { actor };
    await this.#add(path, { ...whose, entry }, proposal);
  }

  /**
   * Returns the event that recorded the state that a path has after event `seq`. Returns `undefined` if the path was
   * never recorded, or if the state is in a base.
   */
  async #eventOf(path: WorkspacePath, seq: number): Promise<LogEvent | undefined> {
    const row = await this.#context.index.iterationAt(path, seq);
    const located = row === undefined ? undefined : await this.#context.index.locate(row.seq);
    return located === undefined || isInBase(located) ? undefined : readEvent(this.#context, located);
  }

  async #add(path: WorkspacePath, file: Whose & Pick<FileRecord, "entry">, { seq, hash }: LogEvent): Promise<void> {
    if (splitRoot(path).root !== undefined) return;
    const { actor, session, action, entry } = file;
    const turn = file.turn ?? (action === undefined ? undefined : await this.#turnOf(action));
    const seen = await this.#state.baseOf(path, this.#mirrorIterationAt);
    this.entries.push({
      localSeq: seq,
      eventHash: hash,
      path,
      entry,
      seen,
      actor,
      ...optional({ session, turn, action }),
    });
  }

  async #turnOf(action: string): Promise<string | undefined> {
    if (!this.#turns.has(action)) {
      const row = await this.#context.index.record(`action:${action}`);
      const turn = row === undefined ? undefined : (await readEvent(this.#context, row)).record["turn"];
      this.#turns.set(action, typeof turn === "string" ? turn : undefined);
    }
    return this.#turns.get(action);
  }
}

type Whose = Pick<FileRecord, "actor" | "session" | "action" | "turn">;

/** The actor of a state that is only in a base. No event names who made it. */
const UNKNOWN = "unknown";
/** The number of events that are read from the log at once. */
const READ = 256;

function isRelevant(recordId: string): boolean {
  return RELEVANT.some((prefix) => recordId.startsWith(prefix));
}

const RELEVANT = ["file", "proposal:", "replica:", "conflict:"];

/**
 * True if event `seq` of this folder's log still has `hash`, which is the hash that the origin knows. Also true if the
 * hash cannot be checked, because the event was compacted away or `hash` is `undefined`. False if the log ends before
 * the event.
 */
export async function isStillHeld(context: HistoryContext, seq: number, hash: Hash | undefined): Promise<boolean> {
  await catchUp(context, { recover: false });
  if (seq > (await context.index.head()).seq) return false;
  const row = hash === undefined ? undefined : await context.index.locate(seq);
  return row === undefined || isInBase(row) || (await readEvent(context, row)).hash === hash;
}

/**
 * True if event `seq` of this folder's log changes or proposes the path, or a path beneath it. Also true if the event
 * cannot be checked, because it was compacted away.
 */
export async function hasWritten(context: HistoryContext, seq: number, path: WorkspacePath): Promise<boolean> {
  if (seq > (await context.index.head()).seq) await catchUp(context, { recover: false });
  if (seq > (await context.index.head()).seq) return false;
  const [row] = await context.index.events({ from: seq, to: seq, limit: 1 });
  if (row === undefined || isInBase(row)) return true;
  const { recordId } = row;
  const written = proposedPath(recordId) ?? (recordId.startsWith("file") ? pathOfRecordId(recordId) : undefined);
  return written !== undefined && isWithin(written, path);
}
