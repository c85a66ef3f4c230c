import { type CommonHistory, findCommonEvent } from "../../replica/find-common-event.ts";
import type { SyncShape } from "../../../api/sync-api.ts";
import type { Progress } from "../../../api/workspace-api.ts";
import type { IdentifiedConflict } from "../../../core/records/conflict-record.ts";
import type { NameRules } from "../../../core/tree/find-collisions.ts";
import { ROOT, type WorkspacePath } from "../../../core/values/path.ts";
import type { FolderIdentity, ReplicaHalt, ReplicaRecord } from "../../../core/records/replica-record.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { RejectedEntry } from "../../../core/records/write-back.ts";
import { Signal } from "../../../util/signal.ts";
import type { Context } from "../../../engine/log/context.ts";
import { capture } from "../../../engine/capture/capture.ts";
import { shownPath } from "../../../engine/log/shape.ts";
import { CycleLoop, pushed, type SyncEvent } from "./cycle-loop.ts";
import { EditorFiles } from "../paths/editor-files.ts";
import { flushSync, type Flushed, type FlushOptions, ConditionWaiters } from "./condition-waiters.ts";
import { FolderCycle } from "../cycle/folder-cycle.ts";
import type { LossDecision } from "../cycle/deletion-guard.ts";
import { type FolderJournal, openJournal } from "../cycle/folder-journal.ts";
import { FsWatcher } from "./fs-watcher.ts";
import { SecretPaths } from "../paths/secret-paths.ts";
import { GitPaths } from "../paths/git-paths.ts";
import { NotHeldPaths } from "../paths/not-held-paths.ts";
import { haltedSync, nothingHalted, nothingLost, notUnderWay } from "../cycle/not-under-way.ts";
import { Obstacles } from "../cycle/obstacles.ts";
import { OriginLink, type OriginLinkOptions } from "../link/origin-link.ts";
import { RefusalProbe } from "../cycle/refusal-probe.ts";
import { ReplicatedPaths } from "../ground/replicated-paths.ts";
import { SharedNames } from "../paths/shared-names.ts";
import type { Resolution } from "../cycle/resolve-sync-conflict.ts";
import { flushedShape, haltedBecause, hintFor, syncShape, type SyncFacts } from "../link/sync-shape.ts";

export interface FolderSyncParts extends Pick<
  OriginLinkOptions,
  "mirror" | "session" | "connect" | "timers" | "random"
> {
  readonly context: Context;
  /** Returns the folder's present identity; `undefined` if there is no folder. */
  readonly identity: () => FolderIdentity | undefined;
  readonly nameRules?: NameRules | undefined;
  /**
   * Calls `onGrown` when any process may have added events to the replica's own log. Default: no other process writes
   * to the log.
   */
  readonly watchOwn?: (onGrown: () => void) => Disposable;
  readonly beforeMove?: () => void;
  /**
   * Resolves to a halt (the reason why the sync stops until a person decides) if the folder must not follow this origin
   * at its place on the disk. Default: every place is allowed.
   */
  readonly apart?: (record: ReplicaRecord) => Promise<ReplicaHalt | undefined>;
}

const DEFAULT_DEBOUNCE_MS = 50;

/** The minimum time between two reports about the transfer of a large file, in ms. */
const TELL_MS = 500;

/** The time between two attempts to record that the origin refuses this replica, in ms. */
const REFUSED_AGAIN_MS = 5_000;

/**
 * The time limit, in ms, of the search for the events that the origin has lost. If the search takes longer, the halt
 * does not name these events.
 */
const COMPARING_MS = 15_000;

const FOLDER_GONE: ReplicaHalt = { reason: "root-vanished", detail: "the folder is not there" };

const NEEDS_DECISION: ReadonlySet<string> = new Set(["root-replaced", "root-emptied", "mass-deletion"]);

