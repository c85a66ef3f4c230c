import { createHash } from "node:crypto";
import type { LogEventShape } from "../../src/api/shapes.ts";
import { decodeAction, type ActionRecord } from "../../src/core/records/action-record.ts";
import { decodeConflict } from "../../src/core/records/conflict-record.ts";
import type { RecordBody } from "../../src/core/values/event.ts";
import { decodeFile, pathOfRecordId, type FileRecord } from "../../src/core/values/file-record.ts";
import { decodePrune, type PruneRecord } from "../../src/core/records/prune-record.ts";
import { decodeIntent, decodeSession, type IntentRecord, type SessionRecord } from "../../src/core/records/records.ts";
import { holdsSeq, type SeqRanges } from "../../src/core/values/seq-ranges.ts";
import { decodeTransaction, type TransactionRecord } from "../../src/core/records/transaction-record.ts";
import { found } from "./model-expect.ts";
import { shown } from "./model-roots.ts";
import { ownerBy, type OpenAction, type OpenTransaction, type Owner } from "./model-owner.ts";
import type { State } from "./model-tree.ts";
import type { Veil } from "./model-veil.ts";
import { fit, takeBack, type Meant, type Step, type Undo } from "./model-undo.ts";

/** A recorded change of one path, as the log has it. */
export interface FileStep extends Step {
  readonly record: FileRecord;
}

/** An action as the log has it. */
export interface KnownAction extends OpenAction {
  readonly record: ActionRecord;
  readonly hash: string;
  /** The recorded files at the start of the action. */
  readonly tree: ReadonlyMap<string, string>;
  /** The times of the first and of the last event of the action (milliseconds since 1970). */
  readonly ts: number;
  readonly lastTs: number;
}

/**
 * The time after which an action or a session that no process owns counts as over, if nothing was recorded for it
 * (milliseconds).
 */
export const UNOWNED_MS = 86_400_000;

/** A transaction as the log has it. `tree`: the recorded files at its start. */
export interface KnownTransaction extends OpenTransaction {
  readonly record: TransactionRecord;
  readonly lastSeq: number;
  readonly tree: ReadonlyMap<string, string>;
}

/** The state at the event that opened an intent: the recorded files, the number of steps, and the seq of the event. */
interface OpenIntent {
  readonly tree: ReadonlyMap<string, string>;
  readonly steps: number;
  readonly seq: number;
}

/** The process that records now, and the present time (milliseconds since 1970). */
interface Present {
  readonly pid: number;
  readonly now: number;
}

/** An undo of selected work. */
interface Took {
  /** The events that the undo has undone. The settlement of a conflict adds events, or removes them. */
  readonly seqs: Set<number>;
  /** The seq of the event that closed the undo. */
  readonly at: number;
  /** The events of paths that met a conflict, and so were not undone. */
  readonly met: SeqRanges;
  readonly label: string;
}

/** An undo of a whole operation `target`, and the events that it has undone. */
interface WholeUndo {
  readonly id: string;
  readonly target: string;
  readonly seqs: ReadonlySet<number>;
  readonly at: number;
}

/** A redo. `target`: an undo of selected work, or a whole operation. */
interface Redo {
  readonly id: string;
  readonly target: string;
  readonly at: number;
}

/** What the model knows beforehand about the step that is being performed. */
export interface Asked {
  /**
   * Returns the files that a restore, rollback or resolution must leave, given the files before it. If absent, or if it
   * returns `undefined`, the result is not checked.
   */
  readonly restores?: (before: ReadonlyMap<string, string>) => ReadonlyMap<string, string> | undefined;
  /** True for an `undo` without a selection. It undoes the next operation of the undo stack. */
  readonly isStep?: true;
  /**
   * The id of an action that is being finished although the engine already counts it as abandoned. Its changes still
   * belong to it.
   */
  readonly late?: string;
}

/**
 * The history as the model sees it, read from the log as the log grows. The model checks the owner of every recorded
 * change (`ownerBy`), and the files that every undo, redo, restore and resolution leaves (`takeBack`, `fit`), by rules
 * of its own.
 *
 * The log says what the engine claims to have done. `ModelPlay` compares it with the disk.
 *
 * The model must know which changes are undone at any time. An undo, a redo of it, an undo of that redo and so on may
 * each concern only some of the paths. So nothing stores "undone" as a flag: `#holdsAt` computes from all undos and
 * redos whether an undo still holds at a path.
 */
