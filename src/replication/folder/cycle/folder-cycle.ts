import { isDeepStrictEqual } from "node:util";
import type { Progress } from "../../../api/workspace-api.ts";
import type { Change } from "../../../core/values/entry.ts";
import type { IdentifiedConflict } from "../../../core/records/conflict-record.ts";
import type { NameRules } from "../../../core/tree/find-collisions.ts";
import type { Hash } from "../../../core/values/hash.ts";
import { foldersAbove, type WorkspacePath } from "../../../core/values/path.ts";
import type { FolderIdentity, Kept, ReplicaHalt, ReplicaRecord } from "../../../core/records/replica-record.ts";
import { capture } from "../../../engine/capture/capture.ts";
import { catchUp } from "../../../engine/log/catch-up.ts";
import { openConflicts, settledConflicts } from "../../../engine/facts/open-conflicts.ts";
import type { Context } from "../../../engine/log/context.ts";
import { breatheAfter } from "../../../util/yield-to-event-loop.ts";
import { settle } from "../../../engine/capture/operate.ts";
import type { UpstreamReport } from "../../../engine/replica/apply-upstream.ts";
import type { AddedNames } from "../../../engine/replica/replica-state.ts";
import type { Mirror } from "../../replica/mirror.ts";
import type { Timers } from "../../../util/timers.ts";
import { RestoredPaths } from "./restored-paths.ts";
import { areWhole, decideCycle, holdCollisions, type CyclePath } from "../ground/decide-cycle.ts";
import type { EditorFiles } from "../paths/editor-files.ts";
import { eventBefore } from "./event-before.ts";
import { findHeldNames, holdFolders } from "./hold-folders.ts";
import { findReplicaRecord } from "./find-replica-record.ts";
import type { FolderJournal } from "./folder-journal.ts";
import {
  checkRoot,
  isElsewhere,
  ROOT_REPLACED,
  MEMORY_MS,
  RecentDeletions,
  NO_LOSSES,
  sidesKept,
  sidesToRestore,
  weighDeletions,
  type LossDecision,
  type Losses,
} from "./deletion-guard.ts";
import type { GitPaths } from "../paths/git-paths.ts";
import { ignoredOn } from "./ignored-paths.ts";
import { type CycleOutcome, readCycle, type CycleSides } from "./read-cycle.ts";
import { LocalMaterializer } from "./local-materializer.ts";
import { haltedSync, refuseDisputed } from "./not-under-way.ts";
import { agreedPaths, isNewsOnly, isOnlyTaken, planCycle, toldConflicts, type CyclePlan } from "./plan-cycle.ts";
import { OriginErasures } from "./origin-erasures.ts";
import { planFirst } from "./plan-first.ts";
import { recentlyGone } from "../ground/recently-gone.ts";
import type { NotHeldPaths } from "../paths/not-held-paths.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";
import { inTheWay, noConflict, oneWay, resolveSyncConflict, type Resolution } from "./resolve-sync-conflict.ts";
import type { SharedNames } from "../paths/shared-names.ts";
import { Retries } from "./retries.ts";
import { isRecognised, sampleContents } from "./sample-contents.ts";
import { settleMerges } from "../ground/settle-merges.ts";
import { StoodOn } from "../ground/stood-on.ts";
import { differingPaths, withoutOwn, type JustDone } from "./touched-paths.ts";
import { optional } from "../../../util/optional.ts";

