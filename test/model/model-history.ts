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

/** A recorded change of a file. */
export interface FileStep extends Step {
  readonly record: FileRecord;
}

export interface KnownAction extends OpenAction {
  readonly record: ActionRecord;
  readonly hash: string;
  /** What was recorded when it began. */
  readonly tree: ReadonlyMap<string, string>;
  /** When it began, and when its last event was written (milliseconds). */
  readonly ts: number;
  readonly lastTs: number;
}

/** So long what no process owns may do nothing before it is over (milliseconds). */
export const UNOWNED_MS = 86_400_000;

export interface KnownTransaction extends OpenTransaction {
  readonly record: TransactionRecord;
  readonly lastSeq: number;
  readonly tree: ReadonlyMap<string, string>;
}

interface OpenIntent {
  readonly tree: ReadonlyMap<string, string>;
  readonly steps: number;
  readonly seq: number;
}

/** The process that goes on, and what time it is (milliseconds). */
interface Present {
  readonly pid: number;
  readonly now: number;
}

/** What an undo took back. */
interface Took {
  readonly seqs: Set<number>;
  /** The event at its end. */
  readonly at: number;
  /** The changes of paths with conflicts. */
  readonly met: SeqRanges;
  readonly label: string;
}

interface WholeUndo {
  readonly id: string;
  readonly target: string;
  readonly seqs: ReadonlySet<number>;
  readonly at: number;
}

/** A redo of an undo of selected work, or of a whole operation. */
interface Redo {
  readonly id: string;
  readonly target: string;
  readonly at: number;
}

/** What was asked for last: what a restore must leave, and whether an undo is one step of the stack. */
export interface Asked {
  readonly restores?: (before: ReadonlyMap<string, string>) => ReadonlyMap<string, string> | undefined;
  /** An undo is the next step back, whatever that is. */
  readonly isStep?: true;
  /** An abandoned action that is being finished. */
  readonly late?: string;
}

/**
 * The log, read as it grows: every change is held to whose it must be, and every undo, redo and restore to what it must
 * leave, by the model's own rules. What stands in it is what the engine says it did; the disk is compared with it.
 */
export class ModelHistory {
  readonly #texts = new Map<string, string>();
  readonly #recorded: Map<string, string>;
  steps: FileStep[] = [];
  readonly actions = new Map<string, KnownAction>();
  readonly transactions = new Map<string, KnownTransaction>();
  readonly runs = new Map<string, SessionRecord & { readonly seq: number; readonly lastSeq: number }>();
  readonly #agents = new Map<string, { readonly state: string; readonly ts: number }>();
  readonly conflicts = new Map<string, ReturnType<typeof decodeConflict>>();
  /** Paths that did not merge, by the undo that should have met them. */
  readonly #unmerged = new Map<string, ReadonlySet<string>>();
  readonly #intents = new Map<string, OpenIntent>();
  /** Undos of selected work, by their ids, also those that were redone. */
  readonly #undos = new Map<string, Took>();
  readonly #everTook = new Map<string, Took>();
  /** Undos of whole operations, also those that were redone, each with the events that it undid. */
  #whole: WholeUndo[] = [];
  #redos: Redo[] = [];
  prunings: PruneRecord[] = [];
  seq = 0;
  #hash = "";
  readonly counts = { owned: 0, ambiguous: 0, exact: 0, impure: 0, undos: 0, conflicts: 0 };

  readonly veil: Veil;
  /** Every recorded state of a path, as `<path>\0<state>`. */
  readonly #everRecorded = new Set<string>();

  constructor(baseline: ReadonlyMap<string, string>, veil: Veil) {
    this.#recorded = new Map(baseline);
    this.veil = veil;
    for (const [path, state] of baseline) this.#everRecorded.add(`${path}\0${state}`);
  }

  /** Was a path ever recorded as it is here? */
  wasRecorded(path: string, state: string): boolean {
    return this.#everRecorded.has(`${path}\0${state}`);
  }

  get recorded(): ReadonlyMap<string, string> {
    return this.#recorded;
  }

  /** Notes a content that is on disk. */
  see(tree: ReadonlyMap<string, string>): void {
    for (const state of tree.values()) {
      const text = state.startsWith("-> ") ? state.slice(3) : /^\d+ (.*)$/s.exec(state)?.[1];
      if (text !== undefined) this.#texts.set(createHash("sha256").update(text).digest("hex"), text);
    }
  }