/**
 * A folder that follows an origin's workspace, and writes back to it. Contradictory changes stay on both sides until a
 * person decides. The process can end at any moment and another process can continue, because the whole state is in the
 * replica's log.
 */
export class FolderSync {
  readonly happened = new Signal<SyncEvent>();
  readonly #parts: FolderSyncParts;
  readonly #editorFiles: EditorFiles;
  readonly #names: SharedNames;
  readonly #gitPaths = new GitPaths(() => this.#parts.context.worktree.gitTops());
  readonly #secrets: SecretPaths;
  readonly #notHeld = new NotHeldPaths(() => this.#parts.context.worktree.traitsOf(ROOT));
  readonly #journal: FolderJournal;
  readonly #probe: RefusalProbe;
  readonly #cycle: FolderCycle;
  readonly #loop: CycleLoop;
  readonly #watcher: FsWatcher;
  readonly #link: OriginLink;
  readonly #obstacles: Obstacles;
  readonly #waiting = new ConditionWaiters();
  #listening: Disposable[] = [];
  #turn: Promise<unknown> = Promise.resolve();
  #isUnderWay = false;
  #isClosed = false;
  /** The number of consecutive answers in which the origin rejected at least one entry. */
  #refusals = 0;
  #comparing: AbortController | undefined;
  #ownLog: Disposable | undefined;
  #hasGrown = false;
  #wasDegraded = false;
  #progress: SyncShape["progress"];
  #telling: Disposable | undefined;