export interface CycleParts {
  readonly context: Context;
  readonly mirror: Mirror;
  readonly journal: FolderJournal;
  readonly rules: ReplicatedPaths;
  readonly names: SharedNames;
  readonly editorFiles: EditorFiles;
  readonly gitPaths: GitPaths;
  readonly secrets: CycleSides["secrets"];
  readonly notHeld: NotHeldPaths;
  /** Returns the folder's present identity; `undefined` if there is no folder. */
  readonly identity: () => FolderIdentity | undefined;
  readonly nameRules: NameRules | undefined;
  /**
   * Called in each cycle. Resolves to a halt if a folder at this location must not follow this origin.
   */
  readonly apart?: ((record: ReplicaRecord) => Promise<ReplicaHalt | undefined>) | undefined;
  /**
   * Drops the caches of the old folder. Called before another folder, or the same folder on another device, is recorded
   * as the workspace's folder.
   */
  readonly beforeMove?: (() => void) | undefined;
  readonly timers: Timers;
  /** Called when a delayed retry is due. */
  readonly onDue: () => void;
  readonly onProgress?: (progress: Progress) => void;
}

/** Changes to the sync's record. A field that is present and `undefined` is removed from the record. */
export interface RecordChange {
  readonly origin?: string;
  readonly sandboxId?: string;
  readonly applied?: number;
  readonly keeps?: Kept;
  readonly paused?: boolean | undefined;
  readonly stopped?: boolean | undefined;
  readonly halted?: ReplicaHalt | undefined;
}

/** A plan, and the state for which it was made. */
interface Planned {
  readonly plan: CyclePlan;
  readonly contents: readonly Hash[];
  readonly paths: readonly CyclePath[];
  readonly losses: Losses;
  readonly local: number;
  readonly head: number;
  /** Paths that were compared because the journal named them (`FolderJournal.again`). */
  readonly again: readonly WorkspacePath[];
  /** Paths that were in conflict when the plan was made. */
  readonly disputed: readonly WorkspacePath[];
  readonly isWhole: boolean;
}

/**
 * The maximum number of own events (events of the folder's own log) that are searched for an event about a conflict. If
 * there are more own events, `isDisputedAnew` assumes that one of them is about a conflict.
 */
const MOST_SINCE = 1_000;

/** The maximum number of waits for the rest of a commit that has arrived in part. `PART_MS` is the length of a wait. */
const MOST_PARTS = 50;
export const PART_MS = 20;

/**
 * Synchronises a folder with the origin's state that the mirror holds, one step at a time. The caller must serialise
 * the calls.
 */
export class FolderCycle implements Disposable {
  readonly #parts: CycleParts;
  readonly #materializer: LocalMaterializer;
  readonly #retries: Retries;
  readonly #losses: RecentDeletions;
  readonly #back: RestoredPaths;
  readonly #erasures: OriginErasures;
  readonly #sources: Pick<CycleSides, "isOwn" | "stoodOn">;
  #record: ReplicaRecord;
  /** The origin's event up to which the folder is reconciled. The record in the log may name an earlier event. */
  #applied: number;
  /** The own event up to which the folder was compared; `undefined` if everything must be compared. */
  #known: number | undefined;
  #isLookedAtAgain = false;
  #done: JustDone | undefined;
  #open: readonly IdentifiedConflict[] = [];
  #names: AddedNames;
  /**
   * Paths that were in conflict when the last step was planned. The next step compares them again, because the end of a
   * conflict may change no file.
   */
  #disputed: readonly WorkspacePath[] = [];
  /** The identity of a folder on another device whose contents were recognised as those of the known folder. */
  #recognised: FolderIdentity | undefined;
  /** The own event up to which the origin's answers are in the record in the log. */
  #answersTo: number;
  #part = { local: 0, head: 0, times: 0 };
  /** The result of `#readSettled` while `#catchUpWithHeld` runs; otherwise empty. */
  #settledAt: ReadonlyMap<WorkspacePath, number> = new Map();
  #isCatchingUp = false;

