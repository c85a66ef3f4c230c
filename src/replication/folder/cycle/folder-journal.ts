import { sameEntry, type Entry } from "../../../core/values/entry.ts";
import type { Hash } from "../../../core/values/hash.ts";
import type { SyncConflict } from "../../../core/records/conflict-record.ts";
import { foldersAbove, type WorkspacePath } from "../../../core/values/path.ts";
import type { BlobReader } from "../../../storage/blob-store.ts";
import { Signal } from "../../../util/signal.ts";
import type { JournalEntry, JournalPage } from "../../../engine/replica/journal.ts";
import type { WriteBackAnswer, WriteBackReason } from "../../../core/records/write-back.ts";
import type { WriteJournal } from "../../replica/write-journal.ts";
import type { Refusal } from "../paths/refused-paths.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";
import type { SharedNames } from "../paths/shared-names.ts";

/** A path about which the folder and its origin disagree. */
export interface Dispute extends Pick<SyncConflict, "baseSeq" | "since"> {
  readonly path: WorkspacePath;
}

/** Where a folder's own changes are read, and what of them goes back. */
export interface JournalSource {
  /** The entries after an own event, in order, at most so many. */
  readonly read: (after: number, limit: number) => Promise<JournalPage>;
  /** What the origin has of a path, as far as is known here. */
  readonly there: (path: WorkspacePath) => Promise<Entry | undefined>;
  readonly open: (hash: Hash) => Promise<BlobReader | undefined>;
  readonly isStillHeld: (seq: number, hash: Hash | undefined) => Promise<boolean>;
  readonly hasWritten: (seq: number, path: WorkspacePath) => Promise<boolean>;
  readonly rules: ReplicatedPaths;
  /** Looks which names of secrets count now. Default: they never change. */
  readonly names?: Pick<SharedNames, "refresh"> | undefined;
  /** Is it an editor's own file, or does it lie where the folder cannot hold what the origin has, so that it stays here? Default: none does. */
  readonly keepsHere?: ((path: WorkspacePath, entry: Entry | undefined) => Promise<boolean>) | undefined;
  /**
   * Is an entry left to the next step, which compares both sides: since the folder never had what the entry says to have seen, or has
   * taken a later state of the origin's? Default: none is.
   */
  readonly isLeftToStep?: ((entry: JournalEntry) => Promise<boolean>) | undefined;
  /** The own event up to which everything has had its answer when it begins. */
  readonly settled: number;
  /** The last event of the origin that is held. */
  readonly head: () => number;
}

/** Entries that are read at once. */
const PAGE = 2_000;

/**
 * The changes of a folder that its origin is to have, between the log, where they are, and the conversation, which sends
 * them. Nothing is sent that was not released: whoever guards the folder has looked at it first.
 */
export class FolderJournal implements WriteJournal {
  readonly changed = new Signal<void>();
  /** Some entries have had their answers. */
  readonly answered = new Signal<WriteBackAnswer>();
  /** The origin has forgotten what it has taken: what is different there is to be proposed again. */
  readonly forgotten = new Signal<void>();
  readonly #source: JournalSource;
  #queue: JournalEntry[] = [];
  /** The last entry of each path that has no answer yet. */
  readonly #waiting = new Map<WorkspacePath, JournalEntry>();
  /** Paths with an answer about an event that is not held here yet: until then nothing can be said about them. */
  readonly #awaited = new Map<WorkspacePath, number>();
  /**
   * Paths with an entry that was not taken, or of which nobody knows whether it was: nothing else makes anybody look there again.
   */
  readonly #again = new Set<WorkspacePath>();
  /** Paths whose last entry was refused for what it is. */
  readonly #refused = new Map<WorkspacePath, Refusal>();
  #scanned: number;
  #isRead = false;
  #released: number;
  #settled: number;
  #isDoubtful = false;
  /** The last entry that the origin has answered in the life of this object. */
  #answeredTo = 0;

  constructor(source: JournalSource) {
    this.#source = source;
    this.#scanned = this.#released = this.#settled = source.settled;
  }

  get settledTo(): number {
    return this.#settled;
  }

  /** Entries that have no answer, whether they were sent or not. */
  get pending(): number {
    return this.#queue.length;
  }

  /** Paths to be decided about once more. */
  get again(): ReadonlySet<WorkspacePath> {
    return this.#again;
  }