  constructor(parts: FolderSyncParts, record: ReplicaRecord) {
    const { context, mirror, timers } = parts;
    this.#parts = parts;
    const rules = new ReplicatedPaths(record);
    const names = (this.#names = new SharedNames({ context, mirror }, rules));
    const inTurn = <T>(work: () => Promise<T>): Promise<T> => this.#inTurn(work);
    const editorFiles = (this.#editorFiles = new EditorFiles(context, mirror, record));
    const secrets = (this.#secrets = new SecretPaths(rules));
    const notHeld = this.#notHeld;
    const shared = { context, mirror, rules, names, editorFiles, notHeld };
    this.#journal = openJournal({ ...shared, record: () => this.record }, record);
    this.#probe = new RefusalProbe({
      journal: this.#journal,
      timers,
      mayAsk: () => this.#link.session !== undefined && !this.#link.isReadOnly,
      wake: () => this.#loop.wake(),
    });
    this.#cycle = new FolderCycle(
      {
        ...parts,
        nameRules: parts.nameRules,
        journal: this.#journal,
        rules,
        names,
        ...{ editorFiles, gitPaths: this.#gitPaths, secrets, notHeld },
        onDue: () => this.#loop.wake(),
        onProgress: (progress) => this.#applying(progress),
      },
      record,
    );
    this.#watcher = new FsWatcher({
      context,
      debounceMs: record.debounceMs ?? DEFAULT_DEBOUNCE_MS,
      timers,
      inTurn,
      onLooked: (error) => void this.#looked(error),
    });
    this.#loop = new CycleLoop({
      ...parts,
      cycle: this.#cycle,
      now: () => context.now(),
      inTurn,
      tell: (happening) => this.#tell(happening),
      isActive: () => this.#isUnderWay && this.isActive,
      look: () => this.#lookAtAll(),
      link: () => this.#link,
      onHalt: (halt) => this.#halt(halt),
    });
    this.#obstacles = this.#obstaclesOf(parts);
    this.#link = new OriginLink({
      ...parts,
      ...{ journal: this.#journal, rules, record: () => this.record },
      onRegained: () => this.#regained(),
      onChange: () => this.#linkChanged(),
      onMayWrite: () => this.#mayWrite(),
      onReceived: (done, total) => (this.#progress = { phase: "receiving", done, total }),
      onBytes: (phase, done, total) => this.#transferring(phase, { done, total }),
      onRefused: (why) => this.#refused(why),
    });
  }

  #obstaclesOf({ context: { worktree, live, now }, timers }: FolderSyncParts): Obstacles {
    return new Obstacles({
      ...{ worktree, timers, now },
      inTurn: (work) => this.#inTurn(work),
      blocked: () => this.#cycle.blocked,
      unreadable: () => live.unreadable,
      onWritable: (paths) => {
        this.#cycle.unblock(paths);
        this.#loop.wake();
      },
      onReadable: (paths) => live.hint(paths),
      onError: (error) => this.#loop.failed(error),
    });
  }

  /** The sync's record as it is in the log, or as it will soon be written to the log. */
  get record(): ReplicaRecord {
    return this.#cycle.record;
  }

  get isActive(): boolean {
    const { stopped, paused, halted } = this.record;
    return stopped !== true && paused !== true && halted === undefined && !this.#isClosed;
  }

  get shape(): SyncShape {
    return syncShape(this.#facts);
  }

  get #facts(): SyncFacts {
    const { context, mirror } = this.#parts;
    return {
      id: context.workspaceId,
      folder: context.worktree.roots[0]?.folder ?? "",
      record: this.record,
      link: this.#link.state,
      linkError: this.#link.error,
      wasReached: this.#link.wasReached,
      originAwaySince: this.#link.folderAwaySince,
      failure: this.#loop.failure,
      blocked: this.#cycle.conflicts.flatMap(({ record: { reason, sync } }) =>
        reason === "blocked" ? (sync?.detail ?? []) : [],
      ),
      retryAt: this.#loop.retryAt,
      isBusy: this.#loop.isBusy,
      isWatchDegraded: this.#wasDegraded,
      origin: Math.max(this.#link.sequence, mirror.head.seq),
      head: mirror.head.seq,
      applied: this.#cycle.applied,
      pending: this.#journal.pending,
      refused: this.#journal.refused,
      leftOut: this.#editorFiles.leftOut,
      gitLeftOut: this.#gitPaths.leftOut,
      secrets: this.#secrets.leftOut,
      notHeld: this.#notHeld.leftOut,
      erased: context.live.erased,
      isReadOnly: this.#link.isReadOnly,
      conflicts: this.#cycle.conflicts.length,
      progress: this.#progress,
    };
  }

  /**
   * Continues from the state in the log. Resolves once the sync runs, or at once if the sync is stopped, paused or
   * halted.
   */
  async start(): Promise<void> {
    this.#listening = [
      this.#parts.mirror.changed.listen(() => this.#loop.wake()),
      this.#journal.answered.listen(({ accepted, rejected }) => this.#answered(accepted.length, rejected)),
      this.#journal.forgotten.listen(() => this.#compareAll()),
      this.#names.changed.listen(() => this.#namesChanged()),
    ];
    if (this.isActive) await this.#setOut(undefined);
    this.#tell({ kind: "state" });
  }

  /** Ends the sync in this process. The sync is not recorded as stopped, so that the next process continues it. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.#comeToRest();
    const isBehind = this.isActive && this.#cycle.isAhead;
    this.#isClosed = true;
    try {
      if (isBehind) await this.#inTurn(() => this.#cycle.write());
    } finally {
      for (const one of this.#listening.splice(0)) one[Symbol.dispose]();
      this.#cycle[Symbol.dispose]();
      this.#waiting.look();
    }
  }

  async stop(): Promise<void> {
    await this.#atRest(() => this.#write({ stopped: true }));
  }

  /** Throws `REFUSED` if the sync is stopped. */
  async pause(): Promise<void> {
    if (this.record.stopped === true) throw notUnderWay(this.record, "it is stopped");
    await this.#atRest(() => this.#write({ paused: true }));
  }

  /**
   * Makes the sync a new replica, with an id that the origin does not know yet. The caller must reopen the sync. Throws
   * `REFUSED` if the sync is stopped.
   */
  async becomeNew(sandboxId: string): Promise<void> {
    if (this.record.stopped === true) throw notUnderWay(this.record, "it is stopped");
    await this.#atRest(() => this.#write({ sandboxId, keeps: "here", paused: true, halted: undefined }));
  }

  /**
   * Like `becomeNew`, but for an origin that was put back to an earlier state. The changes that the origin has lost are
   * kept in the folder, and proposed to the origin. If the origin has got these changes back meanwhile, the sync does
   * not become a new replica.
   *
   * Rejects if the origin cannot be reached. Rejects with `REFUSED` if the sync is stopped, if the origin was not put
   * back, or if the folder is missing. Also rejects as `FolderCycle.rejoin` does.
   */
  async rejoin(sandboxId: string): Promise<void> {
    const { halted, stopped } = this.record;
    if (stopped === true) throw notUnderWay(this.record, "it is stopped");
    if (halted?.reason !== "diverged") throw halted === undefined ? nothingLost() : haltedSync(halted);
    if (this.#parts.identity() === undefined) throw haltedSync(FOLDER_GONE);
    await this.#atRest(async () => {
      const { held, common = 0 } = await this.#compareHistories(new AbortController().signal);
      if (common < held) await this.#inTurn(() => this.#cycle.rejoin(sandboxId, common));
      this.#parts.session.notes.forget();
    });
  }

  #compareHistories(signal: AbortSignal): Promise<CommonHistory> {
    const { mirror, session, connect } = this.#parts;
    const { sandboxId, workspace = mirror.workspace } = this.record;
    const named = workspace === "" ? {} : { workspace };
    return findCommonEvent({ ...session, ...named, connect, mirror, sandboxId, signal });
  }

  /**
   * Continues a sync that is paused or halted. If the halt needs a decision and `accept` is not given, resolves only
   * once the folder was scanned and compared with the origin's state.
   *
   * Throws `REFUSED` if the sync halts again in this comparison, for instance because the lost files are still missing.
   * Also throws `REFUSED` if the sync is stopped, if the folder is missing, or if a restore is requested while the sync
   * runs.
   */
  async resume({ accept }: { readonly accept?: LossDecision } = {}): Promise<void> {
    const { halted, stopped } = this.record;
    if (stopped === true) throw notUnderWay(this.record, "it is stopped");
    if (accept === "restore" && this.isActive) throw nothingHalted();
    const isOpen = halted !== undefined && NEEDS_DECISION.has(halted.reason);
    const isUndecided = isOpen && accept === undefined;
    if (this.#parts.identity() === undefined) throw haltedSync(FOLDER_GONE);
    await this.#atRest(async () => {
      // The entries that were lost just before the halt belong to the same deletion, so they are restored, too.
      if (isOpen && accept === "restore") await this.#inTurn(() => this.#cycle.wantBack());
      if (halted?.reason === "root-replaced" && accept !== undefined) await this.#takeFolder();
      // A person who resumes has seen that the histories diverge, so the note about this is removed. The next
      // connection compares the histories again.
      if (halted?.reason === "diverged") this.#parts.session.notes.forget();
      await this.#write({ paused: undefined, halted: undefined });
    });
    this.#journal.retry();
    if (isUndecided) this.#cycle.lookAgain();
    else this.#cycle.compareAll();
    this.#cycle.hurry();
    await this.#setOut(accept);
    if (isUndecided) await this.#lookedAgain();
  }

  /**
   * Records the present content of a folder that a person has accepted in the place of the known folder. Entries that
   * the new folder lacks are recorded as deleted. Without a person's decision, a scan of another disk records no
   * deletions.
   */
  async #takeFolder(): Promise<void> {
    await this.#inTurn(() => capture(this.#parts.context, { cause: "capture", acceptsDeletions: true }));
  }

  /**
   * Resolves once the folder was scanned and compared, or once the scan or the comparison has failed. Throws `REFUSED`
   * if the sync halts again.
   */
  async #lookedAgain(): Promise<void> {
    await this.#lookAtAll();
    const isOver = (): boolean => !this.isActive || !this.#loop.isBusy || this.#loop.failure !== undefined;
    await this.#waiting.until(isOver, new AbortController().signal);
    const { halted } = this.record;
    if (halted !== undefined) throw haltedSync(halted);
  }

  /**
   * Flushes the sync (see `flushSync`). Resolves to the state after the flush, with the paths that the origin has
   * refused.
   */
  async flush(options: FlushOptions = {}): Promise<SyncShape> {
    this.#link.hurry();
    this.#cycle.hurry();
    this.#loop.hurry();
    const flushed: Flushed = {
      timers: this.#parts.timers,
      waiting: this.#waiting,
      session: () => this.#link.session,
      isActive: () => this.isActive,
      refuseIdle: () => this.#refuseIdle(),
      look: (how) => this.#watcher.look(how),
      isQuiet: (sequence: number) => this.#isQuiet(sequence),
      obstacle: () => {
        const { reason, degraded, hint } = this.shape;
        return { why: reason ?? degraded, hint };
      },
    };
    await flushSync(flushed, options);
    return flushedShape(this.#facts);
  }

  conflicts(): Promise<readonly IdentifiedConflict[]> {
    return this.#inTurn(() => this.#cycle.openConflicts());
  }

  /**
   * Records the path's present state, settles the path's conflict, and returns the conflict in its new state. If a
   * folder could not be removed, the conflict stays open, although everything else was settled. Throws `NOT_FOUND` and
   * `REFUSED` as `FolderCycle.resolve` does.
   */
  async resolve(path: WorkspacePath, resolution: Resolution): Promise<IdentifiedConflict> {
    const resolved = await this.#inTurn(() => this.#cycle.resolve(path, resolution));
    this.#tell({ kind: "conflict", path: shownPath(path), state: resolved.record.state });
    this.#loop.wake();
    return resolved;
  }

  /** Reports the progress of a transfer every `TELL_MS`, because one report for each piece would be too many. */
  #transferring(phase: "receiving" | "sending", bytes: { readonly done: number; readonly total: number }): void {
    const files = this.#progress?.phase === phase ? this.#progress : { phase, done: 0, total: 1 };
    this.#progress = { ...files, bytes: { ...bytes } };
    this.#telling ??= this.#parts.timers.after(TELL_MS, () => {
      this.#telling = undefined;
      this.#tell({ kind: "state" });
    });
  }

  #linkChanged(): void {
    if (this.#link.session === undefined && this.#progress?.bytes !== undefined) this.#progress = undefined;
    // A step (one reconciliation of both sides) that has waited for all events of the origin may be able to run now.
    if (this.record.keeps !== undefined || this.#loop.isRestoring) this.#loop.wake();
    // If `#comeToRest` is stopping the link, its caller reports the state later.
    if (this.#isUnderWay) this.#tell({ kind: "state" });
    else this.#waiting.look();
  }

  #namesChanged(): void {
    this.#journal.doubt();
    this.#link.regain();
    this.#compareAll();
  }

  #mayWrite(): void {
    this.#journal.retry("read-only");
    this.#loop.wake();
  }

  /** Retries paths that could not be written, because their contents may have arrived. */
  #regained(): void {
    this.#cycle.hurry();
    this.#compareAll();
  }

  #ignoreOwn(): void {
    this.#ownLog?.[Symbol.dispose]();
    this.#ownLog = undefined;
  }

  /**
   * Looks for new conflicts in the replica's own log. If a person undoes the settlement of a conflict, only the
   * conflict's record may change, which the folder's watcher does not report.
   */
  #ownGrown(): void {
    if (this.#hasGrown) return;
    this.#hasGrown = true;
    const look = async (): Promise<void> => {
      this.#hasGrown = false;
      if (this.#isUnderWay && (await this.#cycle.isDisputedAnew())) this.#loop.wake();
    };
    this.#inTurn(look).catch((error: unknown) => this.#loop.failed(error));
  }

  #isQuiet(sequence: number): boolean {
    const isIdle = !this.#loop.isBusy && !this.#loop.isRestoring && this.#journal.pending === 0;
    const wanted = Math.max(sequence, this.#journal.awaited, this.#parts.mirror.head.seq);
    return isIdle && this.record.keeps === undefined && this.#cycle.applied >= wanted;
  }

  #refuseIdle(): void {
    const { reason, state } = this.shape;
    if (!this.isActive) throw notUnderWay(this.record, reason ?? `it is ${state}`);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#turn.catch(() => undefined).then(work);
    this.#turn = next;
    return next;
  }

  #applying({ phase, done, total }: Progress): void {
    if (phase === "restore") this.#progress = { phase: "applying", done, total };
  }

  async #setOut(decided: LossDecision | undefined): Promise<void> {
    this.#isUnderWay = true;
    this.#ownLog ??= this.#parts.watchOwn?.(() => this.#ownGrown());
    this.#loop.setOut(decided);
    try {
      await this.#names.refresh();
      this.#link.start();
      await this.#watcher.start();
      // The scan finds changes that were made while the folder was not watched.
      void this.#lookAtAll();
    } catch (error) {
      this.#loop.failed(error);
    }
  }

  async #comeToRest(): Promise<void> {
    this.#isUnderWay = false;
    this.#comparing?.abort();
    this.#ignoreOwn();
    this.#probe[Symbol.dispose]();
    this.#obstacles[Symbol.dispose]();
    this.#telling?.[Symbol.dispose]();
    this.#telling = undefined;
    await this.#link.stop();
    await this.#watcher.stop();
    await this.#loop.rest();
  }

  /**
   * Runs the work while the sync is at rest, which means that its link, watcher and loop are stopped. If the work
   * fails, sets the sync running again, unless it is stopped, paused or halted.
   */
  async #atRest(work: () => Promise<void>): Promise<void> {
    await this.#comeToRest();
    try {
      await work();
    } catch (error) {
      if (this.isActive) await this.#setOut(undefined);
      throw error;
    }
  }

  async #write(change: Parameters<FolderCycle["write"]>[0]): Promise<void> {
    await this.#inTurn(() => this.#cycle.write(change));
    this.#tell({ kind: "state" });
  }

  /** Halts the sync. Rejects if the halt cannot be recorded. The sync then continues. */
  async #halt(halted: ReplicaHalt): Promise<void> {
    if (!this.#isUnderWay || !this.isActive) return;
    await this.#inTurn(() => this.#cycle.write({ halted }));
    this.#isUnderWay = false;
    this.#ignoreOwn();
    await Promise.all([this.#watcher.stop(), this.#link.stop()]);
    this.#tell({ kind: "halted", reason: haltedBecause(halted), hint: hintFor(halted) });
    this.#tell({ kind: "state" });
  }

  /**
   * Halts the sync because of `why`. Retries until the halt is recorded, because nothing else would record this halt.
   */
  #refused(why: ReplicaHalt): void {
    if (this.#link.state !== "refused") return;
    const halt = async (): Promise<void> => this.#halt(why.reason === "diverged" ? await this.#explained(why) : why);
    halt().catch((error: unknown) => {
      this.#loop.failed(error);
      this.#parts.timers.after(REFUSED_AGAIN_MS, () => this.#refused(why));
    });
  }

  /**
   * Adds to the halt the events that the origin has lost. Returns `why` unchanged if these events cannot be determined
   * within `COMPARING_MS`, or if the origin has lost nothing.
   */
  async #explained(why: ReplicaHalt): Promise<ReplicaHalt> {
    const ending = (this.#comparing = new AbortController());
    using _late = this.#parts.timers.after(COMPARING_MS, () => ending.abort());
    try {
      const detail = wentBack(await this.#compareHistories(ending.signal));
      return detail === undefined ? why : { ...why, detail };
    } catch (error) {
      if (error instanceof ChronicleError) return why;
      throw error;
    }
  }

  /** Scans the folder. Afterwards, the loop continues, or retries if the scan failed. */
  async #lookAtAll(): Promise<void> {
    const look = this.#watcher.look().then(() => this.#loop.looked());
    await look.catch((error: unknown) => this.#looked(error));
  }

  async #looked(error: unknown): Promise<void> {
    const { degraded } = this.#parts.context.live;
    if (degraded && !this.#wasDegraded)
      this.#tell({ kind: "degraded", reason: "the folder cannot be watched as a whole: it is scanned instead" });
    this.#wasDegraded = degraded;
    // If the folder is missing, the loop continues, because its next cycle reports the missing folder.
    if (error === undefined) this.#loop.wake();
    else if (this.#isFolderGone()) this.#loop.looked();
    else await this.#notLooked(error);
  }

  /** Halts if the scan failed because another folder is in the folder's place. Otherwise, the loop retries the scan. */
  async #notLooked(error: unknown): Promise<void> {
    try {
      const halt = await this.#inTurn(() => this.#cycle.checkFolder());
      if (halt === undefined) this.#loop.failed(error);
      else await this.#halt(halt);
    } catch {
      // This check can fail for the same reason as the scan. The error of the scan is then reported.
      this.#loop.failed(error);
    }
  }

  /**
   * Makes the next cycle compare everything. Waits until no cycle runs, because a running cycle would mark everything
   * as compared when it ends.
   */
  #compareAll(): void {
    const compare = this.#inTurn(async () => this.#cycle.compareAll());
    compare.then(() => this.#loop.wake()).catch((error: unknown) => this.#loop.failed(error));
  }

  #isFolderGone(): boolean {
    try {
      return this.#parts.identity() === undefined;
    } catch {
      // The folder's state is unknown. The caller handles the failed scan, and will retry it.
      return false;
    }
  }

  #answered(accepted: number, rejected: readonly RejectedEntry[]): void {
    if (this.#progress?.phase === "sending") this.#progress = undefined;
    this.#refusals = rejected.length > 0 ? this.#refusals + 1 : accepted > 0 ? 0 : this.#refusals;
    if (accepted + rejected.length > 0) this.#tell(pushed(accepted, rejected));
    this.#probe.look();
    if (rejected.length > 0 || this.#journal.again.size > 0) this.#loop.wake(pauseAfter(this.#refusals));
    this.#loop.writeSoon();
    this.#waiting.look();
  }

  #tell(happening: SyncEvent): void {
    if (happening.kind === "applied") this.#progress = undefined;
    if (this.#isUnderWay) this.#obstacles.look();
    this.#waiting.look();
    this.happened.emit(happening);
  }
}

/**
 * The maximum number of consecutive answers with refusals that cause no pause. Even in normal work, several batches in
 * succession can have refused entries.
 */
const MOST_REFUSALS = 3;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Returns the time to wait, in ms, before refused changes are compared again. The refusals may come from events of the
 * origin that have not arrived here yet. Until these events arrive, each comparison makes the same decision, and adds
 * events to both histories.
 */
function pauseAfter(refusals: number): number {
  return refusals <= MOST_REFUSALS ? 0 : Math.min(LONGEST_PAUSE_MS, 10 * 2 ** (refusals - MOST_REFUSALS));
}

/** Returns a text that says how far the origin went back; `undefined` if the origin has lost no event. */
function wentBack({ held, origin, common }: CommonHistory): string | undefined {
  if (common === held) return undefined;
  const to = common === undefined ? "an event that both do not hold any more" : `event ${common}`;
  const since = common === undefined ? 0 : Math.max(0, origin - common);
  const others =
    since === 0
      ? ""
      : since === 1
        ? ", and has recorded another one since"
        : `, and has recorded ${since} others since`;
  return `the origin went back to an earlier state: from its event ${held} to ${to}${others}`;
}