  constructor(parts: CycleParts, record: ReplicaRecord) {
    this.#parts = parts;
    this.#record = record;
    this.#applied = record.applied;
    this.#answersTo = record.settled;
    this.#names = { here: record.ownNames ?? [], there: record.originNames ?? [] };
    const { beforeMove } = parts;
    const known = { isFirst: () => this.#applied === 0, folder: record.folder, beforeMove };
    this.#materializer = new LocalMaterializer(parts.context, parts.mirror, known);
    this.#retries = new Retries(parts.timers, parts.onDue);
    this.#losses = new RecentDeletions(parts.timers);
    this.#back = new RestoredPaths(parts.mirror, record.sandboxId);
    this.#erasures = new OriginErasures(parts);
    const origin = (): string => this.#record.origin;
    this.#sources = { isOwn: this.#isOwn, stoodOn: new StoodOn({ ...parts, origin }) };
  }

  /** The record as it was last written, or as it will be written next. */
  get record(): ReplicaRecord {
    return this.#record;
  }

  get applied(): number {
    return this.#applied;
  }

  get conflicts(): readonly IdentifiedConflict[] {
    return this.#open;
  }

  /** True if the record in the log lags behind the reconciled events or the answered entries. */
  get isAhead(): boolean {
    return this.#applied > this.#record.applied || this.#parts.journal.settledTo > this.#answersTo;
  }

  /** Makes the next cycle compare everything. */
  compareAll(): void {
    this.#known = undefined;
  }

  /**
   * Like `compareAll`, but for use after a halt whose cause may be gone. The next cycle does not send the changes in
   * the journal, but only the differences that the comparison finds.
   */
  lookAgain(): void {
    this.#known = undefined;
    this.#isLookedAtAgain = true;
  }

  /** Makes the next steps restore what was deleted just before the halt. The sync must still be halted. */
  async wantBack(): Promise<void> {
    this.#back.want(await recentlyGone(this.#parts.context, this.#record.origin));
  }

  hurry(): void {
    this.#retries.hurry();
  }

  get blocked(): Change[] {
    return this.#open.flatMap(({ record: { path, reason, current, wanted } }) =>
      reason === "blocked" && this.#retries.isWaiting(path) ? [{ path, before: current, after: wanted }] : [],
    );
  }

  /** Makes the next step retry these paths, whose obstacles are gone. */
  unblock(paths: ReadonlySet<WorkspacePath>): void {
    this.#retries.changed(paths);
  }

  [Symbol.dispose](): void {
    this.#retries[Symbol.dispose]();
  }

