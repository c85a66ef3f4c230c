import type { RecordVerifyShape } from "../../api/record-api.ts";
import { readEventFast, sealEvents } from "../../core/log/chain.ts";
import { asCommit } from "../../core/log/commit-mark.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { EMPTY_HEAD, type EventDraft, type Head, type LogEvent, type SealedEvent } from "../../core/values/event.ts";
import { encodeCheckpoint, encodeRecordBase } from "../../core/records/record-checkpoint.ts";
import { encodeRecordSentinel } from "../../core/records/record-sentinel.ts";
import { FORMAT_VERSION } from "../../core/records/workspace-record.ts";
import { sealedText, type StateRecord } from "../../core/records/record-state.ts";
import type { EventLog, LogEnd } from "../../storage/event-log.ts";
import type { Lock } from "../../storage/lock.ts";
import { backupFiles } from "./backup-files.ts";
import { isUserRecord } from "./check-user-record.ts";
import { followLog, soundEvent } from "./follow-log.ts";
import { byRecordId, type LiveRecord, type NewFolder, type RecordCommit, type RecordLedger } from "../log/ledger.ts";
import { type Loaded, loadState } from "./load-state.ts";
import { encodeKeptEnd, decodeKeptEnd, type RecordFiles } from "./record-files.ts";
import { verifyRecords } from "./verify-records.ts";

/**
 * The number of writes between two checkpoints. In a store of more than 5,000 records, this number is a hundredth of
 * the number of records.
 */
const CHECKPOINT_WRITES = 50;
/**
 * The number of events that a write appends: the event of the record, and the event that marks the end of the commit.
 */
const EVENTS_OF_WRITE = 2;

export interface FolderLedgerParts {
  readonly files: RecordFiles;
  /** Opens the log and its lock. The ledger calls `open` again if one of its methods is called after `close`. */
  readonly open: () => Promise<{ readonly log: EventLog; readonly lock: Lock }>;
  readonly newFolder: NewFolder;
  /** Returns the present time, in milliseconds since the epoch. */
  readonly now: () => number;
  readonly newId: () => string;
  /** The maximum time to wait for the lock, in milliseconds. */
  readonly waitMs: number;
  readonly readOnly: boolean;
}

interface Opened {
  readonly log: EventLog;
  readonly lock: Lock;
  view: View | undefined;
}

/** The state in memory, and the log from which it was read. */
interface View {
  readonly log: EventLog;
  loaded: Loaded;
  /** The end of the log when the state was last updated from the log. */
  seen: LogEnd;
  /**
   * The seq of the last checkpoint that was written or read. Without a checkpoint, the seq of the log's first event.
   */
  checkpoint: number;
}

/**
 * A ledger of records in a log of their own. The state of all records is in memory (`docs/format.md`, "Record stores").
 */
export class FolderLedger implements RecordLedger {
  readonly #parts: FolderLedgerParts;
  #opened: Promise<Opened> | undefined;
  /** The last event that this object appended. */
  #acknowledged: Head = EMPTY_HEAD;
  /**
   * Maps `snapshot.json` and `head.json` to the last failure to write that file. A later success removes the failure.
   */
  readonly #trouble = new Map<string, string>();
  #turn: Promise<unknown> = Promise.resolve();
  #writes: Promise<unknown> = Promise.resolve();

  constructor(parts: FolderLedgerParts) {
    this.#parts = parts;
  }

