import { sameEntry, type Entry } from "../../../core/values/entry.ts";
import type { Hash } from "../../../core/values/hash.ts";
import type { SyncConflict } from "../../../core/records/conflict-record.ts";
import { foldersAbove, type WorkspacePath } from "../../../core/values/path.ts";
import type { BlobReader } from "../../../storage/blob-store.ts";
import { Signal } from "../../../util/signal.ts";
import {
  type JournalEntry,
  type JournalPage,
  hasWritten,
  isStillHeld,
  readJournal,
} from "../../../engine/replica/journal.ts";
import type { WriteBackAnswer, WriteBackReason } from "../../../core/records/write-back.ts";
import type { WriteJournal } from "../../replica/write-journal.ts";
import type { Refusal } from "../paths/refused-paths.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";
import type { SharedNames } from "../paths/shared-names.ts";
import type { ReplicaRecord } from "../../../core/records/replica-record.ts";
import type { Context } from "../../../engine/log/context.ts";
import type { Mirror } from "../../replica/mirror.ts";
import { hasHadSeen } from "../ground/common-ground.ts";
import type { EditorFiles } from "../paths/editor-files.ts";
import type { NotHeldPaths } from "../paths/not-held-paths.ts";
import { StoodOn } from "../ground/stood-on.ts";

interface Dispute extends Pick<SyncConflict, "baseSeq" | "since"> {
  readonly path: WorkspacePath;
}

interface JournalSource {
  readonly read: (after: number, limit: number) => Promise<JournalPage>;
  /** Resolves to the origin's state of a path as of the mirror's last event. */
  readonly there: (path: WorkspacePath) => Promise<Entry | undefined>;
  readonly open: (hash: Hash) => Promise<BlobReader | undefined>;
  readonly isStillHeld: (seq: number, hash: Hash | undefined) => Promise<boolean>;
  readonly hasWritten: (seq: number, path: WorkspacePath) => Promise<boolean>;
  readonly rules: ReplicatedPaths;
  /** Default: the names of secrets never change. */
  readonly names?: Pick<SharedNames, "refresh"> | undefined;
  /**
   * Resolves to true if a change stays in the folder and is not sent. The reason is that the path is an editor's own
   * file, or that the folder cannot hold the origin's entry at or above this path. Default: false.
   */
  readonly keepsHere?: ((path: WorkspacePath, entry: Entry | undefined) => Promise<boolean>) | undefined;
  /**
   * Resolves to true if a journal entry is not sent, because the next step must compare both sides. Such an entry
   * claims to be based on a state of the origin that the folder never had, or that came into the folder again after the
   * change. Default: false.
   */
  readonly isLeftToStep?: ((entry: JournalEntry) => Promise<boolean>) | undefined;
  /** The own event (event of the folder's own log) up to which everything was answered when the journal was opened. */
  readonly settled: number;
  /** The origin's last event that the mirror holds. */
  readonly head: () => number;
}

const PAGE = 2_000;

/**
 * Reads a folder's changes from its log, and passes them to the session, which sends them to the origin. Each change is
 * an entry of the journal. An entry is passed on only after its release, so that the deletion guard can first examine
 * the entry.
 */
export class FolderJournal implements WriteJournal {
  readonly changed = new Signal<void>();
  readonly answered = new Signal<WriteBackAnswer>();
  /**
   * The signal that the origin has forgotten which entries it had accepted. Paths that differ at the origin must then
   * be proposed again.
   */
  readonly forgotten = new Signal<void>();
  readonly #source: JournalSource;
  #queue: JournalEntry[] = [];
  /** The last unanswered entry of each path. */
  readonly #waiting = new Map<WorkspacePath, JournalEntry>();
  /**
   * Maps each path whose answer names an event that the mirror lacks to the seq of that event. Such a path stays
   * undecided until the event arrives.
   */
  readonly #awaited = new Map<WorkspacePath, number>();
  /** Paths with an entry that the origin has rejected, or may have rejected. The next step compares these paths. */
  readonly #again = new Set<WorkspacePath>();
  /** Paths whose last entry was refused for a reason other than `stale` and `causal-lie`. */
  readonly #refused = new Map<WorkspacePath, Refusal>();
  #scanned: number;
  #isRead = false;
  #released: number;
  #settled: number;
  #isDoubtful = false;
  /** The seq of the last entry that the origin has answered since this object was created. */
  #answeredTo = 0;

