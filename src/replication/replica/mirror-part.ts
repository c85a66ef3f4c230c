import { inSlices } from "../../util/yield-to-event-loop.ts";
import { type LogEvent, EMPTY_HEAD, type Head, type SealedEvent } from "../../core/values/event.ts";
import { changesOf, type FileRecord } from "../../core/values/file-record.ts";
import { RecentMap } from "../../util/recent-map.ts";
import { checkLine } from "../../core/log/chain.ts";
import { ERASE } from "../../core/records/erase-record.ts";
import { erasureIn, type LoggedErasure } from "../../core/records/erasures.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { HistoryAnchor } from "../../core/log/history-anchor.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { decodeSentinel } from "../../core/records/sentinel.ts";
import { decodeWorkspace } from "../../core/records/workspace-record.ts";
import type { EventLog } from "../../storage/event-log.ts";
import type { EventRow, IndexStore } from "../../storage/index-store.ts";
import { answer } from "../../engine/log/answer.ts";
import { erasedAmong } from "../../engine/facts/contents-of-history.ts";
import { catchUp, rebuildFromLog } from "../../engine/log/catch-up.ts";
import { workspaceRecord } from "../../engine/log/own-record.ts";
import type { HistoryContext } from "../../engine/log/context.ts";
import { disagreeing, IndexDisagrees, stillDisagrees } from "../../engine/log/index-disagrees.ts";
import { addedNames } from "../../engine/state/protected.ts";
import { project } from "../../engine/log/project.ts";
import { provedEntries } from "../../engine/state/proved-rows.ts";
import { provedState } from "../../engine/state/proved-state.ts";
import { isInBase } from "../../engine/log/read-base.ts";
import { readEvent, readEvents } from "../../engine/log/read-events.ts";
import { provedRoot } from "../../engine/state/root-to-state.ts";
import { rootAtHead } from "../../engine/log/tree.ts";
import { writeBaseIf } from "../../engine/upkeep/write-base.ts";

const AT_ONCE = 1_000;

/**
 * One query reads a whole range of events if the range has fewer than `SPARSE` times as many events as are requested.
 */
const SPARSE = 4;

/** The files of a part. The workspace's id is not among them, because it is unknown before the first line. */
export interface MirrorFiles extends Omit<HistoryContext, "workspaceId"> {
  close(): Promise<void>;
}

/**
 * A part of a mirror. It has a log of the origin's lines, which starts at event 1 or after an anchor, and the index of
 * this log.
 */
export class MirrorPart {
  readonly #files: MirrorFiles;
  #recent = new RecentRecords();
  #history: HistoryContext | undefined;
  #head: Head;

  /**
   * Opens a part. Moves the bytes that a crash left after the last sound line into quarantine. The origin will send the
   * events in these bytes again. Throws `LOG_DAMAGED` if an older line is damaged.
   */
  static async open(files: MirrorFiles): Promise<MirrorPart> {
    const part = new MirrorPart(files);
    await part.#recover();
    return part;
  }

  private constructor(files: MirrorFiles) {
    this.#files = files;
    this.#head = files.anchor ?? EMPTY_HEAD;
  }

  get anchor(): HistoryAnchor | undefined {
    return this.#files.anchor;
  }

  get start(): number {
    return this.anchor?.seq ?? 0;
  }

  get head(): Head {
    return this.#head;
  }

  get workspace(): string {
    return this.#history?.workspaceId ?? "";
  }