  /** Was this content ever on disk, or offered by an undo? */
  knows(hash: string | undefined): boolean {
    return hash === undefined || this.#texts.has(hash);
  }

  /** Takes in what was added to the log. `pid`: of the process that goes on. */
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

  /** Will somebody finish it: its process, or, where it has none, whoever does within a day? */
  isGoingOn({ record, ts }: KnownAction, { now, pid }: Present): boolean {
    return record.state === "open" && (record.pid === null ? now - ts < UNOWNED_MS : record.pid === pid);
  }

  /** Is something going on that could not be undone without the events that are there now? */
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

  stateOf({ entry }: Pick<FileRecord, "entry">): State {
    if (entry === undefined || entry.kind === "dir") return entry?.kind;
    const text = this.#texts.get(entry.hash ?? "");
    found(text, `${entry.path} holds what never was on disk`).toBeDefined();
    return entry.kind === "symlink" ? `-> ${text}` : `${entry.mode.toString(8)} ${text}`;
  }

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

  #intent(id: string, intent: IntentRecord, asked: Asked): void {
    if (intent.state === "open") {
      this.#intents.set(id, { tree: new Map(this.#recorded), steps: this.steps.length, seq: this.seq });
      return;
    }
    const begun = this.#intents.get(id);
    // Where there was nothing to do, it is closed at once.
    const before = begun ?? { tree: new Map(this.#recorded), steps: this.steps.length, seq: this.seq };
    if (intent.state !== "done") return;
    if (intent.selection !== undefined && this.veil.isEmpty)
      found(intent.skipped ?? 0, `${intent.summary} left something alone`).toBe(0);
    this.counts.undos += 1;
    if (intent.kind === "restore" || intent.kind === "resolve") {
      const wanted = asked.restores?.(before.tree);
      if (wanted !== undefined) this.#expectTree(wanted, intent.summary);
    } else if (intent.selection !== undefined) this.#selective(id, intent, { before, asked });
    else if (intent.kind === "undo") this.#undo(id, intent.target ?? "", before);
    else this.#redo(id, intent.target ?? "", before);
  }

  #expectTree(wanted: ReadonlyMap<string, string>, what: string): void {
    const [recorded, expected] = [this.veil.clear(this.#recorded), this.veil.clear(wanted)];
    found({ what, tree: sorted(recorded) }).toEqual({ what, tree: sorted(expected) });
  }

  #selective(
    id: string,
    intent: IntentRecord,
    { before, asked }: { readonly before: OpenIntent; readonly asked: Asked },
  ): void {
    const label = intent.selection ?? "";
    const history = this.steps.slice(0, before.steps);
    // A step back takes an undo that was redone back once more; where its work was given up meanwhile, it names none. An
    // operation that has gone on since the undo is taken back anew.
    const operation = /^operation (.*)$/.exec(label)?.[1];
    const hasGoneOn = ({ at }: Took): boolean =>
      operation !== undefined && history.some((step) => step.seq > at && this.#isOf(operation, step));
    const named = [...(intent.takes ?? []), ...(intent.passes ?? [])].map((one) => this.#everTook.get(one));
    const known = [...named, ...[...this.#everTook.values()].toReversed()].find((one) => one?.label === label);
    const again = asked.isStep !== true || known === undefined || hasGoneOn(known) ? undefined : known;
    const undoAgain = [...this.#everTook].find(([, one]) => one === again)?.[0] ?? "";
    const own = again === undefined ? this.ownOf(label) : this.#ofUndo(undoAgain, again);
    // What was left alone is not taken back.
    const alone = new Set<string>(intent.left?.map((path) => shown(path)));
    const meant = history.filter((step) => holdsSeq(intent.took ?? [], step.seq) && !alone.has(step.path));
    const took = new Set(meant.map((step) => step.seq));
    const transaction = /^transaction (.*)$/.exec(label)?.[1];
    const wanted = own === undefined ? undefined : takeBack(history, own, before.tree);
    if (wanted !== undefined) {
      this.#expectTree(wanted.tree, intent.summary);
      if (this.veil.isEmpty) this.#unmerged.set(id, wanted.unmerged);
      this.counts.conflicts += wanted.unmerged.size;
      this.see(wanted.offered);
      // What did not merge is not taken back.
      const isLeft = (path: string): boolean => wanted.stayed.has(path) || wanted.unmerged.has(path);
      const taken = history.filter((step) => wanted.own.includes(step.seq) && !isLeft(step.path));
      if (this.veil.isEmpty) found({ label, took: [...took] }).toEqual({ label, took: taken.map((step) => step.seq) });
    } else if (transaction !== undefined) this.#wholeTransaction(transaction, history);
    const { met = [] } = intent;
    this.#undos.set(id, { seqs: took, met, label, at: this.seq });
    this.#everTook.set(id, { seqs: new Set(took), met, label, at: this.seq });
  }

  /** Everybody's transaction: all is as it was when it began, if nothing was done in it that is another's. */
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

  #family(id: string): Set<string> {
    const family = new Set([id]);
    for (const one of this.transactions.values())
      if (one.record.parent !== undefined && family.has(one.record.parent)) family.add(one.id);
    return family;
  }

  /** An operation as a whole: each path gets exactly the state before it, and nothing is passed over. */
  #undo(id: string, target: string, before: OpenIntent): void {
    const history = this.steps.slice(0, before.steps);
    const isMeant = (step: FileStep): boolean => this.#isOf(target, step) && !this.isTaken(step);
    const own = takeBack(history, { isMeant: isMeant as (step: Step) => boolean, undos: [] }, before.tree);
    const written = this.#writtenByRedos(target);
    const isWritten = (step: Step): boolean => written?.has(step.path) !== false && isMeant(step as FileStep);
    const wanted = written === undefined ? own : takeBack(history, { isMeant: isWritten, undos: [] }, before.tree);
    this.#expectTree(wanted.tree, `undo of ${target}`);
    this.#whole.push({ id, target, seqs: new Set(own.own), at: this.seq });
  }

  /**
   * What the redos since the last undo of an operation wrote: where they found it as it was to be already, the next undo
   * writes nothing, either. `undefined`: there are none, or something of them is undone.
   */
  #writtenByRedos(target: string): ReadonlySet<string> | undefined {
    const writtenBy = (id: string): FileStep[] => this.steps.filter(({ record }) => record.intent === id);
    const isTaken = (step: FileStep): boolean => this.isTaken(step);
    const undos = this.#whole.filter((one) => one.target === target && !writtenBy(one.id).some(isTaken));
    const last = Math.max(0, ...undos.map(({ at }) => at));
    const redos = this.#redos.filter((one) => one.target === target && one.at > last);
    const written = redos.map(({ id }) => writtenBy(id)).filter((steps) => steps.length === 0 || !steps.every(isTaken));
    if (written.length === 0 || written.flat().some(isTaken)) return undefined;
    return new Set(written.flat().map(({ path }) => path));
  }

  /** An undo of somebody's work is taken back itself; any other operation is done again, path by path. */
  #redo(id: string, target: string, before: OpenIntent): void {
    const history = this.steps.slice(0, before.steps);
    if (this.#undos.has(target)) {
      const left = this.#leftByRedo(target);
      const isMeant = (step: Step): boolean => (step as FileStep).record.intent === target && !left.has(step.path);
      this.#expectTree(takeBack(history, { isMeant, undos: [] }, before.tree).tree, `redo of ${target}`);
    } else {
      // What the undos found as it was before already, they did not write.
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

  /** Does an undo hold at a path: it was not redone there, and what it wrote there was not undone? */
  #holdsAt(
    { id, at }: Pick<WholeUndo, "id" | "at">,
    target: string,
    path: string,
    upTo = Number.POSITIVE_INFINITY,
  ): boolean {
    const stands = (one: string): boolean =>
      !this.#unsettled(one).has(path) &&
      !this.steps.some((step) => step.record.intent === one && step.path === path && this.isTaken(step));
    // A redo of which nothing that it wrote is left holds nowhere, also not where it wrote nothing. One that met a
    // conflict holds where it found everything as it was to be already.
    const isGone = (one: string): boolean => {
      const own = this.steps.filter((step) => step.record.intent === one);
      const hasMet = this.#metBy(one).length > 0;
      if ((own.length === 0 && !hasMet) || !own.every((step) => this.isTaken(step))) return false;
      if (!hasMet) return true;
      const gone = new Set([...this.#unsettled(one), ...own.map((step) => step.path)]);
      return this.steps.every((step) => step.record.intent !== target || gone.has(step.path));
    };
    const holds = (one: string): boolean => stands(one) && !isGone(one);
    if (!stands(id)) return false;
    return !this.#redos.some((one) => one.target === target && one.at > at && one.at <= upTo && holds(one.id));
  }

  /**
   * The paths that a redo of an undo leaves: other undos hold everything that it took there, or it was redone there
   * before, and not everywhere.
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

  #holdersOf({ seq, path }: FileStep): readonly string[] {
    const parts = [...this.#undos].map(([id, one]) => ({ id, target: id, seqs: one.seqs, at: one.at }));
    return [...parts, ...this.#whole]
      .filter((one) => one.seqs.has(seq) && this.#holdsAt(one, one.target, path))
      .map(({ id }) => id);
  }

  /** The paths with conflicts that a redo met, and that were not settled for it: it does not hold there. */
  #unsettled(redo: string): ReadonlySet<string> {
    const isOpen = ({ settled }: { readonly settled?: string }): boolean => settled !== "undo" && settled !== "merged";
    const written = new Set(this.steps.flatMap(({ record, path }) => (record.intent === redo ? path : [])));
    const paths = this.#metBy(redo).flatMap((one) => (isOpen(one) && !written.has(one.path) ? one.path : []));
    return new Set(paths);
  }

  #metBy(redo: string) {
    if (!this.#redos.some(({ id }) => id === redo)) return [];
    return [...this.conflicts.values()].filter(({ undo }) => undo === redo);
  }

  #ofUndo(id: string, { seqs, met, label, at }: Took): Meant {
    const transaction = this.transactions.get(label.slice("transaction ".length));
    const isEverybodys = transaction !== undefined && transaction.record.session === undefined;
    const isAll = isEverybodys || /^(?:file|since) /.test(label);
    // Where its redo met a conflict, the undo still holds.
    const holds = ({ seq, path }: Step): boolean =>
      this.#undos.get(id)?.seqs.has(seq) === true && this.#holdsAt({ id, at }, id, path);
    const isMeant = (step: Step): boolean => (seqs.has(step.seq) || holdsSeq(met, step.seq)) && !(isAll && holds(step));
    return isAll ? { isMeant, undos: [] } : this.#without(isMeant);
  }

  /** The operations to which a change belongs. */
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
   * Does a change belong to an operation? What an action did after its transaction was committed, or its run had ended,
   * is not undone with that: it is an operation by itself.
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

  /** Steps without those that were taken back already, by the undos that hold now. */
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

  /** Was it taken back, by an undo up to this event that holds? */
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

  /** The changes of an operation: those that are not taken back, and the others. */
  changesOf(operation: string): { readonly left: readonly FileStep[]; readonly taken: readonly FileStep[] } {
    const own = this.steps.filter((step) => this.#isOf(operation, step));
    return { left: own.filter((step) => !this.isTaken(step)), taken: own.filter((step) => this.isTaken(step)) };
  }

  /** Which changes are meant by a selection, as an undo names it; `undefined`: see `#wholeTransaction`. */
  ownOf(label: string): Meant | undefined {
    const [by, value] = [label.slice(0, label.indexOf(" ")), label.slice(label.indexOf(" ") + 1)];
    if (by === "since") return { isMeant: ({ seq }) => seq > Number(value.replace("seq:", "")), undos: [] };
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
      // What two of its actions may have done is its own.
      if (by === "transaction")
        return [record.transaction, action?.record.transaction].some((one) => one !== undefined && family.has(one));
      return record.actor === value;
    };
    return this.#without(isMeant);
  }

  /** Can nobody but an action, a turn or a session have done it? Of actions that were all abandoned, none may have run. */
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

  /** Once a conflict is settled for the undo, or by a merge, what the undo had met at the path is taken back: until that is undone. */
  #settle(undo: string, path: string, isTaken: boolean): void {
    const took = this.#undos.get(undo);
    for (const step of this.steps) {
      if (step.path !== path || !holdsSeq(took?.met ?? [], step.seq)) continue;
      if (isTaken) took?.seqs.add(step.seq);
      else took?.seqs.delete(step.seq);
    }
  }

  /**
   * The archive was dropped: the history begins at this event. What is gone changed no file, as far as it was not read;
   * nothing was going on any more: what was still open was ended before.
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

/** When something of an action was seen last: that it was abandoned is nothing that it did. */
function activeAt({ record, ts, lastTs }: KnownAction): number {
  return record.state === "abandoned" ? ts : lastTs;
}

export function sorted(tree: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries([...tree].sort(([a], [b]) => (a < b ? -1 : 1)));
}