  /**
   * Plans one step and carries it out. `accepted` is a person's decision about a halt. `isRestAccepted` is true if a
   * person has accepted a deletion at the origin, and further parts of this deletion may still arrive.
   */
  async run(accepted?: LossDecision, isRestAccepted = false): Promise<CycleOutcome> {
    const now = this.#parts.identity();
    const halt = await this.checkFolder(now, accepted);
    if (halt !== undefined) return { kind: "halted", halt };
    using _lease = await this.#parts.context.blobs.lease();
    await this.#settle();
    // Read `keeps` after settling, because settling can finish the step for which `keeps` was set.
    const decided = accepted ?? this.#keeps;
    this.#names = await this.#parts.names.refresh();
    // Compare everything if the names of secrets have changed, because the affected paths may have no new event.
    if (!isDeepStrictEqual(this.#names, this.#parts.rules.namedBefore)) this.#known = undefined;
    const began = this.#parts.context.now();
    const isWhole = await this.#erasures.leave(this.#standing());
    const planned = await this.#plan(decided);
    if (!(isWhole && planned.isWhole) && this.#isMoreComing(planned, began)) return { kind: "partial" };
    const { halted } = planned.losses;
    const found = halted.local ?? (isRestAccepted ? undefined : halted.remote);
    const waitMs = decided === undefined ? this.#losses.waitFor(planned.losses, found) : undefined;
    if (waitMs !== undefined) return { kind: "restless", waitMs };
    if (decided === undefined && found !== undefined) return { kind: "halted", halt: found };
    const isAccepted = decided === "deletions" || isRestAccepted;
    // If the mirror's index is wrong about the origin's files, the outcome `moved` makes the caller plan again.
    if (!(await this.#isProved(planned))) return { kind: "moved" };
    const outcome = await this.#carryOut(planned, now, isAccepted);
    if (outcome.kind === "done") await this.#erasures.follow(this.#standing(await this.#readConflicts()));
    return outcome;
  }

  #standing(disputed = this.#open) {
    const record = { ...this.#record, ...this.#progress() };
    return { record, applied: this.#applied, disputed: disputed.map(({ record: { path } }) => path) };
  }

  /** Returns a halt if the folder must not be touched. `accepted` is a person's decision about a halt. */
  async checkFolder(now = this.#parts.identity(), accepted?: LossDecision): Promise<ReplicaHalt | undefined> {
    const known = (accepted ?? this.#keeps) === undefined ? this.#record.folder : undefined;
    return (
      checkRoot(known, now) ?? (await this.#checkContents(known, now)) ?? (await this.#parts.apart?.(this.#record))
    );
  }

  /**
   * Returns a halt if the folder is on another device and its contents do not match. If the folder was already
   * recognised on its present device, its contents are not compared again.
   */
  async #checkContents(known: FolderIdentity | undefined, now: FolderIdentity | undefined) {
    if (now === undefined || known === undefined || !isElsewhere(known, now)) return undefined;
    if (this.#recognised !== undefined && !isElsewhere(this.#recognised, now)) return undefined;
    const { context, mirror, rules } = this.#parts;
    const sample = await sampleContents({ context, mirror, rules, applied: this.#applied });
    const isBorn = known.birth !== undefined && known.birth === now.birth;
    if (!isRecognised(sample, isBorn)) return ROOT_REPLACED;
    this.#recognised = now;
    return undefined;
  }

  async write(change: RecordChange = {}): Promise<void> {
    await this.#settle();
    const { paused, stopped, halted, ...rest } = { ...this.#record, ...this.#progress(), ...change };
    const record: ReplicaRecord = {
      ...rest,
      ...(paused === true ? { paused } : {}),
      ...(stopped === true ? { stopped } : {}),
      ...optional({ halted }),
    };
    this.#noteRecord(record, await this.#materializer.write(record), true);
  }

  /**
   * Makes the sync a new replica of an origin that has lost its events after `common`. First applies the lost events to
   * the folder, because the mirror still holds them. The first step of the new replica regards nothing as deleted. The
   * caller must reopen the sync. Throws `REFUSED` if a step halts, or if an open conflict is about events that the
   * origin has lost.
   */
  async rejoin(sandboxId: string, common: number): Promise<void> {
    // If the origin lost its events before anything came into the folder, the record names no origin yet.
    const { workspace: origin } = this.#parts.mirror;
    if (this.#record.origin !== origin) await this.write({ origin });
    await this.#catchUpWithHeld();
    refuseDisputed(await this.openConflicts(), common);
    // Rewind the mirror last, because the sync stays halted as long as the mirror has the lost events.
    await this.write({ sandboxId, applied: common, keeps: "both" });
    await this.#parts.mirror.rewind(common);
  }

  /** Applies to the folder all events that the mirror holds. Deletes nothing in the folder. */
  async #catchUpWithHeld(): Promise<void> {
    this.#isCatchingUp = true;
    this.#settledAt = await this.#readSettled();
    try {
      for (;;) {
        await capture(this.#parts.context, { cause: "capture" });
        this.compareAll();
        const outcome = await this.run();
        if (outcome.kind === "halted") throw haltedSync(outcome.halt);
        if (outcome.kind === "done") return;
      }
    } finally {
      this.#settledAt = new Map();
      this.#isCatchingUp = false;
    }
  }

  /**
   * True if, since the last step, a conflict was opened or settled, or the workspace was configured. Also true if there
   * are too many events to search. False if the next step compares everything anyway.
   */
  async isDisputedAnew(): Promise<boolean> {
    const { context } = this.#parts;
    await catchUp(context, { recover: false });
    if (this.#known === undefined) return false;
    const { seq: to } = await context.index.head();
    const since = await context.index.events({ from: this.#known + 1, to, limit: MOST_SINCE });
    return since.length === MOST_SINCE || since.some(({ recordId }) => /^(conflict|workspace):/.test(recordId));
  }

  /**
   * Maps the path of each settled conflict to the origin's last event that the settlement has taken into account. Up to
   * this event, the settlement decides about the path and everything beneath it. Without this map, the settled conflict
   * of a path that cannot be written would be opened again.
   */
  async #readSettled(): Promise<ReadonlyMap<WorkspacePath, number>> {
    const { origin } = this.#record;
    const settled = (await settledConflicts(this.#parts.context)).flatMap(({ record: { path, sync } }) =>
      sync?.origin === origin ? [[path, Math.max(sync.upstreamSeq, sync.since ?? 0)] as const] : [],
    );
    return new Map(settled);
  }

  async openConflicts(): Promise<readonly IdentifiedConflict[]> {
    await catchUp(this.#parts.context, { recover: false });
    return (this.#open = await this.#readConflicts());
  }

  /**
   * Records the path's present state, settles its conflict, and resolves to the conflict in its new state. Throws
   * `NOT_FOUND` if there is no conflict. Throws `REFUSED` in these cases:
   * - the sides do not merge;
   * - the sides are not those that the person saw (`resolution.from`);
   * - something on disk is in the way of the result;
   * - the mode is one-way, and `resolution` does not keep the origin's side.
   */
  async resolve(path: WorkspacePath, resolution: Resolution): Promise<IdentifiedConflict> {
    const { context, mirror, rules, editorFiles, notHeld } = this.#parts;
    if (rules.isOneWay && resolution.keep !== "upstream") throw oneWay(path);
    using _lease = await context.blobs.lease();
    await this.#settle();
    for (;;) {
      await capture(context, { cause: "capture", only: [path] });
      const conflicts = await this.openConflicts();
      const conflict = conflicts.find((one) => one.record.path === path);
      if (conflict === undefined) throw noConflict(path);
      const [local, applied] = [(await context.index.head()).seq, this.#applied];
      const reached = { applied, head: applied, local };
      const sources = { ...this.#sources, editorFiles, notHeld };
      const sides = { mirror, own: context.index, ...reached, conflicts, rules, ...sources };
      const paths = await readCycle(sides, [path]);
      const step = await resolveSyncConflict(context.blobs, { conflict, open: conflicts, paths }, resolution);
      const record = { ...this.#record, ...this.#progress() };
      const looked = new Set(paths.map((one) => one.path));
      if (!(await mirror.proves([...looked], applied))) continue;
      const report = await this.#materializer.materialise({ ...step, record, planned: { seq: local, looked } });
      if (report.moved.length > 0) continue;
      // If some change was applied, only folders with untracked files can be blocked. The conflicts of these folders
      // stay open, and the folders are retried.
      if (report.applied.length === 0 && report.blocked.length > 0) throw inTheWay(report.blocked);
      this.#record = record;
      const left = (await this.openConflicts()).find((one) => one.record.path === path);
      return left ?? step.conflicts[0] ?? conflict;
    }
  }

  /**
   * Finishes an operation that a crash has interrupted. If another caller has already finished the operation, adopts
   * the progress that the log records.
   */
  async #settle(): Promise<void> {
    const { context } = this.#parts;
    await settle(context);
    await catchUp(context, { recover: false });
    const logged = await findReplicaRecord(context);
    if (logged?.origin !== this.#record.origin) return;
    const { keeps, ...record } = this.#record;
    if (logged.keeps === undefined && keeps !== undefined) this.#record = record;
    const isSameFilter = isDeepStrictEqual(logged.filterTo, record.filterTo);
    if (logged.filteredTo === undefined && isSameFilter) this.#reconciled();
    this.#parts.rules.reconciledUnder({ ...this.#parts.rules.namedBefore, here: logged.ownNames ?? [] });
    if (logged.applied <= this.#applied) return;
    this.#applied = logged.applied;
    this.#known = undefined;
  }

  #reconciled(): void {
    const { filteredTo, ...record } = this.#record;
    if (filteredTo !== undefined) this.#record = record;
    this.#parts.rules.reconciled();
  }

  /** The sides on which the next step regards nothing as deleted. */
  get #keeps(): Kept | undefined {
    return this.#isCatchingUp ? "both" : this.#record.keeps;
  }

  async #readConflicts(): Promise<readonly IdentifiedConflict[]> {
    const isOurs = ({ record }: IdentifiedConflict): boolean => record.sync?.origin === this.#record.origin;
    return (await openConflicts(this.#parts.context)).filter(isOurs);
  }

  async #plan(decided: LossDecision | Kept | undefined): Promise<Planned> {
    const { context, mirror, journal, rules, nameRules, editorFiles, gitPaths, secrets, notHeld } = this.#parts;
    const [local, head, applied] = [(await context.index.head()).seq, mirror.head.seq, this.#applied];
    const conflicts = (this.#open = await this.#readConflicts());
    const reached = { applied, head, local };
    const isDeleting = (path: WorkspacePath, upstreamSeq: number): boolean =>
      journal.isOnItsWay(path, undefined) || this.#isSettled(path, upstreamSeq);
    const both = { mirror, own: context.index, ...reached, conflicts, rules, ...this.#sources };
    gitPaths.begin();
    const mayHaveLeft = (await mirror.lastErasure()) > applied;
    const ground = { ...both, editorFiles, gitPaths, secrets, notHeld, isDeleting, mayHaveLeft };
    const again = [...journal.again];
    const isPlain = decided === undefined && conflicts.length + again.length === 0 && !this.#isLookedAtAgain;
    const first = isPlain ? await planFirst({ ...ground, nameRules }) : undefined;
    if (first !== undefined) {
      await journal.scan();
      const nothing = { contents: [], paths: [], disputed: [], losses: NO_LOSSES };
      return { plan: first, ...nothing, local, head, again, isWhole: true };
    }
    const paths = await readCycle(ground, [...(await this.#touched({ local, head })), ...again]);
    await breatheAfter(paths.length);
    const merged = await settleMerges(context.blobs, decideCycle(paths, rules.mode));
    const collisions = await findHeldNames(merged.decisions, { rules: nameRules, index: context.index, local });
    const decisions = await holdFolders(holdCollisions(merged.decisions, collisions), { ...ground, journal });
    const losses = await weighDeletions(paths, decisions, {
      ...ground,
      recent: this.#losses.recent,
      since: () => eventBefore(context.index, context.now(), MEMORY_MS),
      ignored: (side) => ignoredOn(side, { ...both, context }),
      isSent: (path) => journal.isSent(path),
    });
    const sides = decided === "restore" ? sidesToRestore(losses) : new Set(sidesKept(decided));
    // Files that had disappeared may have reappeared by themselves. Their changes in the journal are not sent.
    const isBack = this.#isLookedAtAgain && decided === undefined && losses.halted.local === undefined;
    if (sides.has("local") || isBack) journal.skipTo(local);
    await journal.scan();
    journal.withdraw(conflicts.flatMap(({ record: { path, sync } }) => (sync === undefined ? [] : { ...sync, path })));
    await breatheAfter(paths.length);
    const upstream = new Map(paths.map((one) => [one.path, one.upstream?.seq ?? 0]));
    const isMeant = (path: WorkspacePath): boolean => this.#isSettled(path, upstream.get(path) ?? 0);
    // While nothing may be deleted (for example in the first step of a new replica), erased contents stay in the
    // folder.
    const leavesErased = decided !== "here" && decided !== "both";
    const plan = planCycle(await this.#back.decide({ paths, decisions, sides, leavesErased, isMeant }), {
      origin: this.#record.origin,
      applied,
      rules,
      paths,
      conflicts,
      collisions,
      waiting: this.#waiting(paths, conflicts),
      isOnItsWay: (path, state) => journal.isOnItsWay(path, state),
      keepsProposal: (path) => notHeld.keepsProposal(path),
      newId: context.newId,
      now: new Date(context.now()).toISOString(),
    });
    const found = { disputed: conflicts.map(({ record }) => record.path), contents: merged.contents };
    return { plan, paths, losses, local, head, again, isWhole: areWhole(paths), ...found };
  }

  /**
   * True if a conflict of the path, or of a folder above the path, was settled. The settlement must have taken into
   * account the origin's events up to `upstreamSeq`.
   */
  #isSettled(path: WorkspacePath, upstreamSeq: number): boolean {
    if (this.#settledAt.size === 0) return false;
    return [path, ...foldersAbove(path)].some((at) => (this.#settledAt.get(at) ?? -1) >= upstreamSeq);
  }

  async #touched({ local, head }: Pick<Planned, "local" | "head">): Promise<Set<WorkspacePath>> {
    const { context, mirror } = this.#parts;
    const { index } = context;
    const touched = new Set([...this.#open.map(({ record }) => record.path), ...this.#disputed, ...this.#back.paths]);
    for (const path of await mirror.touched(this.#applied, head)) touched.add(path);
    if (this.#known === undefined) {
      for (const path of await differingPaths([mirror, this.#applied], [index, local])) touched.add(path);
    } else if (this.#known < local) {
      const own = await index.touched(this.#known, local);
      this.#retries.changed(new Set(own));
      for (const path of await withoutOwn(index, own, { done: this.#done, local })) touched.add(path);
    }
    for (const path of this.#parts.editorFiles.besideOf(touched)) touched.add(path);
    return touched;
  }

  /** Returns the paths that wait for a retry of a failed write and have not changed at the origin since that write. */
  #waiting(paths: readonly CyclePath[], conflicts: readonly IdentifiedConflict[]): Set<WorkspacePath> {
    const upstream = new Map(paths.map(({ path, upstream: there }) => [path, there?.seq ?? 0]));
    const waiting = new Set<WorkspacePath>();
    for (const { record } of conflicts) {
      if (record.reason !== "blocked" || !this.#retries.isWaiting(record.path)) continue;
      if (upstream.get(record.path) === record.sync?.upstreamSeq) waiting.add(record.path);
    }
    return waiting;
  }

  /** True if the rest of a commit is probably on its way. The time that the plan took counts as waiting. */
  #isMoreComing({ local, head }: Planned, began: number): boolean {
    const isSame = this.#part.local === local && this.#part.head === head;
    const times = 1 + Math.max(0, this.#parts.context.now() - began) / PART_MS;
    this.#part = { local, head, times: isSame ? this.#part.times + times : 1 };
    return this.#part.times <= MOST_PARTS;
  }

  /**
   * True if the lines of the origin's log prove what the mirror's index says about the files that the plan uses, both
   * now and at the last agreement. A plan without paths (`planFirst`) uses all files.
   */
  async #isProved({ plan, paths, head }: Planned): Promise<boolean> {
    const { mirror } = this.#parts;
    if (plan.changes.length + plan.proposals.length + plan.conflicts.length === 0) return true;
    if (paths.length === 0) return mirror.proves("all", head);
    const all = paths.map(({ path }) => path);
    const agreed = this.#applied;
    return (agreed === 0 || (await mirror.proves(all, agreed))) && mirror.proves(all, head);
  }

  async #carryOut(planned: Planned, folder: FolderIdentity | undefined, isAccepted: boolean): Promise<CycleOutcome> {
    const { plan, contents, paths, local, head, losses } = planned;
    const { changes, proposals, conflicts } = plan;
    const isNothing = changes.length + proposals.length + conflicts.length === 0;
    const { folder: known } = this.#record;
    const isNew = known === undefined || checkRoot(known, folder) !== undefined || isElsewhere(known, folder);
    const { keeps: _ends, filteredTo, ...before } = this.#record;
    const names = this.#names;
    const record = { ...before, ...this.#progress(), ownNames: names.here, applied: head, ...optional({ folder }) };
    let report: UpstreamReport | undefined;
    const isRecordDue = (this.#keeps ?? filteredTo) !== undefined || isNew || !this.#knowsNames;
    if (!isNothing || isRecordDue || (await this.#isNews(planned))) {
      const looked = new Set(paths.map(({ path }) => path));
      const step = { record, changes, proposals, conflicts, contents, planned: { seq: local, looked } };
      report = await this.#materializer.materialise(step, this.#parts.onProgress);
      if (report.moved.length > 0) return { kind: "moved" };
      this.#noteRecord(record, report, isNewsOnly(plan));
      this.#noteTries(changes, report);
    }
    this.#reconciled();
    this.#parts.rules.reconciledUnder(names);
    await this.#advance(planned, report);
    this.#losses.note(losses, isAccepted);
    this.#back.done(paths);
    const told = toldConflicts(conflicts, this.#open, report?.blocked ?? []);
    const isMore = !isNothing && !(report !== undefined && isOnlyTaken(plan, local, report));
    return { kind: "done", applied: report?.applied.length ?? 0, conflicts: told, isMore };
  }

  async #advance(
    { plan, paths, local, head, again, disputed }: Planned,
    report: UpstreamReport | undefined,
  ): Promise<void> {
    const { mirror, journal } = this.#parts;
    this.#applied = head;
    this.#known = local;
    this.#isLookedAtAgain = false;
    this.#done = undefined;
    this.#disputed = disputed;
    journal.decided(again, journal.refused.size === 0 ? [] : agreedPaths({ paths, plan }, report));
    journal.release(local);
    if (report !== undefined) this.#advanceOver(plan, local, report);
    if (this.#record.applied === head) await mirror.applied(head);
  }

  /**
   * Skips the events that the step itself has recorded. If the step only applied changes of the origin, none of these
   * events is sent to the origin.
   */
  #advanceOver(plan: CyclePlan, local: number, report: UpstreamReport): void {
    const { from, seq, applied } = report;
    if (from === local) this.#known = seq;
    else this.#done = { paths: new Set(applied), upTo: seq };
    if (from === local && isNewsOnly(plan)) this.#parts.journal.passOver(local, seq);
  }

  #noteTries(tried: CyclePlan["changes"], { blocked }: UpstreamReport): void {
    const failed = new Set(blocked.map(({ path }) => path));
    for (const { path } of tried) {
      if (failed.has(path)) this.#retries.failed(path);
      else this.#retries.forget(path);
    }
  }

  /**
   * Takes the record that was written to the log. `isNews` is true if the events that were written with the record need
   * not be sent to the origin. If all earlier events were answered, these events then count as answered, too.
   */
  #noteRecord(record: ReplicaRecord, { from, seq }: UpstreamReport, isNews: boolean): void {
    this.#record = record;
    this.#answersTo = isNews && record.settled >= from ? seq : record.settled;
  }

  /** True if at least one new event of the origin is not an echo of this replica's own work. */
  async #isNews({ paths, head }: Planned): Promise<boolean> {
    for (const { upstream } of paths) {
      if (upstream === undefined || upstream.seq <= this.#applied || upstream.seq > head) continue;
      if (!(await this.#isOwn(upstream.seq))) return true;
    }
    return false;
  }

  readonly #isOwn = async (seq: number): Promise<boolean> =>
    (await this.#parts.mirror.record(seq))?.replica?.id === this.#record.sandboxId;

  get #knowsNames(): boolean {
    const { ownNames: here = [], originNames: there = [] } = this.#record;
    return isDeepStrictEqual({ here, there }, this.#names);
  }

  #progress(): Pick<ReplicaRecord, "applied" | "settled" | "originNames" | "ownNames"> {
    const { journal, rules } = this.#parts;
    const settled = Math.max(this.#record.settled, journal.settledTo);
    return { applied: this.#applied, settled, originNames: this.#names.there, ownNames: rules.namedBefore.here };
  }
}