  /**
   * It was decided about these. Those of which the origin knows more than is held here stay. `agreed`: paths of which both sides
   * have the same now, whatever was refused before.
   */
  decided(paths: Iterable<WorkspacePath>, agreed: Iterable<WorkspacePath> = []): void {
    for (const path of agreed) this.#refused.delete(path);
    for (const path of paths) if ((this.#awaited.get(path) ?? 0) <= this.#source.head()) this.#again.delete(path);
  }

  /** What was refused, and will not be sent again as it is. */
  get refused(): ReadonlyMap<WorkspacePath, Refusal> {
    return this.#refused;
  }

  /** Is a path to be looked at again, or its last change still without an answer? */
  isUndecided(path: WorkspacePath): boolean {
    return this.#again.has(path) || this.#waiting.has(path);
  }

  /** What was refused is to be proposed anew: all of it, or what was for one reason that may hold no more, or one path of that. */
  retry(why?: WriteBackReason, only?: WorkspacePath): void {
    for (const [path, { reason }] of this.#refused) {
      if ((why !== undefined && reason !== why) || (only !== undefined && path !== only)) continue;
      this.#refused.delete(path);
      this.#again.add(path);
    }
  }

  /** What goes back is not what it was: nothing is sent before that was looked at. */
  doubt(): void {
    this.#isDoubtful = true;
  }

  /** Reads what the log has. */
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

  /** Between these events of the log there is nothing that the origin is to have. */
  passOver(from: number, to: number): void {
    if (!this.#isRead || this.#scanned < from) return;
    this.#scanned = Math.max(this.#scanned, to);
    this.#released = Math.max(this.#released, to);
    this.#settleIdle();
  }

  /**
   * These are disputed. An entry that was to settle one of them, and stands on what the origin has, is not sent any more: whoever
   * settled it has taken that back.
   */
  withdraw(disputes: readonly Dispute[]): void {
    const byPath = new Map(disputes.map((one) => [one.path, one]));
    const isTakenBack = ({ path, seen }: JournalEntry): boolean => {
      if (seen > (byPath.get(path)?.baseSeq ?? Infinity)) return true;
      return foldersAbove(path).some((folder) => seen > (byPath.get(folder)?.since ?? Infinity));
    };
    if (disputes.length > 0) this.#leaveOut(isTakenBack);
  }

  /** What was recorded up to here may be sent. */
  release(upTo: number): void {
    if (upTo <= this.#released) return;
    this.#released = upTo;
    if (this.#queue.some(({ localSeq }) => localSeq <= upTo)) this.changed.emit();
    else this.#settleIdle();
  }

  /** Nothing that was recorded up to here is ever sent, unless it is proposed anew. */
  skipTo(upTo: number): void {
    this.#drop(upTo);
    this.#scanned = Math.max(this.#scanned, upTo);
    this.#released = Math.max(this.#released, upTo);
  }

  /**
   * Will the origin hear of this state of a path, or has it, or has it refused it? A change that has no answer yet, and was
   * overwritten by what came from the origin, says nothing of what is there now.
   */
  isOnItsWay(path: WorkspacePath, state: Entry | undefined): boolean {
    const waiting = this.#waiting.get(path);
    if (waiting !== undefined && sameEntry(waiting.entry, state)) return true;
    return this.#refused.has(path) || (this.#awaited.get(path) ?? 0) > this.#source.head();
  }

  /** Was this path's last change released, and has not come back yet? */
  isSent(path: WorkspacePath): boolean {
    const localSeq = this.#waiting.get(path)?.localSeq;
    return localSeq === undefined ? (this.#awaited.get(path) ?? 0) > this.#source.head() : localSeq <= this.#released;
  }

  /** Has everything that was answered come back? Up to then more is to be applied. */
  get awaited(): number {
    let last = 0;
    for (const sequence of this.#awaited.values()) last = Math.max(last, sequence);
    return last;
  }

  async next(after: number, limit: number): Promise<JournalPage> {
    await this.#source.names?.refresh();
    await this.#judgeAnew();
    // The log has been read, and is shorter than what the origin has had of it: that is told, not passed over.
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
    // The answer was lost, and is not remembered any more: whether it was taken is seen from what the origin has.
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
        // It may be what the origin has: then nothing is kept back.
        this.#again.add(entry.path);
      }
    }
    // What the origin has never heard of it cannot remember.
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
    // It was made beside what the origin has: the step proposes what is to go there.
    if (rules.wasWithheld(path, known?.kind === "dir")) return false;
    if ((await keepsHere?.(path, entry)) === true) return false;
    return (await isLeftToStep?.(one)) !== true;
  }

  /** Leaves out what was to be sent and is not to go any more. */
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

  /** What was looked through and has no entries needs no answer. */
  #settleIdle(): void {
    if (this.#queue.length === 0) this.#settled = Math.max(this.#settled, Math.min(this.#released, this.#scanned));
  }
}
