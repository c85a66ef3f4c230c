import { type BegunAt, decodeAction } from "../../core/records/action-record.ts";
import type { BaseBatch } from "../../core/log/base.ts";
import { canonicalJson } from "../../core/values/canonical-json.ts";
import { type CommitMark, markOf } from "../../core/log/commit-mark.ts";
import type { LogEvent, RecordBody } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { keepsState, keptByAny, type KeptStates } from "../../core/tree/kept-states.ts";
import type { LiveTree } from "../../core/tree/live-tree.ts";
import { displayPath, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { decodeProposal, proposedPath } from "../../core/records/proposal-record.ts";
import { decodePrune, type GivenUpPrivates, type PruneRecord } from "../../core/records/prune-record.ts";
import { decodeSnapshot } from "../../core/records/records.ts";
import { decodeReplica } from "../../core/records/replica-record.ts";
import { decodeSentinel } from "../../core/records/sentinel.ts";
import { decodeWorkspace, encodeWorkspace, type WorkspaceRecord } from "../../core/records/workspace-record.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { checkHeldRecord, faultOf } from "./record-faults.ts";
import { ROOT_EVERY, mustStateRoot } from "../state/commit-root.ts";

type Tell = (event: Pick<LogEvent, "seq" | "recordId">, detail: string) => void;

export interface RulesStart {
  /** The seq of the event before the first checked event; 0 if the history is checked from its beginning. */
  readonly seq: number;
  /**
   * True for a copy that starts at an anchor. Only the files, the workspace's own record and the erasures are then
   * known from the history before the anchor.
   */
  readonly isAnchored?: boolean;
}

const NOTHING_PRUNED: KeptStates = { floorSeq: 0, kept: [] };

/** The kinds of records in the first commit of a history, in the order of its events. */
const FIRST_RECORDS = "workspace signer snapshot";

/**
 * The kinds of records in the first commit of a history that an earlier version of Chronicle began. Such a commit names
 * no signer. `verify` reports a missing signer separately.
 */
const FIRST_WITHOUT_SIGNER = "workspace snapshot";

/**
 * Checks the rules of `docs/format.md` about relations between events, and about the state at the end of each commit.
 * `checkRecord` checks an event by itself.
 */
export class HistoryRules {
  readonly #state: LiveTree;
  readonly #tell: Tell;
  readonly #start: RulesStart;
  #workspace: WorkspaceRecord | undefined;
  #first: { readonly event: LogEvent; readonly workspace: WorkspaceRecord } | undefined;
  readonly #roots = new Set<string | undefined>();
  /** The events since the end of the last commit, each with the paths whose states it records. */
  #commit: { readonly event: LogEvent; readonly paths: readonly WorkspacePath[] }[] = [];
  readonly #seen = new Set<WorkspacePath>();
  #lastRoot: number;
  readonly #actions = new Map<string, BegunAt>();
  /**
   * The hash of the first event of the newest action; "" if there is no action, `undefined` if the hash is not known.
   */
  #lastBegun: Hash | "" | undefined = "";
  /** The seq of the first event of the newest action in a base. */
  #newest = 0;
  readonly #outside = new Map<string, number>();
  /**
   * The seq of the last `replica:` record, and `settled` of this record: the last event of this history that the
   * followed origin has answered. `settled` is `Infinity` if the history has no such record, or if the sync was
   * stopped.
   */
  #replica = { seq: 0, settled: Number.POSITIVE_INFINITY };
  /**
   * The prunings so far. The first element stands for the time before any pruning. If the history begins on a base,
   * only the last pruning before the base is known.
   */
  readonly #prunings: KeptStates[] = [NOTHING_PRUNED];
  /** The private contents that were given up so far. */
  #privates: GivenUpPrivates | undefined;
  #beginning: string | undefined;
  #isBeginning: boolean;

  constructor(state: LiveTree, tell: Tell, start: RulesStart) {
    this.#state = state;
    this.#tell = tell;
    this.#start = start;
    this.#lastRoot = start.seq;
    this.#isBeginning = start.seq === 0;
    if (start.isAnchored === true) this.#lastBegun = undefined;
  }

  /**
   * Takes the records of a base on which the history begins because the events before that base are missing. Skips a
   * record that `checkHeldRecord` refuses.
   */
  rows({ records = [] }: BaseBatch): void {
    for (const one of records) {
      const { recordId, record, seq } = one;
      if (faultOf(() => checkHeldRecord(one)) !== undefined) continue;
      if (recordId.startsWith("workspace:")) this.#takeOldWorkspace(record);
      else if (recordId.startsWith("action:")) this.#takeOldAction(recordId, record, seq);
      else if (recordId.startsWith("outside")) this.#outside.set(recordId, Number(record["iteration"]));
      else if (recordId.startsWith("replica:")) this.#takeReplica(one);
      else if (recordId.startsWith("prune:")) this.#takeOldPruning(decodePrune(record));
    }
  }

  /** Checks the next event, and the iterations that it records. Call this before the event changes the state. */
  event(event: LogEvent, rows: readonly IterationRow[] = []): void {
    this.#commit.push({ event, paths: rows.map(({ path }) => path) });
    const { op, recordId, record } = event;
    if (op === "compact") this.#checkSentinel(event);
    if (op === "delete" || op === "compact") return;
    for (const row of rows) this.#checkFile(event, row);
    if (recordId.startsWith("outside")) this.#checkOutside(event);
    else if (recordId.startsWith("action:")) this.#checkAction(event);
    else if (recordId.startsWith("workspace:")) this.#takeWorkspace(record);
    else if (recordId.startsWith("snapshot:")) this.#checkSnapshot(event);
    else if (recordId.startsWith("proposal:")) this.#checkProposal(event);
    else if (recordId.startsWith("replica:")) this.#takeReplica(event);
    else if (recordId.startsWith("prune:")) this.#checkPruning(event);
  }

  /** If this event ends a commit, checks the commit. Call this after the event has changed the state. */
  followed(event: LogEvent): void {
    const mark = markOf(event);
    if (mark === undefined) return;
    const events = this.#commit;
    this.#commit = [];
    this.#isBeginning = false;
    for (const { event: one, paths } of events) {
      for (const path of paths) {
        const why = this.#state.misplaced(path);
        if (why !== undefined) this.#tell(one, `${displayPath(path)}: ${why}, at the end of its commit`);
      }
    }
    const all = events.map((one) => one.event);
    this.#checkMark(all, event, mark);
    // `all` lacks unsound events, which have already been reported. If the first commit has such an event, the
    // beginning is not checked.
    if (mark.first === 1 && all.length === event.seq) this.#beginning = beginningOf(all);
  }

  /**
   * The fault in the beginning of the history, if any. A person may have accepted this fault (`chronicle head
   * --accept`).
   */
  get beginning(): string | undefined {
    return this.#beginning;
  }

  #checkMark(events: readonly LogEvent[], event: LogEvent, { root }: CommitMark): void {
    if (root !== undefined) {
      this.#lastRoot = event.seq;
      return;
    }
    const last = event.recordId.startsWith("commit:") ? event.seq - 1 : event.seq;
    // A commit that only records the recovery from a torn tail states no root. It is written while the log is being
    // read, when there is no state yet from which a root could be computed.
    const isDue = last - this.#lastRoot >= ROOT_EVERY && !events.every(isRecovery);
    if (isDue || mustStateRoot(events))
      this.#tell(event, "the commit that this event ends does not state the Merkle root of the files");
  }

  #checkFile(event: LogEvent, { path, iteration }: IterationRow): void {
    const { root } = splitRoot(path);
    if (!this.#roots.has(root)) this.#tell(event, `the workspace has no root ${root ?? ""}`);
    if (this.#isUnknown(path)) {
      this.#seen.add(path);
      return;
    }
    const expected = (this.#state.iterationOf(path) ?? 0) + 1;
    if (iteration !== expected) this.#tell(event, `it records iteration ${iteration}, expected ${expected}`);
  }

  /**
   * True if the number of the path's earlier iterations is not known. A copy that starts at an anchor does not know
   * this number until it has an event of the path, for two reasons:
   *
   * - The base of a copy need not contain deleted paths.
   * - A part of the base can come from an earlier copy, and the origin may have been put back to an older state after
   *   that copy was made.
   */
  #isUnknown(path: WorkspacePath): boolean {
    return this.#start.isAnchored === true && !this.#seen.has(path);
  }

  #checkOutside(event: LogEvent): void {
    const before = this.#outside.get(event.recordId);
    const iteration = Number(event.record["iteration"]);
    this.#outside.set(event.recordId, iteration);
    if (before === undefined && this.#start.isAnchored === true) return;
    if (iteration !== (before ?? 0) + 1)
      this.#tell(event, `it records iteration ${iteration}, expected ${(before ?? 0) + 1}`);
  }

  #checkAction(event: LogEvent): void {
    const { seq, hash, ts, recordId, recursionDepth: depth } = event;
    const { state, begun, previous, fromSeq } = decodeAction(event.record);
    const known = this.#actions.get(recordId);
    if (begun !== undefined) {
      if (known === undefined && this.#start.isAnchored !== true)
        this.#tell(event, "no earlier event begins this action");
      else if (known !== undefined && !sameBegun(known, begun))
        this.#tell(event, "its field begun does not describe the first event of the action");
      return;
    }
    if (known !== undefined)
      return this.#tell(event, "its field begun is missing, and should describe the first event of the action");
    if (state !== "open") this.#tell(event, `the first event of an action must have the state open, not ${state}`);
    else if (fromSeq !== seq - 1)
      this.#tell(event, `its from_seq is ${fromSeq}, not the seq of the event before this event`);
    if (this.#lastBegun !== undefined && previous !== this.#lastBegun)
      this.#tell(event, "its field previous is not the hash of the first event of the action before");
    this.#actions.set(recordId, { seq, hash, ts, depth });
    this.#lastBegun = hash;
  }

  #takeOldAction(recordId: string, record: RecordBody, seq: number): void {
    const { begun } = decodeAction(record);
    const first = begun?.seq ?? seq;
    if (first > this.#newest) [this.#newest, this.#lastBegun] = [first, begun?.hash];
    if (begun !== undefined) this.#actions.set(recordId, begun);
  }

  #checkSnapshot(event: LogEvent): void {
    const { base } = decodeSnapshot(event.record);
    if (base !== undefined && !this.#isBeginning)
      this.#tell(event, "it names a base, but only snapshot 0, at the beginning of a history, may name a base");
  }

  #checkProposal(event: LogEvent): void {
    const path = proposedPath(event.recordId);
    if (path === undefined || this.#isUnknown(path)) return;
    const { iteration } = decodeProposal(path, event.record);
    const own = this.#state.iterationOf(path) ?? 0;
    if (iteration !== own) this.#tell(event, `it proposes iteration ${iteration}, but the path has ${own} iterations`);
  }

  #takeReplica({ seq, record }: Pick<LogEvent, "seq" | "record">): void {
    if (seq < this.#replica.seq) return;
    const { settled, stopped } = decodeReplica(record);
    this.#replica = { seq, settled: stopped === true ? Number.POSITIVE_INFINITY : settled };
  }

  #checkPruning(event: LogEvent): void {
    const record = decodePrune(event.record);
    const before = this.#prunings.at(-1) ?? NOTHING_PRUNED;
    this.#prunings.push(record);
    const { floorSeq, kept, cause } = record;
    if (floorSeq >= event.seq) this.#tell(event, `its floor_seq is ${floorSeq}, which is not before this event`);
    this.#checkPrivates(event, record.privates);
    if (cause === "brought-back") {
      const why = this.#faultOfBringingBack(record);
      if (why !== undefined) this.#tell(event, why);
      return;
    }
    if (floorSeq < before.floorSeq)
      this.#tell(event, `its floor_seq is ${floorSeq}, but the pruning before has ${before.floorSeq}`);
    const again = kept.find((state) => !keepsState(before, state));
    if (again !== undefined)
      this.#tell(event, `it keeps the state after event ${again}, which an earlier pruning gave up`);
    const { settled } = this.#replica;
    if (floorSeq > Math.max(settled, before.floorSeq))
      this.#tell(event, `its floor_seq is ${floorSeq}, but the origin has answered only up to event ${settled}`);
  }

  #takeOldPruning(record: PruneRecord): void {
    this.#prunings.push(record);
    this.#privates = record.privates ?? this.#privates;
  }

  /**
   * Checks that the pruning does not keep private contents that an earlier pruning gave up. Skips a pruning that says
   * nothing of private contents, such as a pruning of an earlier version of Chronicle.
   */
  #checkPrivates(event: LogEvent, now: GivenUpPrivates | undefined): void {
    if (now === undefined) return;
    const before = this.#privates;
    this.#privates = now;
    if (now.floorSeq > event.seq)
      this.#tell(event, `the floor_seq of its private contents is ${now.floorSeq}, which is after this event`);
    if (before === undefined) return;
    const again = now.kept.some((seq) => !keepsState(before, seq));
    if (again || now.floorSeq < before.floorSeq || now.records < before.records)
      this.#tell(event, "it keeps private contents that an earlier pruning gave up");
  }

  /**
   * Returns the fault of a record that brings pruned states back; `undefined` if there is none. If the history begins
   * with a base, not all earlier prunings are known, so less is checked.
   */
  #faultOfBringingBack(record: KeptStates): string | undefined {
    const earlier = this.#prunings.slice(0, -1);
    const before = earlier.at(-1) ?? NOTHING_PRUNED;
    const keeps = (more: KeptStates): boolean => sameKept(keptByAny([more, before]) ?? NOTHING_PRUNED, record);
    if (this.#start.seq > 0)
      return earlier.length === 1 || keeps(record) ? undefined : "it gives up a state that was kept";
    return earlier.some(keeps)
      ? undefined
      : "it does not keep exactly the states kept before some earlier pruning and the states kept now";
  }

  #takeOldWorkspace(record: RecordBody): void {
    this.#takeWorkspace(record);
    if (this.#first !== undefined) this.#compareWorkspace(this.#first.event, this.#first.workspace);
  }

  #takeWorkspace(record: RecordBody): void {
    this.#workspace = decodeWorkspace(record);
    this.#roots.clear();
    for (const { id } of this.#workspace.roots) this.#roots.add(id ?? undefined);
  }

  #checkSentinel(event: LogEvent): void {
    const { workspace } = decodeSentinel(event);
    // If the events before the sentinel are missing, the workspace's record is known only after the base has been read.
    // `#takeOldWorkspace` then compares it with the record in the sentinel.
    if (this.#workspace === undefined) this.#first = { event, workspace };
    else this.#compareWorkspace(event, workspace);
  }

  #compareWorkspace(event: LogEvent, workspace: WorkspaceRecord): void {
    const own = this.#workspace;
    if (own !== undefined && textOf(own) === textOf(workspace)) return;
    this.#tell(event, "its field workspace is not equal to the workspace's record");
  }
}