  constructor(source: JournalSource) {
    this.#source = source;
    this.#scanned = this.#released = this.#settled = source.settled;
  }

  get settledTo(): number {
    return this.#settled;
  }

  /** The number of entries without an answer, whether sent or not. */
  get pending(): number {
    return this.#queue.length;
  }

  get again(): ReadonlySet<WorkspacePath> {
    return this.#again;
  }

  /**
   * Must be called after a step has decided about `paths`. Removes these paths from `again`, except paths whose answer
   * names an event that the mirror lacks. Forgets the refusals of the paths in `agreed`, which are now the same on both
   * sides.
   */
  decided(paths: Iterable<WorkspacePath>, agreed: Iterable<WorkspacePath> = []): void {
    for (const path of agreed) this.#refused.delete(path);
    for (const path of paths) if ((this.#awaited.get(path) ?? 0) <= this.#source.head()) this.#again.delete(path);
  }

  /** The refused paths. A refused path is not sent again until it changes or `retry` names it. */
  get refused(): ReadonlyMap<WorkspacePath, Refusal> {
    return this.#refused;
  }

  /** True if a path must be compared again, or its last change has no answer yet. */
  isUndecided(path: WorkspacePath): boolean {
    return this.#again.has(path) || this.#waiting.has(path);
  }

  /**
   * Proposes all refused paths again. If `why` is given, proposes only paths that were refused for this reason. If
   * `only` is given, proposes only this path.
   */
  retry(why?: WriteBackReason, only?: WorkspacePath): void {
    for (const [path, { reason }] of this.#refused) {
      if ((why !== undefined && reason !== why) || (only !== undefined && path !== only)) continue;
      this.#refused.delete(path);
      this.#again.add(path);
    }
  }

  /** Makes the journal judge its queue anew before it sends more, because the rules for what is sent have changed. */
  doubt(): void {
    this.#isDoubtful = true;
  }

  /** Reads the new events of the folder's log into the queue. */
  async scan(): Promise<void> {
    await this.#judgeAnew();
    for (let looked = -1; looked < this.#scanned;) {
      looked = this.#scanned;
      const { entries, upTo } = await this.#source.read(this.#scanned, PAGE);
      for (const entry of entries) if (await this.#goesBack(entry)) this.#take(entry);
      this.#scanned = Math.max(this.#scanned, upTo);
    }
    this.#isRead = true;
  }

  /**
   * Skips the events after `from` up to `to`, which the origin does not need. Does nothing if the events up to `from`
   * are not read yet.
   */
  passOver(from: number, to: number): void {
    if (!this.#isRead || this.#scanned < from) return;
    this.#scanned = Math.max(this.#scanned, to);
    this.#released = Math.max(this.#released, to);
    this.#settleIdle();
  }

  /**
   * Withdraws the entries that settle one of these disputes. The disputes are open, so a person may have undone the
   * settlement. Such an entry is based on an event of the origin (`seen`) that is later than the dispute's `baseSeq`.
   * For a path beneath the disputed path, `since` takes the place of `baseSeq`.
   */
  withdraw(disputes: readonly Dispute[]): void {
    const byPath = new Map(disputes.map((one) => [one.path, one]));
    const isTakenBack = ({ path, seen }: JournalEntry): boolean => {
      if (seen > (byPath.get(path)?.baseSeq ?? Infinity)) return true;
      return foldersAbove(path).some((folder) => seen > (byPath.get(folder)?.since ?? Infinity));
    };
    if (disputes.length > 0) this.#leaveOut(isTakenBack);
  }

  /** Releases the entries up to the own event `upTo`, so that they can be sent. */
  release(upTo: number): void {
    if (upTo <= this.#released) return;
    this.#released = upTo;
    if (this.#queue.some(({ localSeq }) => localSeq <= upTo)) this.changed.emit();
    else this.#settleIdle();
  }

  /** Drops the entries up to the own event `upTo`. A dropped entry is sent only if its path is proposed again. */
  skipTo(upTo: number): void {
    this.#drop(upTo);
    this.#scanned = Math.max(this.#scanned, upTo);
    this.#released = Math.max(this.#released, upTo);
  }

  /**
   * True if this state of the path need not be proposed, because one of these is so:
   * - The path's last entry has this state, and has no answer yet.
   * - The path was refused.
   * - The path's answer names an event that the mirror lacks.
   *
   * An unanswered entry with another state does not count, because a change of the origin has overwritten its state.
   */
  isOnItsWay(path: WorkspacePath, state: Entry | undefined): boolean {
    const waiting = this.#waiting.get(path);
    if (waiting !== undefined && sameEntry(waiting.entry, state)) return true;
    return this.#refused.has(path) || (this.#awaited.get(path) ?? 0) > this.#source.head();
  }

  /** True if the path's last change was released and the mirror does not have the result of this change yet. */
  isSent(path: WorkspacePath): boolean {
    const localSeq = this.#waiting.get(path)?.localSeq;
    return localSeq === undefined ? (this.#awaited.get(path) ?? 0) > this.#source.head() : localSeq <= this.#released;
  }

  /** The last event of the origin that an answer has named and the mirror lacks; 0 if there is none. */
  get awaited(): number {
    let last = 0;
    for (const sequence of this.#awaited.values()) last = Math.max(last, sequence);
    return last;
  }

  async next(after: number, limit: number): Promise<JournalPage> {
    await this.#source.names?.refresh();
    await this.#judgeAnew();
    // If the origin has received events that this log has lost, return the log's end, so that the caller notices the
    // loss.
    if (this.#isRead && after > this.#scanned) return { entries: [], upTo: this.#scanned };
    const from = this.#queue.findIndex(({ localSeq }) => localSeq > after);
    const ready = from < 0 ? [] : this.#queue.slice(from, from + limit);
    const entries = ready.filter(({ localSeq }) => localSeq <= this.#released);
    const last = entries.at(-1);
    const isAll = entries.length < limit;
    return { entries, upTo: isAll || last === undefined ? Math.max(after, this.#released) : last.localSeq };
  }

  async settled(upTo: number, answer: WriteBackAnswer, decidedBy = 0): Promise<void> {
    const answered = new Map(this.#queue.filter(({ localSeq }) => localSeq <= upTo).map((one) => [one.localSeq, one]));
    const told = new Set([...answer.accepted, ...answer.rejected].map(({ localSeq }) => localSeq));
    // If `answer` does not name an entry, the origin's answer to that entry was lost, and the origin has forgotten it.
    // Only the origin's state will show whether the entry was accepted.
    for (const entry of answered.values()) {
      if (told.has(entry.localSeq)) continue;
      this.#again.add(entry.path);
      this.#await(entry, decidedBy);
    }
    for (const { localSeq, sequence } of answer.accepted) this.#await(answered.get(localSeq), sequence);
    for (const one of answer.rejected) {
      const entry = answered.get(one.localSeq);
      if (one.reason === "stale" || one.reason === "causal-lie") {
        this.#await(entry, one.currentSequence ?? 0);
        if (entry !== undefined) this.#again.add(entry.path);
      } else if (entry !== undefined && this.#waiting.get(entry.path)?.localSeq === entry.localSeq) {
        const { reason, unheard } = one;
        const isDeletion = entry.entry === undefined;
        this.#refused.set(entry.path, { reason, isDeletion, ...(unheard === true ? { unheard } : {}) });
        // The next step compares the path again, because its state may equal the origin's state by then.
        this.#again.add(entry.path);
      }
    }
    // Entries that were never sent (`unheard`) are left out, because the origin cannot remember them.
    const heard = [...answer.accepted, ...answer.rejected.filter(({ unheard }) => unheard !== true)];
    for (const { localSeq } of heard) this.#answeredTo = Math.max(this.#answeredTo, localSeq);
    this.#drop(upTo);
    this.#settleIdle();
    this.answered.emit(answer);
  }

  remembered(upTo: number, head: number): void {
    if (upTo >= this.#answeredTo && this.awaited <= head) return;
    this.#answeredTo = Math.min(this.#answeredTo, upTo);
    this.#awaited.clear();
    this.forgotten.emit();
  }

  isStillHeld(localSeq: number, hash: Hash | undefined): Promise<boolean> {
    return this.#source.isStillHeld(localSeq, hash);
  }

  hasWritten(localSeq: number, path: WorkspacePath): Promise<boolean> {
    return this.#source.hasWritten(localSeq, path);
  }

  open(hash: Hash): Promise<BlobReader | undefined> {
    return this.#source.open(hash);
  }

  async #goesBack(one: JournalEntry): Promise<boolean> {
    const { path, entry } = one;
    const { rules, there, keepsHere, isLeftToStep } = this.#source;
    const remote = await there(path);
    const known = entry ?? remote;
    if (!rules.goesBack(path, known, remote)) return false;
    // The next step decides about paths that were withheld at the last reconciliation.
    if (rules.wasWithheld(path, known?.kind === "dir")) return false;
    if ((await keepsHere?.(path, entry)) === true) return false;
    return (await isLeftToStep?.(one)) !== true;
  }

  async #judgeAnew(): Promise<void> {
    if (!this.#isDoubtful) return;
    this.#isDoubtful = false;
    const gone = new Set<JournalEntry>();
    for (const entry of [...this.#queue]) if (!(await this.#goesBack(entry))) gone.add(entry);
    this.#leaveOut((entry) => gone.has(entry));
  }

  #leaveOut(isGone: (entry: JournalEntry) => boolean): void {
    const gone = this.#queue.filter(isGone);
    if (gone.length === 0) return;
    this.#queue = this.#queue.filter((one) => !gone.includes(one));
    for (const { path, localSeq } of gone)
      if (this.#waiting.get(path)?.localSeq === localSeq) this.#waiting.delete(path);
    this.#settleIdle();
  }

  #take(entry: JournalEntry): void {
    this.#queue.push(entry);
    this.#waiting.set(entry.path, entry);
    this.#refused.delete(entry.path);
  }

  #await(entry: JournalEntry | undefined, sequence: number): void {
    if (entry === undefined || sequence <= this.#source.head()) return;
    this.#awaited.set(entry.path, Math.max(this.#awaited.get(entry.path) ?? 0, sequence));
  }

  #drop(upTo: number): void {
    const kept = this.#queue.findIndex(({ localSeq }) => localSeq > upTo);
    const gone = kept < 0 ? this.#queue.splice(0) : this.#queue.splice(0, kept);
    for (const { path, localSeq } of gone)
      if (this.#waiting.get(path)?.localSeq === localSeq) this.#waiting.delete(path);
    this.#settled = Math.max(this.#settled, upTo);
    for (const [path, sequence] of this.#awaited) if (sequence <= this.#source.head()) this.#awaited.delete(path);
  }

  /** If no entry waits for an answer, everything that was read and released is settled. */
  #settleIdle(): void {
    if (this.#queue.length === 0) this.#settled = Math.max(this.#settled, Math.min(this.#released, this.#scanned));
  }
}

interface JournalParts {
  readonly context: Context;
  readonly mirror: Mirror;
  readonly rules: ReplicatedPaths;
  readonly names: SharedNames;
  readonly editorFiles: EditorFiles;
  readonly notHeld: NotHeldPaths;
  readonly record: () => Pick<ReplicaRecord, "origin" | "sandboxId">;
}

export function openJournal(parts: JournalParts, { settled }: Pick<ReplicaRecord, "settled">): FolderJournal {
  const { context, mirror, rules, names, editorFiles, notHeld, record } = parts;
  const remoteOf = async (path: WorkspacePath) => (await mirror.iterationAt(path, mirror.head.seq))?.entry;
  const isWithheld = rules.isWithheldBy.bind(rules);
  return new FolderJournal({
    read: (after, limit) => {
      const query = { origin: record().origin, after, limit, isWithheld };
      return readJournal(context, (path, seq) => mirror.iterationAt(path, seq), query);
    },
    there: remoteOf,
    open: (hash) => context.blobs.open(hash),
    isStillHeld: (seq, hash) => isStillHeld(context, seq, hash),
    hasWritten: (seq, path) => hasWritten(context, seq, path),
    rules,
    names,
    keepsHere: async (path, entry) => (await notHeld.keepsHere(path, remoteOf)) || editorFiles.keepsHere(path, entry),
    isLeftToStep: leftToStep(parts),
    settled,
    head: () => mirror.head.seq,
  });
}

function leftToStep({ context, mirror, rules, record }: JournalParts) {
  const stoodOn = new StoodOn({ context, mirror, origin: () => record().origin });
  const isOwn = async (seq: number): Promise<boolean> => (await mirror.record(seq))?.replica?.id === record().sandboxId;
  const sides = { mirror, own: context.index, stoodOn, isOwn, rules };
  return async (entry: JournalEntry): Promise<boolean> =>
    (await stoodOn.isOvertaken(entry)) || !(await hasHadSeen(entry, sides));
}
