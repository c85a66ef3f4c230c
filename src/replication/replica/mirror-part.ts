import { checkLine } from "../../core/log/chain.ts";
import { ERASE } from "../../core/records/erase-record.ts";
import { erasureIn, type LoggedErasure } from "../../core/records/erasures.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { EMPTY_HEAD, type Head, type LogEvent, type SealedEvent } from "../../core/values/event.ts";
import { decodeFile, pathOfRecordId, type FileRecord } from "../../core/values/file-record.ts";
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
import { provedEntries } from "../../engine/state/proved-entries.ts";
import { provedState } from "../../engine/state/proved-state.ts";
import { isInBase } from "../../engine/log/read-base.ts";
import { readEvent, readEvents } from "../../engine/log/read-events.ts";
import { provedRoot } from "../../engine/state/root-to-state.ts";
import { rootAtHead } from "../../engine/log/tree.ts";
import { inSlices } from "../../util/in-slices.ts";
import { writeBaseIf } from "../../engine/upkeep/write-base.ts";
import { RecentRecords } from "./recent-records.ts";

/** Events that are read in one turn. */
const AT_ONCE = 1_000;
/** Where one of so many events is asked for, at least, those between them are looked at as well. */
const SPARSE = 4;

/** What a part of a mirror stands on. `workspaceId` is not known before its first line. */
export interface MirrorFiles extends Omit<HistoryContext, "workspaceId"> {
  close(): Promise<void>;
}

/** A stretch of the origin's history, from its beginning or from an anchor on: a log of exact lines, and its index. */
export class MirrorPart {
  readonly #files: MirrorFiles;
  #recent = new RecentRecords();
  #history: HistoryContext | undefined;
  #head: Head;

  /**
   * Opens it for the one who follows the origin. What a crash left behind the last sound line is moved into quarantine: it
   * comes again. Throws `LOG_DAMAGED` where a line is damaged that was there before.
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

  /** The event that it starts behind. */
  get start(): number {
    return this.anchor?.seq ?? 0;
  }

  get head(): Head {
    return this.#head;
  }

  get workspace(): string {
    return this.#history?.workspaceId ?? "";
  }

  /** Answers from the index, brought up to the lines. */
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
      const path = row === undefined || isInBase(row) ? undefined : pathOfRecordId(row.recordId);
      return row === undefined || path === undefined
        ? undefined
        : decodeFile(path, (await readEvent(history, row)).record);
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
      for (const { seq, recordId, record } of events) {
        const path = pathOfRecordId(recordId);
        if (path !== undefined) found.set(seq, decodeFile(path, record));
      }
    }
    return found;
  }

  /** See `Mirror`. */
  async protectedNames(): Promise<readonly string[]> {
    const history = this.#history;
    return history === undefined ? [] : this.ask(() => addedNames(history));
  }

  /** See `Mirror`. */
  lastErasure(): Promise<number> {
    return this.ask(async (index) => (await index.records(ERASE)).at(-1)?.seq ?? 0);
  }

  /** See `Mirror`. */
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

  /** The Merkle hash of a folder at the head. */
  async treeHash(folder: WorkspacePath): Promise<Hash | undefined> {
    const history = this.#history;
    if (history === undefined) return undefined;
    return answer(history, async ({ head }) => {
      await rootAtHead(await withRoots(history), head.seq);
      return history.index.treeHashAt(folder, head.seq);
    });
  }

  /** See `Mirror`. */
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

  /** See `Mirror`. What begins on an anchor does not know of the records before it, which stand in a base. */
  async makeBase(compaction: LogEvent): Promise<void> {
    const history = this.#history;
    if (history === undefined || this.anchor !== undefined || compaction.seq !== this.#head.seq + 1) return;
    const { base, root } = decodeSentinel(compaction);
    if ((await history.blobs.sound([base])).has(base)) return;
    await answer(history, async ({ head }) => writeBaseIf(await withRoots(history), head.seq, { base, root }));
  }

  /** Appends events that go on from `head`; when it resolves they are durable. Throws `INTEGRITY_VIOLATION`. */
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

  /** See `Mirror`. The index is emptied first: cut off anywhere, it follows the lines that are there. */
  async rewind(seq: number): Promise<void> {
    if (seq >= this.#head.seq) return;
    const { log, lock, index, waitMs } = this.#files;
    const offset = await this.#offsetOf(seq + 1);
    {
      using _held = await lock.exclusive(waitMs);
      await index.reset();
      await log.quarantine({ seq: seq + 1, offset });
      // Who reads meanwhile may have brought back what is gone.
      await index.reset();
    }
    this.#recent = new RecentRecords();
    this.#head = this.anchor ?? EMPTY_HEAD;
    this.#history = undefined;
    await this.#recover();
  }

  /** Where an event's line begins. */
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

  /** The history that begins with this event, where it does not start on an anchor. */
  #historyOf(first: Pick<SealedEvent, "seq" | "recordId" | "record"> | undefined): HistoryContext {
    const { anchor } = this.#files;
    if (anchor !== undefined) return { ...this.#files, workspaceId: anchor.workspace };
    const id = first?.seq === 1 ? /^workspace:(.+)$/.exec(first.recordId)?.[1] : undefined;
    if (first === undefined || id === undefined) {
      throw new ChronicleError(
        "INTEGRITY_VIOLATION",
        `what the origin sends begins with ${first?.recordId ?? "nothing"}: it is no workspace's`,
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
      // Nothing is known that began so: a crash has torn the first lines, or there never were any.
      if ((await index.head()).seq > 0) throw damagedMirror(new ChronicleError("LOG_DAMAGED", "its lines are gone"));
      if (bytes + tornBytes > 0) await log.quarantine({ seq: 1, offset: 0 });
      return;
    }
    const history = (this.#history = this.#historyOf(first));
    const { head, damage } = await catchUp(history, { recover: false });
    if (damage !== undefined) throw damagedMirror(damage);
    const end = await log.refresh();
    if (end.bytes + end.tornBytes > head.offset) await log.quarantine({ seq: head.seq + 1, offset: head.offset });
    // Lines of a session that ended before its sync count as held from now on.
    await log.sync();
    this.#head = headOf(head);
  }
}

/** The rows of some events, ascending, as far as their lines are held: in one question where most between them are asked for. */
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

/** Throws `IndexDisagrees` unless these paths, or all there is, are at a seq what the index says. */
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

/** The first line's event; `undefined`: it is none. */
async function firstEvent(log: EventLog): Promise<LogEvent | undefined> {
  for await (const [line] of log.read({ seq: 1, offset: 0 })) {
    if (line === undefined) continue;
    const read = checkLine(line.bytes, EMPTY_HEAD);
    return "event" in read ? read.event : undefined;
  }
  return undefined;
}

/** Lets the index follow what is durable. If it cannot now, the next question brings it there, or says what is wrong. */
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
  return new ChronicleError("LOG_DAMAGED", `what this replica holds of the origin's log is damaged: ${cause.message}`, {
    hint: "move the replica's folder `upstream` away and connect again: it is fetched anew",
    data: cause.data,
    cause,
  });
}