  async ask<T>(work: (index: IndexStore) => Promise<T>): Promise<T> {
    const history = this.#history;
    return history === undefined ? work(this.#files.index) : answer(history, () => work(history.index));
  }

  async hashAt(seq: number): Promise<Hash | undefined> {
    if (seq < this.start || seq > this.#head.seq || seq === 0) return undefined;
    if (seq === this.#head.seq || seq === this.start) {
      const { hash } = seq === this.#head.seq ? this.#head : (this.anchor ?? this.#head);
      return hash === "" ? undefined : hash;
    }
    const row = await this.ask((index) => index.locate(seq));
    return row === undefined || isInBase(row) ? undefined : row.hash;
  }

  async record(seq: number): Promise<FileRecord | undefined> {
    const history = this.#history;
    if (history === undefined) return undefined;
    const recent = this.#recent.get(seq);
    if (recent !== undefined) return recent ?? undefined;
    return this.ask(async (index) => {
      const row = await index.locate(seq);
      if (row === undefined || isInBase(row) || !row.recordId.startsWith("file")) return undefined;
      return changesOf(await readEvent(history, row))[0]?.file;
    });
  }

  async records(seqs: readonly number[]): Promise<Map<number, FileRecord>> {
    const found = new Map<number, FileRecord>();
    const rest: number[] = [];
    for (const seq of seqs) {
      const recent = this.#recent.get(seq);
      if (recent === undefined) rest.push(seq);
      else if (recent !== null) found.set(seq, recent);
    }
    const history = this.#history;
    if (history === undefined) return found;
    rest.sort((a, b) => a - b);
    for await (const some of inSlices(rest, AT_ONCE)) {
      const events = await this.ask(async (index) => readEvents(history, await rowsOf(index, some)));
      for (const event of events) for (const { file } of changesOf(event)) found.set(event.seq, file);
    }
    return found;
  }

  async protectedNames(): Promise<readonly string[]> {
    const history = this.#history;
    return history === undefined ? [] : this.ask(() => addedNames(history));
  }

  lastErasure(): Promise<number> {
    return this.ask(async (index) => (await index.records(ERASE)).at(-1)?.seq ?? 0);
  }

  async erasures(): Promise<readonly LoggedErasure[]> {
    const history = this.#history;
    if (history === undefined) return [];
    const events = await this.ask(async (index) => readEvents(history, await index.records(ERASE)));
    const all: LoggedErasure[] = [];
    for (const event of events) {
      const one = erasureIn(event);
      const erased = one.state === "erased" ? await erasedAmong(history, one.contents) : new Set(one.contents);
      all.push({ ...one, contents: one.contents.filter((hash) => erased.has(hash)) });
    }
    return all;
  }

  /** Returns the Merkle hash of a folder at the head; `undefined` if there is no such folder. */
  async treeHash(folder: WorkspacePath): Promise<Hash | undefined> {
    const history = this.#history;
    if (history === undefined) return undefined;
    return answer(history, async ({ head }) => {
      await rootAtHead(await withRoots(history), head.seq);
      return history.index.treeHashAt(folder, head.seq);
    });
  }

  async proves(paths: readonly WorkspacePath[] | "all", seq: number): Promise<boolean> {
    const history = this.#history;
    if (history === undefined) return true;
    try {
      await disagreeing(() => proveFiles(history, paths, seq));
      return true;
    } catch (error) {
      if (!(error instanceof IndexDisagrees)) throw error;
    }
    const { head } = await rebuildFromLog(history);
    try {
      await provedRoot(await withRoots(history), head.seq, true);
    } catch (error) {
      throw error instanceof IndexDisagrees ? stillDisagrees(error) : error;
    }
    return false;
  }

  /**
   * See `Mirror.makeBase`. Makes no base in a part that starts after an anchor, because such a part lacks records that
   * belong in the base.
   */
  async makeBase(compaction: LogEvent): Promise<void> {
    const history = this.#history;
    if (history === undefined || this.anchor !== undefined || compaction.seq !== this.#head.seq + 1) return;
    const { base, root } = decodeSentinel(compaction);
    if ((await history.blobs.sound([base])).has(base)) return;
    await answer(history, async ({ head }) => writeBaseIf(await withRoots(history), head.seq, { base, root }));
  }

  /** Throws `INTEGRITY_VIOLATION` if the events do not follow `head`. */
  async append(events: readonly SealedEvent[]): Promise<void> {
    const [first] = events;
    if (first === undefined) return;
    const history = this.#history ?? this.#historyOf(first);
    await history.log.append(events);
    this.#history = history;
    this.#head = headOf(events.at(-1) ?? first);
    this.#recent.add(events);
    await follow(history, events);
  }

  /** See `Mirror.rewind`. Resets the index before the log is cut, so that the index never has rows of missing lines. */
  async rewind(seq: number): Promise<void> {
    if (seq >= this.#head.seq) return;
    const { log, lock, index, waitMs } = this.#files;
    const offset = await this.#offsetOf(seq + 1);
    {
      using _held = await lock.exclusive(waitMs);
      await index.reset();
      await log.quarantine({ seq: seq + 1, offset });
      // Reset the index again, because a concurrent reader may have filled it from the old lines before the cut.
      await index.reset();
    }
    this.#recent = new RecentRecords();
    this.#head = this.anchor ?? EMPTY_HEAD;
    this.#history = undefined;
    await this.#recover();
  }

  async #offsetOf(seq: number): Promise<number> {
    let at = this.start + 1;
    for await (const lines of this.#files.log.read({ seq: at, offset: 0 })) {
      const line = lines[seq - at];
      if (line !== undefined) return line.offset;
      at += lines.length;
    }
    throw new ChronicleError("LOG_DAMAGED", `event ${seq} of the origin is not held`, { data: { seq } });
  }

  close(): Promise<void> {
    return this.#files.close();
  }

  /**
   * Returns the context of the part's history. The history starts after the anchor. If there is no anchor, the history
   * begins with the event `first`.
   */
  #historyOf(first: Pick<SealedEvent, "seq" | "recordId" | "record"> | undefined): HistoryContext {
    const { anchor } = this.#files;
    if (anchor !== undefined) return { ...this.#files, workspaceId: anchor.workspace };
    const id = first?.seq === 1 ? /^workspace:(.+)$/.exec(first.recordId)?.[1] : undefined;
    if (first === undefined || id === undefined) {
      throw new ChronicleError(
        "INTEGRITY_VIOLATION",
        `the origin's log begins with ${first?.recordId ?? "nothing"}, not with a workspace's record`,
      );
    }
    decodeWorkspace(first.record);
    return { ...this.#files, workspaceId: id };
  }

  async #recover(): Promise<void> {
    const { log, anchor, index } = this.#files;
    const { bytes, tornBytes } = await log.refresh();
    const first = anchor === undefined && bytes > 0 ? await firstEvent(log) : undefined;
    if (anchor === undefined && first === undefined) {
      // There is no valid first line. Either a crash has torn the line, or no line was ever written.
      if ((await index.head()).seq > 0) throw damagedMirror(new ChronicleError("LOG_DAMAGED", "its lines are missing"));
      if (bytes + tornBytes > 0) await log.quarantine({ seq: 1, offset: 0 });
      return;
    }
    const history = (this.#history = this.#historyOf(first));
    const { head, damage } = await catchUp(history, { recover: false });
    if (damage !== undefined) throw damagedMirror(damage);
    const end = await log.refresh();
    if (end.bytes + end.tornBytes > head.offset) await log.quarantine({ seq: head.seq + 1, offset: head.offset });
    // Sync the lines, because an earlier session may have ended before it synced them.
    await log.sync();
    this.#head = headOf(head);
  }
}

/**
 * Returns the index rows of events. Leaves out events whose line this part does not have. `seqs` must ascend. Uses one
 * query for the whole range if enough of its events are requested (`SPARSE`).
 */
async function rowsOf(index: IndexStore, seqs: readonly number[]): Promise<EventRow[]> {
  const [from = 0, to = 0] = [seqs[0], seqs.at(-1)];
  const wanted = new Set(seqs);
  const isDense = to - from < seqs.length * SPARSE;
  const rows = isDense ? await index.events({ from, to }) : await Promise.all(seqs.map((seq) => index.locate(seq)));
  return rows.filter((row) => row !== undefined).filter((row) => wanted.has(row.seq) && !isInBase(row));
}

async function withRoots(history: HistoryContext) {
  const { roots } = await workspaceRecord(history);
  return { ...history, worktree: { roots: roots.map(({ id }) => ({ id: id ?? undefined })) } };
}

/** Throws `IndexDisagrees` if the index is wrong about one of these paths at event `seq`. */
async function proveFiles(
  history: HistoryContext,
  paths: readonly WorkspacePath[] | "all",
  seq: number,
): Promise<void> {
  await catchUp(history, { recover: false });
  const rooted = await withRoots(history);
  if (paths === "all") {
    await provedEntries(rooted, seq);
    return;
  }
  const state = await provedState(rooted, seq);
  for await (const some of inSlices(paths, AT_ONCE)) {
    const rows = await history.index.iterationsAt(some, seq);
    await state.prove(some.map((path, i) => ({ path, entry: rows[i]?.entry })));
  }
  state.letGo();
}

function headOf({ seq, hash }: Head): Head {
  return { seq, hash };
}

/** Returns the first event; `undefined` if there is no line, or if the first line is invalid. */
async function firstEvent(log: EventLog): Promise<LogEvent | undefined> {
  for await (const [line] of log.read({ seq: 1, offset: 0 })) {
    if (line === undefined) continue;
    const read = checkLine(line.bytes, EMPTY_HEAD);
    return "event" in read ? read.event : undefined;
  }
  return undefined;
}

/** Adds durable lines to the index. If this fails, the next query adds the lines, or reports the failure. */
async function follow(history: HistoryContext, events: readonly SealedEvent[]): Promise<void> {
  const known = await history.index.head();
  if (known.seq !== (events[0]?.seq ?? 0) - 1) return;
  let { offset } = known;
  const placed = events.map((event) => {
    const length = Buffer.byteLength(event.line);
    const one = { event, offset, length };
    offset += length + 1;
    return one;
  });
  await project(history, placed).catch(() => undefined);
}

function damagedMirror(cause: ChronicleError): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `this replica's copy of the origin's log is damaged: ${cause.message}`, {
    hint: "move the replica's folder `upstream` away and connect again: it is then fetched again",
    data: cause.data,
    cause,
  });
}

/**
 * The minimum number of events that are remembered. At most twice as many are remembered. This is enough for one step
 * of the sync and for the events that arrive during the step.
 */
const MOST_EVENTS = 8_192;

type Body = Pick<LogEvent, "recordId" | "record">;

/**
 * The file records of the last events, in memory. A step of the sync needs the record of each event soon after the
 * event was appended. Reading the log for each record would be slow, because each read takes three index queries and
 * opens a file.
 */
export class RecentRecords {
  readonly #bodies = new RecentMap<number, Body>(MOST_EVENTS);

  add(events: readonly Pick<LogEvent, "seq" | "recordId" | "record">[]): void {
    for (const { seq, recordId, record } of events.slice(-MOST_EVENTS)) this.#bodies.put(seq, { recordId, record });
  }

  /**
   * Returns the file record of an event. Returns `null` if the event is not about a file, and `undefined` if the event
   * is not remembered. Throws `LOG_DAMAGED` for an invalid record.
   */
  get(seq: number): FileRecord | null | undefined {
    const body = this.#bodies.get(seq);
    if (body === undefined) return undefined;
    return changesOf(body)[0]?.file ?? null;
  }
}