export class ModelHistory {
  /** Every content that was seen, by its SHA-256. The log has only hashes, and `stateOf` needs the contents. */
  readonly #texts = new Map<string, string>();
  /** The files as recorded at the head of the log. */
  readonly #recorded: Map<string, string>;
  steps: FileStep[] = [];
  readonly actions = new Map<string, KnownAction>();
  readonly transactions = new Map<string, KnownTransaction>();
  readonly runs = new Map<string, SessionRecord & { readonly seq: number; readonly lastSeq: number }>();
  /** The sessions of agents, with the state and the time of their last event. */
  readonly #agents = new Map<string, { readonly state: string; readonly ts: number }>();
  readonly conflicts = new Map<string, ReturnType<typeof decodeConflict>>();
  /** By undo: the paths that must have met a conflict in it. `read` compares them with the recorded conflicts. */
  readonly #unmerged = new Map<string, ReadonlySet<string>>();
  readonly #intents = new Map<string, OpenIntent>();
  /**
   * Undos of selected work by their ids, including those that were redone. The settlement of conflicts changes their
   * `seqs`.
   */
  readonly #undos = new Map<string, Took>();
  /** Undos of selected work by their ids, as they were when they ended. */
  readonly #everTook = new Map<string, Took>();
  /** Undos of whole operations, including those that were redone, in the order of the log. */
  #whole: WholeUndo[] = [];
  #redos: Redo[] = [];
  prunings: PruneRecord[] = [];
  seq = 0;
  #hash = "";
  readonly counts = { owned: 0, ambiguous: 0, exact: 0, impure: 0, undos: 0, conflicts: 0 };

  readonly veil: Veil;
  /** Every state that was ever recorded of a path, as `<path>\0<state>`. */
  readonly #everRecorded = new Set<string>();

  constructor(baseline: ReadonlyMap<string, string>, veil: Veil) {
    this.#recorded = new Map(baseline);
    this.veil = veil;
    for (const [path, state] of baseline) this.#everRecorded.add(`${path}\0${state}`);
  }

  /** True if this state of the path was ever recorded. */
  wasRecorded(path: string, state: string): boolean {
    return this.#everRecorded.has(`${path}\0${state}`);
  }

  /** The files as recorded at the head of the log. */
  get recorded(): ReadonlyMap<string, string> {
    return this.#recorded;
  }

  /** Notes the contents of these files, so that the model can recognise them by their hashes. */
  see(tree: ReadonlyMap<string, string>): void {
    for (const state of tree.values()) {
      const text = state.startsWith("-> ") ? state.slice(3) : /^\d+ (.*)$/s.exec(state)?.[1];
      if (text !== undefined) this.#texts.set(createHash("sha256").update(text).digest("hex"), text);
    }
  }

  /**
   * True if the model has seen this content on disk, or computed it as what an undo would write. Also true for no
   * content.
   */
  knows(hash: string | undefined): boolean {
    return hash === undefined || this.#texts.has(hash);
  }

  /**
   * Reads new events of the log, and checks them. They must continue the chain. `pid`: the process that recorded them.
   */
  read(events: readonly LogEventShape[], pid: number, asked: Asked = {}): void {
    for (const event of events) {
      found(event.seq).toBe(this.seq + 1);
      found(event.prev_hash ?? "").toBe(this.#hash);
      this.seq = event.seq;
      this.#hash = event.hash;
      this.#take(event, pid, asked);
    }
    for (const [undo, paths] of this.#unmerged) {
      const met = [...this.conflicts.values()].filter((one) => one.undo === undo).map((one) => one.path);
      found({ undo, met: met.sort() }).toEqual({ undo, met: [...paths].sort() });
    }
    this.#unmerged.clear();
  }

  #take(event: LogEventShape, pid: number, asked: Asked): void {
    const body = event.record as RecordBody;
    const colon = event.record_id.indexOf(":");
    const [kind, id] = [event.record_id.slice(0, colon), event.record_id.slice(colon + 1)];
    if (kind.startsWith("file")) this.#file(event, pid, asked);
    else if (kind === "action") this.#action(id, event);
    else if (kind === "transaction") this.#transaction(id, decodeTransaction(body));
    else if (kind === "session") {
      const record = decodeSession(body);
      if (record.kind === "run") {
        this.runs.set(id, { ...record, seq: this.runs.get(id)?.seq ?? event.seq, lastSeq: event.seq });
      } else this.#agents.set(id, { state: record.state, ts: Date.parse(event.ts) });
    } else if (kind === "conflict") {
      const record = decodeConflict(body);
      this.conflicts.set(id, { ...record, path: shown(record.path) });
      this.#settle(record.undo ?? "", shown(record.path), record.settled === "undo" || record.settled === "merged");
    } else if (kind === "prune") this.prunings.push(decodePrune(body));
    else if (kind === "intent") this.#intent(id, decodeIntent(body), asked);
  }