function beginningOf(events: readonly LogEvent[]): string | undefined {
  const kinds = events.map(({ recordId }) => recordId.slice(0, recordId.indexOf(":"))).join(" ");
  if (kinds !== FIRST_RECORDS && kinds !== FIRST_WITHOUT_SIGNER)
    return `the first commit has the records ${kinds}, not ${FIRST_RECORDS}`;
  const { number, base } = decodeSnapshot(events.at(-1)?.record ?? {});
  return number === 0 && base !== undefined ? undefined : "the first snapshot is not snapshot 0, or names no base";
}

function isRecovery({ recordId }: LogEvent): boolean {
  return recordId.startsWith("recovery:");
}

function sameBegun(a: BegunAt, b: BegunAt): boolean {
  return a.seq === b.seq && a.hash === b.hash && a.ts === b.ts && a.depth === b.depth;
}

function sameKept(a: KeptStates, b: KeptStates): boolean {
  return a.floorSeq === b.floorSeq && a.kept.join() === b.kept.join();
}

function textOf(record: WorkspaceRecord): string {
  return canonicalJson(encodeWorkspace(record));
}

/**
 * Checks entries of a baseline. Each entry must be iteration 1 of its path, and belong to event `at`, which names the
 * base. Returns the path of the first wrong entry, with the fault; `undefined` if all entries are right.
 */
export function baselineFault(
  { entries = [] }: BaseBatch,
  at: number,
): { path: WorkspacePath; detail: string } | undefined {
  const wrong = entries.find(({ iteration, seq }) => iteration !== 1 || seq !== at);
  if (wrong === undefined) return undefined;
  return {
    path: wrong.path,
    detail: `is in the base as iteration ${wrong.iteration} of event ${wrong.seq}, not as iteration 1 of event ${at}`,
  };
}