  /**
   * Loads the store. Creates a missing store, unless the ledger is read-only. Does not throw for a damaged store,
   * because such a store can still be read.
   */
  async start(): Promise<void> {
    const isNew = await this.#inTurn(async () => (await this.#upToDate()).loaded.state.head.seq === 0);
    if (isNew && !this.#parts.readOnly) await this.change(async () => undefined).catch(ignoreDamage);
  }

  get folder(): string {
    return this.#parts.files.folder;
  }

  newId(): string {
    return this.#parts.newId();
  }

  notes(): Promise<readonly string[]> {
    return this.#inTurn(async () => [...(await this.#upToDate()).loaded.notes, ...this.#trouble.values()]);
  }

  get(recordId: string): Promise<LiveRecord | undefined> {
    return this.#inTurn(async () => liveOf((await this.#upToDate()).loaded.state.get(recordId)));
  }

  live(): Promise<readonly LiveRecord[]> {
    return this.#inTurn(async () => usersOf(await this.#upToDate()));
  }

  async *events(from: number): AsyncIterable<LogEvent> {
    const { log, loaded } = await this.#inTurn(() => this.#upToDate());
    const { seq: end } = loaded.state.head;
    let seq: number | undefined;
    let last = 0;
    for await (const lines of log.read({ seq: 1, offset: 0 })) {
      for (const line of lines) {
        seq = seq === undefined ? soundEvent(line)?.seq : seq + 1;
        // Counting the lines of an undamaged log gives their seqs, so lines outside of the requested seqs are not
        // parsed. In a damaged log, every line is parsed, because only the line itself says which seq it has.
        if (loaded.damage === undefined && seq !== undefined && (seq < from || seq > end)) continue;
        const event = loaded.damage === undefined ? readEventFast(line.bytes) : soundEvent(line);
        if (event === undefined || event.seq < from || event.seq <= last) continue;
        last = event.seq;
        if (isUserRecord(event.recordId)) yield event;
      }
    }
  }

  change<T>(work: (commit: RecordCommit) => Promise<T>): Promise<T> {
    return this.#locked(async (view) => {
      const result = await work({
        get: async (recordId) => liveOf(view.loaded.state.get(recordId)),
        live: async () => usersOf(view),
        append: (drafts) => this.#append(view, drafts),
      });
      this.#checkpointIfDue(view);
      return result;
    });
  }

  compact(): Promise<number> {
    return this.#locked(async (view) => {
      const { log, loaded } = view;
      const { state } = loaded;
      const { seq, hash } = state.head;
      const first = log.firstSeq;
      if (seq === first || hash === "") return 0;
      const store = storeOf(view);
      const { hash: base, bytes } = encodeRecordBase(state, store);
      this.#parts.files.writeBase(base, bytes);
      const sentinel = { base, range: [first, seq], head: hash, size: seq, frontier: state.frontier, store } as const;
      const draft: EventDraft = { op: "compact", recordId: `compact:${store}`, record: encodeRecordSentinel(sentinel) };
      const commit = asCommit([draft], store, { first: seq + 1 });
      const [event] = sealEvents(state.head, commit, this.#timestamp());
      if (event === undefined) throw new ChronicleError("IO", "the event was not sealed");
      await log.rotate(event);
      this.#follow(view, [event]);
      this.#checkpoint(view);
      this.#parts.files.keepOnlyBase(base);
      return seq - first + 1;
    });
  }

  verify(): Promise<RecordVerifyShape> {
    return this.#inTurn(async () => {
      const { log, loaded } = await this.#upToDate();
      const found = await verifyRecords(log, this.#parts.files, loaded);
      return { ...found, notes: [...found.notes, ...this.#trouble.values()] };
    });
  }

  async backup(folder: string): Promise<string> {
    const copy = async (view: View): Promise<string> => {
      const { log, loaded } = view;
      const { head } = loaded.state;
      const files = await backupFiles(log, this.#parts.files, loaded);
      return this.#parts.newFolder(folder, `records-${head.seq}`, files);
    };
    // While the lock is held, nobody compacts the log or appends to it. A damaged store is copied, too.
    const { readOnly, waitMs } = this.#parts;
    if (readOnly) return this.#inTurn(async () => copy(await this.#upToDate()));
    const { lock } = await this.#open();
    using _held = await lock.exclusive(waitMs);
    return await this.#inTurn(async () => copy(await this.#upToDate()));
  }

  /**
   * Waits for pending work and closes the log. Then records the end of the log in `head.json`, unless the ledger is
   * read-only. A later call of another method opens the log again.
   */
  async close(): Promise<void> {
    await this.#writes.catch(() => undefined);
    await this.#inTurn(async () => {
      const opened = await this.#opened?.catch(() => undefined);
      this.#opened = undefined;
      if (opened === undefined) return;
      opened.lock.close();
      await opened.log.close();
      if (!this.#parts.readOnly && opened.view !== undefined) this.#keepEnd(opened.view);
    });
  }

  /**
   * Runs `work` after the work of all earlier calls, because only one call at a time may update the state from the log.
   */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#turn.catch(() => undefined).then(work);
    this.#turn = next;
    return next;
  }

  /**
   * Runs `work` with the lock held. First moves away a torn tail, which is what a crash left of an unfinished commit,
   * and gives an empty store its first record. Throws if the store is read-only or damaged.
   */
  #locked<T>(work: (view: View) => Promise<T>): Promise<T> {
    const next = this.#writes
      .catch(() => undefined)
      .then(async () => {
        const { readOnly, waitMs } = this.#parts;
        if (readOnly) {
          throw new ChronicleError("READ_ONLY", "this record store was opened for reading only", {
            hint: "open it without `readOnly` to change something",
          });
        }
        const { lock } = await this.#open();
        using _held = await lock.exclusive(waitMs);
        return await this.#inTurn(async () => {
          const view = await this.#upToDate();
          if (view.loaded.damage !== undefined) throw view.loaded.damage;
          await view.log.sync();
          await this.#settle(view);
          return work(view);
        });
      });
    this.#writes = next;
    return next;
  }

  #open(): Promise<Opened> {
    this.#opened ??= this.#parts.open().then(
      (opened) => ({ ...opened, view: undefined }),
      (error: unknown) => {
        this.#opened = undefined;
        throw error;
      },
    );
    return this.#opened;
  }

  /**
   * Returns the view, updated from the present log. Events that were appended since the last call are applied to the
   * state. After any other change of the log, the whole state is loaded anew.
   */
  async #upToDate(): Promise<View> {
    const opened = await this.#open();
    const { log, view } = opened;
    const end = await log.refresh();
    if (view !== undefined && (sameEnd(end, view.seen) || (await this.#followed(view, end)))) return view;
    const loaded = await loadState(log, this.#parts.files, this.#acknowledged);
    opened.view = { log, loaded, seen: log.head, checkpoint: loaded.checkpoint ?? log.firstSeq };
    return opened.view;
  }

  /**
   * Applies the new events of the log to the view. Returns false if the log has changed other than by appended events.
   * Also returns false if the log is torn or damaged, or was torn or damaged when the view was loaded. The caller must
   * then load the state anew.
   */
  async #followed(view: View, end: LogEnd): Promise<boolean> {
    const { loaded, log } = view;
    const isWhole = loaded.damage === undefined && loaded.torn === undefined && end.tornBytes === 0;
    if (!isWhole || end.seq <= loaded.state.head.seq) return false;
    const { bad } = await followLog(log, loaded, { bound: this.#acknowledged });
    if (bad !== undefined || loaded.state.head.hash !== end.hash) return false;
    view.seen = end;
    return true;
  }

  /** Moves a torn tail to `quarantine/` and records the move as an event. Gives an empty store its first record. */
  async #settle(view: View): Promise<void> {
    const { loaded, log } = view;
    const { torn, state } = loaded;
    const drafts: EventDraft[] = [];
    if (torn !== undefined) {
      const { seq, offset } = torn.from;
      const name = await log.quarantine(torn.from);
      view.loaded = {
        ...loaded,
        torn: undefined,
        notes: [...loaded.notes, `the torn part of the log was moved to quarantine/${name}`],
      };
      const part = await log.quarantined(name);
      const record = {
        ...{ cut_from_seq: seq, cut_from_byte: offset, reason: torn.detail.toWellFormed(), kept_as: name },
        ...(part === undefined ? {} : { bytes: part.bytes, sha256: part.hash }),
      };
      drafts.push({ op: "upsert", recordId: `recovery:${this.newId()}`, record });
    }
    if (state.head.seq === 0) {
      const created = new Date(this.#parts.now()).toISOString();
      drafts.unshift({ op: "upsert", recordId: `store:${this.newId()}`, record: { format: FORMAT_VERSION, created } });
    }
    await this.#append(view, drafts);
  }

  #asCommit({ loaded }: View, drafts: readonly EventDraft[]): readonly EventDraft[] {
    const { head, storeId } = loaded.state;
    // Only an empty store has no id yet. The first commit of an empty store needs no id. The last record of that commit
    // can itself hold the mark of the commit's end, so no `commit:<id>` event is needed.
    return asCommit(drafts, storeId ?? "", { first: head.seq + 1 });
  }

  async #append(view: View, drafts: readonly EventDraft[]): Promise<readonly SealedEvent[]> {
    if (drafts.length === 0) return [];
    const sealed = sealEvents(view.loaded.state.head, this.#asCommit(view, drafts), this.#timestamp());
    await view.log.append(sealed);
    this.#follow(view, sealed);
    return sealed.slice(0, drafts.length);
  }

  /** Applies to the view the events that this object has appended to the log. */
  #follow(view: View, sealed: readonly SealedEvent[]): void {
    const { loaded, log } = view;
    const { state } = loaded;
    for (const event of sealed) state.apply(event, sealedText(event));
    loaded.offset = log.head.bytes;
    view.seen = log.head;
    this.#acknowledged = state.head;
  }

  #timestamp(): string {
    return new Date(this.#parts.now()).toISOString();
  }

  #checkpointIfDue(view: View): void {
    const { state } = view.loaded;
    const due = EVENTS_OF_WRITE * Math.max(CHECKPOINT_WRITES, Math.ceil(state.size / 100));
    if (state.head.seq - view.checkpoint >= due) this.#checkpoint(view);
  }

  /** Writes a checkpoint. A failure only becomes a note of the store, because checkpoints are disposable. */
  #checkpoint(view: View): void {
    const { state, offset } = view.loaded;
    view.checkpoint = state.head.seq;
    this.#attempt("snapshot.json", () => {
      this.#parts.files.writeCheckpoint(encodeCheckpoint(state, storeOf(view), offset));
    });
  }

  /** Records the end of the log in `head.json`. Does nothing for a damaged or empty store. */
  #keepEnd(view: View): void {
    const { head, storeId } = view.loaded.state;
    if (view.loaded.damage !== undefined || head.hash === "" || storeId === undefined) return;
    const { seq, hash } = head;
    this.#attempt("head.json", () => {
      const kept = decodeKeptEnd(this.#parts.files.readHead() ?? "");
      // Another process may have recorded a later end.
      if (kept === undefined || kept.seq < seq)
        this.#parts.files.writeHead(encodeKeptEnd({ seq, hash, store: storeId }));
    });
  }

  /** Writes a file. A failure becomes a note of the store, and is not thrown. */
  #attempt(name: string, write: () => void): void {
    try {
      write();
      this.#trouble.delete(name);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#trouble.set(name, `${name} could not be written: ${why}`);
    }
  }
}

function sameEnd(a: LogEnd, b: LogEnd): boolean {
  return a.seq === b.seq && a.hash === b.hash && a.bytes === b.bytes && a.tornBytes === b.tornBytes;
}

function storeOf({ loaded }: View): string {
  const { storeId } = loaded.state;
  if (storeId !== undefined) return storeId;
  throw new ChronicleError("INTEGRITY_VIOLATION", "the store has no id, because the first line of its log names none");
}

function liveOf(row: StateRecord | undefined): LiveRecord | undefined {
  if (row === undefined) return undefined;
  const { recordId, seq, text } = row;
  return { recordId, seq, record: JSON.parse(text) as LiveRecord["record"] };
}

function usersOf({ loaded }: View): LiveRecord[] {
  const rows = [...loaded.state.records()].filter(({ recordId }) => isUserRecord(recordId));
  return rows.sort(byRecordId).map((row) => liveOf(row) as LiveRecord);
}

/** Rethrows the error, unless it says that the log is damaged or was rolled back. Such a store can still be read. */
function ignoreDamage(error: unknown): void {
  if (!(error instanceof ChronicleError) || (error.code !== "LOG_DAMAGED" && error.code !== "ROLLBACK_DETECTED")) {
    throw error;
  }
}