  #action(id: string, event: LogEventShape): void {
    const decoded = decodeAction(event.record as RecordBody);
    const record = { ...decoded, paths: decoded.paths.map(shown) };
    const known = this.actions.get(id);
    this.actions.set(id, {
      id,
      record,
      seq: known?.seq ?? event.seq,
      hash: known?.hash ?? event.hash,
      depth: known?.depth ?? event.recursion_depth,
      tree: known?.tree ?? new Map(this.#recorded),
      ts: known?.ts ?? Date.parse(event.ts),
      lastTs: Date.parse(event.ts),
    });
  }

  /**
   * True if the action is open and can still be finished. If a process owns the action, this process must be the
   * present one. Otherwise the action must be less than a day old, because anybody may finish it until then.
   */
  isGoingOn({ record, ts }: KnownAction, { now, pid }: Present): boolean {
    return record.state === "open" && (record.pid === null ? now - ts < UNOWNED_MS : record.pid === pid);
  }

  /**
   * True if work is in progress that could not be undone without the events that are in the log now: an action, a
   * transaction, or a session that was active within a day. The archive must not be dropped then.
   */
  isBusy(present: Present): boolean {
    const going = [...this.actions.values()].filter((one) => this.isGoingOn(one, present));
    if (going.length > 0) return true;
    if ([...this.transactions.values()].some((one) => one.record.status === "active")) return true;
    const isRecent = (ts: number): boolean => present.now - ts < UNOWNED_MS;
    return [...this.#agents].some(([id, { state, ts }]) => {
      const own = [...this.actions.values()].filter((one) => one.record.session === id);
      return state === "running" && (isRecent(ts) || own.some((one) => isRecent(activeAt(one))));
    });
  }

  #transaction(id: string, record: TransactionRecord): void {
    const known = this.transactions.get(id);
    this.transactions.set(id, { id, record, lastSeq: this.seq, tree: known?.tree ?? new Map(this.#recorded) });
  }

  /**
   * Records a change of a path. The state must differ from the one before. If no undo or restore made the change, its
   * owner must be the one that the model computes.
   */
  #file(event: LogEventShape, pid: number, { late }: Asked): void {
    const recorded = pathOfRecordId(event.record_id);
    if (recorded === undefined) return;
    const path = shown(recorded);
    const record = decodeFile(path, event.record as RecordBody);
    const after = this.stateOf(record);
    const before = this.#recorded.get(path);
    found(after, `${path} is recorded as it was`).not.toBe(before);
    const present = { pid, now: Date.parse(event.ts) };
    if (record.intent === undefined) this.#checkOwner({ path, before, after, record, seq: event.seq }, present, late);
    this.steps.push({ path, seq: event.seq, before, after, record });
    if (after === undefined) this.#recorded.delete(path);
    else this.#recorded.set(path, after);
    if (after !== undefined) this.#everRecorded.add(`${path}\0${after}`);
  }

  /** Returns the state of a recorded entry. Its content must be one that the model has seen. */
  stateOf({ entry }: Pick<FileRecord, "entry">): State {
    if (entry === undefined || entry.kind === "dir") return entry?.kind;
    const text = this.#texts.get(entry.hash ?? "");
    found(text, `${entry.path} holds what never was on disk`).toBeDefined();
    return entry.kind === "symlink" ? `-> ${text}` : `${entry.mode.toString(8)} ${text}`;
  }

  /**
   * Compares the recorded owner of a change with `ownerBy` over the work that was in progress: actions, runs and
   * transactions that were open and whose process is alive or that have none. An action that is finished late counts as
   * well (`late`).
   */
  #checkOwner(step: FileStep, present: Present, late: string | undefined): void {
    const isAlive = (owner: number | null): boolean => owner === null || owner === present.pid;
    const owner = ownerBy(step, {
      actions: [...this.actions.values()].filter((one) => this.isGoingOn(one, present) || one.id === late),
      runs: [...this.runs].flatMap(([id, one]) =>
        one.state === "running" && isAlive(one.pid) ? [{ id, within: one.within }] : [],
      ),
      transactions: [...this.transactions.values()].filter(
        (one) => one.record.status === "active" && isAlive(one.record.pid),
      ),
    });
    const { actor, action, transaction, session, candidates } = step.record;
    const given: Owner = {
      actor,
      ...(action === undefined ? {} : { action }),
      ...(transaction === undefined ? {} : { transaction }),
      ...(session === undefined ? {} : { session }),
      ...(candidates === undefined ? {} : { candidates: [...candidates].sort() }),
    };
    found({ path: step.path, seq: step.seq, ...given }).toEqual({ path: step.path, seq: step.seq, ...owner });
    this.counts[owner.candidates === undefined ? "owned" : "ambiguous"] += 1;
  }

  /**
   * At the start of an operation that brings back an earlier state, notes the recorded files. At its end, compares the
   * recorded files with those that the model computes.
   */
  #intent(id: string, intent: IntentRecord, asked: Asked): void {
    if (intent.state === "open") {
      this.#intents.set(id, { tree: new Map(this.#recorded), steps: this.steps.length, seq: this.seq });
      return;
    }
    const begun = this.#intents.get(id);
    // An operation that has nothing to do records only the event that closes the intent.
    const before = begun ?? { tree: new Map(this.#recorded), steps: this.steps.length, seq: this.seq };
    if (intent.state !== "done") return;
    if (intent.selection !== undefined && this.veil.isEmpty)
      found(intent.skipped ?? 0, `${intent.summary} left something alone`).toBe(0);
    this.counts.undos += 1;
    if (intent.kind === "restore" || intent.kind === "resolve") {
      const wanted = asked.restores?.(before.tree);
      if (wanted !== undefined) this.#expectTree(wanted, intent.summary);
    } else if (intent.selection !== undefined) this.#selective(id, intent, { before, asked });
    else if (intent.kind === "undo") this.#undo(id, intent, before);
    else this.#redo(id, intent.target ?? "", before);
  }

  #expectTree(wanted: ReadonlyMap<string, string>, what: string): void {
    const [recorded, expected] = [this.veil.clear(this.#recorded), this.veil.clear(wanted)];
    found({ what, tree: sorted(recorded) }).toEqual({ what, tree: sorted(expected) });
  }

  /**
   * Checks an undo of selected work, and notes which events it has undone. `before`: the state at its start.
   *
   * Three things must agree with `takeBack`: the files that the undo leaves, the paths that met a conflict, and the
   * events that the undo says it has undone. The last two are skipped if paths are hidden.
   */
  #selective(
    id: string,
    intent: IntentRecord,
    { before, asked }: { readonly before: OpenIntent; readonly asked: Asked },
  ): void {
    const label = intent.selection ?? "";
    const history = this.steps.slice(0, before.steps);
    // If an `undo` without a selection follows a redo, it repeats the undo that was redone (see `#ofUndo`). The intent
    // names this undo in `takes` or `passes`. It names none if the work was given up in the meantime, so the last undo
    // with the same label counts then. Exception: an operation that has recorded further changes since the undo is
    // undone like one that was never undone.
    const operation = /^operation (.*)$/.exec(label)?.[1];
    const hasGoneOn = ({ at }: Took): boolean =>
      operation !== undefined && history.some((step) => step.seq > at && this.#isOf(operation, step));
    const named = [...(intent.takes ?? []), ...(intent.passes ?? [])].map((one) => this.#everTook.get(one));
    const known = [...named, ...[...this.#everTook.values()].toReversed()].find((one) => one?.label === label);
    const again = asked.isStep !== true || known === undefined || hasGoneOn(known) ? undefined : known;
    const undoAgain = [...this.#everTook].find(([, one]) => one === again)?.[0] ?? "";
    const own = again === undefined ? this.ownOf(label) : this.#ofUndo(undoAgain, again);
    // Changes of paths that the undo left alone are not undone.
    const alone = this.#alone(intent.left);
    const meant = history.filter((step) => holdsSeq(intent.took ?? [], step.seq) && !alone.has(step.path));
    const took = new Set(meant.map((step) => step.seq));
    const transaction = /^transaction (.*)$/.exec(label)?.[1];
    const wanted = own === undefined ? undefined : takeBack(history, own, before.tree);
    if (wanted !== undefined) {
      this.#expectTree(wanted.tree, intent.summary);
      if (this.veil.isEmpty) this.#unmerged.set(id, wanted.unmerged);
      this.counts.conflicts += wanted.unmerged.size;
      this.see(wanted.offered);
      // Changes of paths that did not merge, or whose folder had to stay, are not undone.
      const isLeft = (path: string): boolean => wanted.stayed.has(path) || wanted.unmerged.has(path);
      const taken = history.filter((step) => wanted.own.includes(step.seq) && !isLeft(step.path));
      if (this.veil.isEmpty) found({ label, took: [...took] }).toEqual({ label, took: taken.map((step) => step.seq) });
    } else if (transaction !== undefined) this.#wholeTransaction(transaction, history);
    const { met = [] } = intent;
    this.#undos.set(id, { seqs: took, met, label, at: this.seq });
    this.#everTook.set(id, { seqs: new Set(took), met, label, at: this.seq });
  }

  #alone(left: IntentRecord["left"]): ReadonlySet<string> {
    return new Set<string>(left?.map((path) => shown(path)));
  }

  /**
   * Checks the rollback of a transaction without a session, to which everybody's changes belong. `takeBack` does not
   * cover this rollback. If all changes since the start of the transaction belong to it (or were made by undos), the
   * files must be exactly those at its start. Otherwise nothing is checked. `counts` tells how often each case
   * occurred.
   */
  #wholeTransaction(id: string, history: readonly FileStep[]): void {
    const transaction = this.transactions.get(id);
    const family = this.#family(id);
    const within = history.filter((step) => step.seq > (transaction?.record.fromSeq ?? 0));
    const isPure = within.every(({ record }) => {
      if (record.intent !== undefined) return true;
      const of = record.action === undefined ? record.transaction : this.actions.get(record.action)?.record.transaction;
      return of !== undefined && family.has(of);
    });
    this.counts[isPure ? "exact" : "impure"] += 1;
    if (isPure && transaction !== undefined) this.#expectTree(transaction.tree, `rollback of ${id}`);
  }

  /** Returns the ids of a transaction and of all savepoints in it. */
  #family(id: string): Set<string> {
    const family = new Set([id]);
    for (const one of this.transactions.values())
      if (one.record.parent !== undefined && family.has(one.record.parent)) family.add(one.id);
    return family;
  }

  /**
   * Checks the undo of a whole operation, and notes which events it has undone. Only the steps of the operation that
   * are not yet undone are undone. Nothing is passed over.
   *
   * If the operation was redone before, the undo writes only those paths that the redo had written (see
   * `#writtenByRedos`). It nevertheless counts as having undone all steps, except those of paths that it left alone
   * (hidden paths, for example). The redo may have made folders above the
   * paths of the operation, because others had removed them. The undo removes these folders, too.
   */
  #undo(id: string, { target = "", left }: IntentRecord, before: OpenIntent): void {
    const history = this.steps.slice(0, before.steps);
    const isMeant = (step: FileStep): boolean => this.#isOf(target, step) && !this.isTaken(step);
    const own = takeBack(history, { isMeant: isMeant as (step: Step) => boolean, undos: [] }, before.tree);
    const written = this.#writtenByRedos(target);
    const ofTarget = new Set(history.filter((step) => this.#isOf(target, step)).map(({ path }) => path));
    const isWritten = (step: Step): boolean =>
      written?.some((one) => one.path === step.path) === true &&
      (isMeant(step as FileStep) || (!ofTarget.has(step.path) && written.includes(step as FileStep)));
    const wanted = written === undefined ? own : takeBack(history, { isMeant: isWritten, undos: [] }, before.tree);
    this.#expectTree(wanted.tree, `undo of ${target}`);
    const alone = this.#alone(left);
    const seqs = own.own.filter((seq) => !history.some((step) => step.seq === seq && alone.has(step.path)));
    this.#whole.push({ id, target, seqs: new Set(seqs), at: this.seq });
  }

  /**
   * Returns what the redos of an operation wrote since its last undo whose writes are not undone. If a redo
   * found a path already in the wanted state, it wrote nothing there, and then the next undo writes nothing there
   * either. Returns `undefined` if there is no such redo, or if something that these redos wrote is undone.
   */
  #writtenByRedos(target: string): readonly FileStep[] | undefined {
    const writtenBy = (id: string): FileStep[] => this.steps.filter(({ record }) => record.intent === id);
    const isTaken = (step: FileStep): boolean => this.isTaken(step);
    const undos = this.#whole.filter((one) => one.target === target && !writtenBy(one.id).some(isTaken));
    const last = Math.max(0, ...undos.map(({ at }) => at));
    const redos = this.#redos.filter((one) => one.target === target && one.at > last);
    const written = redos.map(({ id }) => writtenBy(id)).filter((steps) => steps.length === 0 || !steps.every(isTaken));
    return written.length === 0 || written.flat().some(isTaken) ? undefined : written.flat();
  }

  /**
   * Checks a redo. The redo of an undo of selected work undoes what that undo wrote, merged with later changes. The
   * redo of a whole operation gives each path the state that it had right before the undos of the operation, without a
   * merge.
   */
  #redo(id: string, target: string, before: OpenIntent): void {
    const history = this.steps.slice(0, before.steps);
    if (this.#undos.has(target)) {
      const left = this.#leftByRedo(target);
      const isMeant = (step: Step): boolean => (step as FileStep).record.intent === target && !left.has(step.path);
      this.#expectTree(takeBack(history, { isMeant, undos: [] }, before.tree).tree, `redo of ${target}`);
    } else {
      // Only paths that the undos wrote are redone. If an undo found a path already in the earlier state, it wrote
      // nothing there. For each path, the latest undo that wrote it and still holds there decides, with the state
      // before its first write.
      const again = new Map<string, State>();
      for (const undo of this.#whole.filter((one) => one.target === target).toReversed()) {
        const own = history.filter(
          ({ record, path }) => record.intent === undo.id && this.#holdsAt(undo, target, path),
        );
        const firsts = new Map(own.toReversed().map((step) => [step.path, step.before]));
        for (const [path, was] of firsts) if (!again.has(path)) again.set(path, was);
      }
      this.#expectTree(fit(before.tree, again).tree, `redo of ${target}`);
    }
    this.#redos.push({ id, target, at: this.seq });
  }

  /**
   * True if an undo still holds at a path: the changes that it has undone there are still undone. It no longer holds if
   * what it wrote there was undone, or if it was redone there by a redo that itself still holds. `target`: the
   * operation that redos of this undo name. Redos after the event `upTo` are ignored.
   */
  #holdsAt(
    { id, at }: Pick<WholeUndo, "id" | "at">,
    target: string,
    path: string,
    upTo = Number.POSITIVE_INFINITY,
  ): boolean {
    const stands = (one: string): boolean =>
      !this.#unsettled(one).has(path) &&
      !this.steps.some((step) => step.record.intent === one && step.path === path && this.isTaken(step));
    // If everything that a redo wrote was undone, the redo holds nowhere, not even at paths where it wrote nothing.
    // Exception: a redo that met a conflict still holds at paths that it found already in the wanted state.
    const isGone = (one: string): boolean => {
      const own = this.steps.filter((step) => step.record.intent === one);
      const hasMet = this.#metBy(one).length > 0;
      if ((own.length === 0 && !hasMet) || !own.every((step) => this.isTaken(step))) return false;
      if (!hasMet) return true;
      const gone = new Set([...this.#unsettled(one), ...own.map((step) => step.path)]);
      return this.steps.every((step) => step.record.intent !== target || gone.has(step.path));
    };
    const holds = (one: string): boolean => stands(one) && !isGone(one);
    if (!stands(id) || this.#isAllUndone(id)) return false;
    return !this.#redos.some((one) => one.target === target && one.at > at && one.at <= upTo && holds(one.id));
  }

  /**
   * True if everything that an undo wrote was undone. It then holds nowhere, not even at paths where it wrote nothing.
   * Exception: an undo with a conflict that was settled in its favour still holds at that path.
   */
  #isAllUndone(undo: string): boolean {
    const own = this.steps.filter((step) => step.record.intent === undo);
    const isForUndo = (one: { readonly undo: string; readonly settled?: string }): boolean =>
      one.undo === undo && (one.settled === "undo" || one.settled === "merged");
    if (own.length === 0 || [...this.conflicts.values()].some(isForUndo)) return false;
    return own.every((step) => this.isTaken(step));
  }

  /**
   * Returns the paths that the redo of an undo of selected work leaves as they are. There are two cases. First: no
   * change of the path is undone by this undo alone, because other undos of it hold as well. Second: the undo was
   * redone at the path before, and still holds at other paths.
   */
  #leftByRedo(undo: string): ReadonlySet<string> {
    const took = this.#undos.get(undo);
    const [own, others, free] = [new Set<string>(), new Set<string>(), new Set<string>()];
    for (const step of this.steps) {
      if (took === undefined || !(took.seqs.has(step.seq) || holdsSeq(took.met, step.seq))) continue;
      const holders = this.#holdersOf(step);
      if (holders.length === 0) free.add(step.path);
      else (holders.every((one) => one === undo) ? own : others).add(step.path);
    }
    const left = own.size === 0 ? [...others] : [...others, ...free];
    return new Set(left.filter((path) => !own.has(path)));
  }

  /** Returns the ids of all undos that have undone this step and still hold at its path. */
  #holdersOf({ seq, path }: FileStep): readonly string[] {
    const parts = [...this.#undos].map(([id, one]) => ({ id, target: id, seqs: one.seqs, at: one.at }));
    return [...parts, ...this.#whole]
      .filter((one) => one.seqs.has(seq) && this.#holdsAt(one, one.target, path))
      .map(({ id }) => id);
  }

  /**
   * Returns the paths where a redo met a conflict that was not settled in its favour, and where it wrote nothing. The
   * redo does not hold there.
   */
  #unsettled(redo: string): ReadonlySet<string> {
    const isOpen = ({ settled }: { readonly settled?: string }): boolean => settled !== "undo" && settled !== "merged";
    const written = new Set(this.steps.flatMap(({ record, path }) => (record.intent === redo ? path : [])));
    const paths = this.#metBy(redo).flatMap((one) => (isOpen(one) && !written.has(one.path) ? one.path : []));
    return new Set(paths);
  }

  /** Returns the conflicts that a redo met. */
  #metBy(redo: string) {
    if (!this.#redos.some(({ id }) => id === redo)) return [];
    return [...this.conflicts.values()].filter(({ undo }) => undo === redo);
  }

  /**
   * Returns the steps that a repeated undo is about: those of the undo that was redone, including those that met a
   * conflict in it. For a selection of everybody's work (a path, everything since a moment, a transaction without a
   * session), steps for which the undo still holds are left out. For other selections, `#without` does the same.
   */
  #ofUndo(id: string, { seqs, met, label, at }: Took): Meant {
    const transaction = this.transactions.get(label.slice("transaction ".length));
    const isEverybodys = transaction !== undefined && transaction.record.session === undefined;
    const isAll = isEverybodys || /^(?:file|since|to) /.test(label);
    // At a path where the redo met a conflict, the undo still holds.
    const holds = ({ seq, path }: Step): boolean =>
      this.#undos.get(id)?.seqs.has(seq) === true && this.#holdsAt({ id, at }, id, path);
    const isMeant = (step: Step): boolean => (seqs.has(step.seq) || holdsSeq(met, step.seq)) && !(isAll && holds(step));
    return isAll ? { isMeant, undos: [] } : this.#without(isMeant);
  }

  /**
   * Returns the ids of all operations to which a change belongs, including those around its owner: runs, transactions,
   * and the parents of transactions.
   */
  #owners({ session, action, transaction, intent }: FileRecord): Set<string> {
    const owners = new Set([session, action, transaction, intent].filter((one) => one !== undefined));
    for (const id of owners) {
      const { run, transaction: within } = this.actions.get(id)?.record ?? {};
      const parent = this.transactions.get(id)?.record.parent;
      for (const one of [run, within, parent]) if (one !== undefined) owners.add(one);
    }
    return owners;
  }

  /**
   * True if a change belongs to an operation. The changes that an action made after its transaction was committed, or
   * after its run had ended, do not belong to that transaction or run. They can only be undone as an operation of their
   * own, that of the action.
   */
  #isOf(target: string, { seq, record }: FileStep): boolean {
    const { run, transaction } = this.actions.get(target)?.record ?? {};
    let outer = this.transactions.get(transaction ?? "");
    while (outer?.record.parent !== undefined) outer = this.transactions.get(outer.record.parent);
    const committed = outer?.record.status === "committed" ? outer.lastSeq : 0;
    const fromSeq = Math.max(committed, this.runs.get(run ?? "")?.lastSeq ?? 0);
    const toSeq = this.transactions.get(target)?.lastSeq ?? this.runs.get(target)?.lastSeq ?? seq;
    return seq > fromSeq && seq <= toSeq && this.#owners(record).has(target);
  }

  /**
   * Returns the selected steps together with all undos, of which `takeBack` passes over those that hold now. The undos
   * are in the order of the log.
   */
  #without(isMeant: (step: FileStep) => boolean): Meant {
    const parts = [...this.#undos].map(([id, one]) => ({ ...one, id, target: id, hasConflict: one.met.length > 0 }));
    const whole = this.#whole.map((one) => ({ ...one, hasConflict: false }));
    const undos = [...parts, ...whole]
      .toSorted((a, b) => a.at - b.at)
      .map((one): Undo => {
        const took = ({ seq, path }: Step): boolean => one.seqs.has(seq) && this.#holdsAt(one, one.target, path);
        return { took, wrote: (step) => (step as FileStep).record.intent === one.id, hasConflict: one.hasConflict };
      });
    return { isMeant: isMeant as (step: Step) => boolean, undos };
  }

  /** True if a step is undone by an undo that ended at or before the event `upTo` and that held then. */
  isTaken({ seq, path }: FileStep, upTo = Number.POSITIVE_INFINITY): boolean {
    const whole = this.#whole.some(
      (one) => one.at <= upTo && one.seqs.has(seq) && this.#holdsAt(one, one.target, path, upTo),
    );
    return (
      whole ||
      [...this.#undos].some(
        ([id, { at, seqs }]) => at <= upTo && seqs.has(seq) && this.#holdsAt({ id, at }, id, path, upTo),
      )
    );
  }

  /** Returns the changes of an operation: `left` are those that are not undone, `taken` are those that are. */
  changesOf(operation: string): { readonly left: readonly FileStep[]; readonly taken: readonly FileStep[] } {
    const own = this.steps.filter((step) => this.#isOf(operation, step));
    return { left: own.filter((step) => !this.isTaken(step)), taken: own.filter((step) => this.isTaken(step)) };
  }

  /**
   * Returns the steps that a selection selects. `label` is the selection as an undo records it, such as `turn <id>`.
   * Returns `undefined` for a transaction without a session (see `#wholeTransaction`).
   */
  ownOf(label: string): Meant | undefined {
    const [by, value] = [label.slice(0, label.indexOf(" ")), label.slice(label.indexOf(" ") + 1)];
    if (by === "since") return { isMeant: ({ seq }) => seq > Number(value.replace("seq:", "")), undos: [] };
    if (by === "to") {
      const isMeant = ({ seq, record }: FileStep): boolean =>
        seq > Number(value.replace("seq:", "")) && this.#isWork(record);
      return { isMeant: isMeant as (step: Step) => boolean, undos: [] };
    }
    if (by === "file") return { isMeant: ({ path }) => path === value || path.startsWith(`${value}/`), undos: [] };
    const transaction = this.transactions.get(value);
    if (by === "transaction" && transaction?.record.session === undefined) return undefined;
    const family = this.#family(value);
    const isMeant = (step: FileStep): boolean => {
      const { record } = step;
      const action = record.action === undefined ? undefined : this.actions.get(record.action);
      if (by === "operation") return this.#isOf(value, step);
      if (record.intent !== undefined) return false;
      if (this.#isOnlyBy(record.candidates ?? [], by, value)) return true;
      if (record.actor === "ambiguous") return false;
      if (by === "action") return record.action === value;
      if (by === "turn") return action?.record.turn === value;
      if (by === "session") return record.session === value || action?.record.run === value;
      // If two actions of the transaction may have made a change, the change belongs to the transaction.
      if (by === "transaction")
        return [record.transaction, action?.record.transaction].some((one) => one !== undefined && family.has(one));
      return record.actor === value;
    };
    return this.#without(isMeant);
  }

  /** True if a run, an action, a transaction or an operation on files made the change, and no person. */
  #isWork({ actor, session, action, transaction, intent, candidates = [] }: FileRecord): boolean {
    const mayHaveRun = (id: string): boolean => this.actions.get(id)?.record.state !== "abandoned";
    if (actor === "ambiguous") return candidates.some(mayHaveRun);
    return [session, action, transaction, intent].some((id) => id !== undefined);
  }

  /**
   * True if all candidates of an ambiguous change are within one action, turn or session, so that nobody else can have
   * made the change. False if all candidates are abandoned actions, because then possibly none of them has run.
   */
  #isOnlyBy(candidates: readonly string[], by: string, value: string): boolean {
    const isWithin = (id: string): boolean => {
      const action = this.actions.get(id)?.record;
      if (id === value && (by === "action" || by === "session")) return true;
      if (by === "turn" && action?.turn === value) return true;
      if (by === "session" && action?.session === value) return true;
      const { run, action: outer } = action ?? this.runs.get(id)?.within ?? {};
      return [run, outer].some((one) => one !== undefined && isWithin(one));
    };
    const mayHaveRun = (id: string): boolean => this.actions.get(id)?.record.state !== "abandoned";
    return candidates.every(isWithin) && candidates.some(mayHaveRun);
  }

  /**
   * Adjusts the events that an undo has undone when a conflict of this undo at `path` is recorded. If the conflict is
   * settled for the undo, or by a merge, the events of the path count as undone. If that settlement is undone, they do
   * not count any more.
   */
  #settle(undo: string, path: string, isTaken: boolean): void {
    const took = this.#undos.get(undo);
    for (const step of this.steps) {
      if (step.path !== path || !holdsSeq(took?.met ?? [], step.seq)) continue;
      if (isTaken) took?.seqs.add(step.seq);
      else took?.seqs.delete(step.seq);
    }
  }

  /**
   * Forgets everything before `first`, because the archive was dropped. Events that were not read before they were
   * dropped cannot have changed a file. All work that was still open had been ended before, so open actions become
   * abandoned ones.
   */
  drop(first: LogEventShape): void {
    if (first.seq > this.seq + 1) [this.seq, this.#hash] = [first.seq - 1, first.prev_hash];
    this.steps = this.steps.filter((step) => step.seq >= first.seq);
    this.#undos.clear();
    this.#everTook.clear();
    this.#whole = [];
    this.#redos = [];
    for (const [id, one] of this.actions)
      if (one.record.state === "open") this.actions.set(id, { ...one, record: { ...one.record, state: "abandoned" } });
    this.#agents.clear();
  }
}

/**
 * Returns the time of the last activity of an action. The event that marks an action as abandoned is not an activity of
 * it.
 */
function activeAt({ record, ts, lastTs }: KnownAction): number {
  return record.state === "abandoned" ? ts : lastTs;
}

/** Returns a tree as an object with sorted keys, for comparisons that show a readable difference. */
export function sorted(tree: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...tree].sort(([a], [b]) => (a < b ? -1 : 1)));
}
