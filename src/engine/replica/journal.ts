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

/** A change of a replica's own that its origin is to be told of; `localSeq` is its event in the replica's own log. */
export type JournalEntry = WriteBackEntry;

/** Some of the journal, in its order. */
export interface JournalPage {
  readonly entries: readonly JournalEntry[];
  /** The own event up to which the journal was looked through: there are no other entries up to it. */
  readonly upTo: number;
}

/** The iteration of a path that was in force at an event of the origin. */
export type MirrorIteration = (path: WorkspacePath, seq: number) => Promise<IterationRow | undefined>;

export interface JournalQuery {
  /** The origin's workspace. */
  readonly origin: string;
  /** Returns only entries of own events after this one. */
  readonly after: number;
  /** The most entries to return; at least 1. */
  readonly limit: number;
  /** Do these patterns, or names, withhold a path? What was changed while they did is no entry: neither side heard of the other. Default: none does. */
  readonly isWithheld?: (by: WithheldThen, path: WorkspacePath, isFolder: boolean) => boolean;
}

/** Events that are searched at once. */
const WINDOW = 2_000;

/**
 * The replica's own changes behind an event, in order: every iteration of a path that is not what the origin had, and every
 * proposal. What a change is based on is what the origin had of the path when the folder was last reconciled before it: so
 * the log is folded, with how far the replica had come and which conflicts were open at each event. Costs a query where
 * nothing was recorded since. Entries of a sync that was begun anew since then (another `sandboxId`) are none any more, and
 * further roots have no counterpart at an origin.
 */
export async function readJournal(
  context: HistoryContext,
  mirrorIterationAt: MirrorIteration,
  query: JournalQuery,
): Promise<JournalPage> {
  const { origin, after, limit } = query;
  const { seq: head } = await context.index.head();
  if (after >= head) return { entries: [], upTo: after };
  // Everything before a dropped archive has its answers: an archive is not dropped sooner.
  let upTo = Math.max(after, ((await indexedFrom(context)) ?? 1) - 1);
  const standing = await ReplicaState.at(context, origin, upTo);
  if (standing === undefined) return { entries: [], upTo: head };
  const reader = new JournalReader(context, standing, { ...query, mirrorIterationAt });
  while (upTo < head && reader.entries.length < limit) {
    const rows = await context.index.events({ from: upTo + 1, to: head, limit: WINDOW });
    upTo = await reader.take(rows, limit);
    if (reader.entries.length < limit && rows.length < WINDOW) upTo = head;
  }
  return { entries: reader.entries, upTo };
}

/** Folds events, and collects what of them the origin is to be told. */
class JournalReader {
  readonly entries: JournalEntry[] = [];
  readonly #context: HistoryContext;
  readonly #standing: ReplicaState;
  readonly #mirrorIterationAt: MirrorIteration;
  readonly #isWithheld: JournalQuery["isWithheld"];
  readonly #turns = new Map<string, string | undefined>();

  constructor(
    context: HistoryContext,
    standing: ReplicaState,
    { mirrorIterationAt, isWithheld }: Pick<JournalQuery, "isWithheld"> & { mirrorIterationAt: MirrorIteration },
  ) {
    this.#context = context;
    this.#standing = standing;
    this.#mirrorIterationAt = mirrorIterationAt;
    this.#isWithheld = isWithheld;
  }

  /** Goes through events up to the one with which there are enough entries; returns its seq, or that of the last. */
  async take(rows: readonly EventRow[], limit: number): Promise<number> {
    const telling = rows.filter((row) => !isInBase(row) && isTelling(row.recordId));
    for (let from = 0; from < telling.length; from += READ) {
      for (const event of await readEvents(this.#context, telling.slice(from, from + READ))) {
        await this.#event(event);
        if (this.entries.length >= limit) return event.seq;
      }
    }
    return rows.at(-1)?.seq ?? 0;
  }

  async #event(event: LogEvent): Promise<void> {
    const { recordId, seq } = event;
    if (this.#standing.take(event) || !this.#standing.isCurrent) return;
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
    return isWithheld(this.#standing.withheld, path, state?.kind === "dir");
  }

  /** Returns whose work a merge is to the origin: the author of the own state that was merged with the origin's. */
  async #mergedBy(path: WorkspacePath, merge: FileRecord, seq: number): Promise<Whose> {
    const event = await this.#eventOf(path, seq - 1);
    const own = event === undefined ? undefined : changeOf(event, path);
    return own === undefined || isOriginsState(own) ? merge : own;
  }

  /** A proposal belongs to the author of the state that is proposed. */
  async #proposal(path: WorkspacePath, proposal: LogEvent): Promise<void> {
    const { seq } = proposal;
    const entry = (await this.#context.index.iterationAt(path, seq))?.entry;
    const event = await this.#eventOf(path, seq);
    const own = event === undefined ? undefined : changeOf(event, path);
    const actor = typeof event?.record["actor"] === "string" ? event.record["actor"] : UNKNOWN;
    const whose: Whose = own ?? { actor };
    await this.#add(path, { ...whose, entry }, proposal);
  }

  /** The event that has recorded a path's state as of an event; `undefined`: it is in a base. */
  async #eventOf(path: WorkspacePath, seq: number): Promise<LogEvent | undefined> {
    const row = await this.#context.index.iterationAt(path, seq);
    const located = row === undefined ? undefined : await this.#context.index.locate(row.seq);
    return located === undefined || isInBase(located) ? undefined : readEvent(this.#context, located);
  }

  async #add(path: WorkspacePath, file: Whose & Pick<FileRecord, "entry">, { seq, hash }: LogEvent): Promise<void> {
    if (splitRoot(path).root !== undefined) return;
    const { actor, session, action, entry } = file;
    const turn = file.turn ?? (action === undefined ? undefined : await this.#turnOf(action));
    const seen = await this.#standing.baseOf(path, this.#mirrorIterationAt);
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

/** The actor of states that a history began with on a base: nobody had been named yet. */
const UNKNOWN = "unknown";
/** Bodies that are read at once. */
const READ = 256;

function isTelling(recordId: string): boolean {
  return TELLING.some((prefix) => recordId.startsWith(prefix));
}

const TELLING = ["file", "proposal:", "replica:", "conflict:"];

/**
 * Returns whether this event of the own log is still the one of which the origin has heard. `hash` is `undefined` if
 * nobody knows which one that was. A compacted event cannot be checked any more, and counts as held.
 */
export async function isStillHeld(context: HistoryContext, seq: number, hash: Hash | undefined): Promise<boolean> {
  await catchUp(context, { recover: false });
  if (seq > (await context.index.head()).seq) return false;
  const row = hash === undefined ? undefined : await context.index.locate(seq);
  return row === undefined || isInBase(row) || (await readEvent(context, row)).hash === hash;
}

/**
 * Returns whether this own event is a change of this path, or of something in it. A compacted event, or one that stands
 * in a base, cannot be checked any more, and counts as one.
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
