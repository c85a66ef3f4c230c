import type { BaseBatch, BaseEntry, BaseRecord } from "../../core/log/base.ts";
import { checkLine } from "../../core/log/chain.ts";
import { CommitFollower, markOf } from "../../core/log/commit-mark.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { EMPTY_HEAD, type Head, type LogEvent, type RecordBody } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { HistoryAnchor } from "../../core/log/history-anchor.ts";
import { LiveTree } from "../../core/tree/live-tree.ts";
import { LogTree } from "../../core/log/log-tree.ts";
import { displayPath } from "../../core/values/path.ts";
import { decodeSentinel, headBefore, type Sentinel, sentinelId } from "../../core/records/sentinel.ts";
import { decodeSigner, signerRecordId } from "../../core/records/signer-record.ts";
import type { RawLine } from "../../storage/event-log.ts";
import type { IndexStore } from "../../storage/index-store.ts";
import { yieldToEventLoop, Breather } from "../../util/yield-to-event-loop.ts";
import { addAll } from "../../util/long-lists.ts";
import { withFirstRead } from "../../util/ahead.ts";
import { isSealed } from "../log/catch-up.ts";
import { checkBase, type BaseCheckOptions } from "./check-base.ts";
import { checkRecord, anchorFaults, faultOf, heldFaults } from "./record-faults.ts";
import type { Context } from "../log/context.ts";
import { Memo } from "../log/memo.ts";
import type { IndexAudit } from "./index-audit.ts";
import { HistoryNeeds, privateContentsLeft, type NeededContent } from "../log/history-needs.ts";
import { BASELINE_SEQ } from "../log/history-start.ts";
import { baselineFault, HistoryRules, type RulesStart } from "./history-rules.ts";
import { erasedNote, givenUpIn, type LoggedGivenUp, prunedNotes } from "../log/recorded-prunings.ts";
import { baseOf, iterationsOf, project, projectAnchor, type PlacedEvent } from "../log/project.ts";
import type { LoggedSigner } from "../log/signing-fault.ts";
import { readEvent } from "../log/read-events.ts";
import { laterCommitEnd } from "../log/chain-fault.ts";
import type { VerifyProblemShape as Problem } from "../../api/shapes.ts";
import { OwnContents } from "./verify-plans.ts";
import { optional } from "../../util/optional.ts";

/**
 * A needed content. `where` is the first found place that needs the content. A place in this history takes precedence
 * over a record of an origin's state.
 */
export interface Need {
  readonly where: string;
  /** The size of the content, in bytes; `undefined` if no record names the size. */
  readonly size: number | undefined;
  /**
   * All places that need the content, up to `MOST_PLACES`. Set only for the contents in `VerifyLogOptions.placesOf`.
   */
  readonly places?: readonly string[];
  /** True if only records of an origin's states need the content (`NeededContent`). */
  readonly isUpstream: boolean;
}

/** The hash of an event in `seqsOfInterest`, and the log root and the Merkle root right after this event. */
export interface LogAt {
  readonly hash: Hash;
  readonly logRoot: Hash;
  readonly root: Hash | undefined;
}

export interface LogFindings {
  readonly events: number;
  /**
   * The seq of the first event in the log. This is 1, the seq of a sentinel whose archive is gone, or the seq after the
   * anchor.
   */
  readonly firstSeq: number;
  /**
   * The seq of the last event of the last whole commit. For a broken log, the seq of the last line. The seq of a bad
   * line is the seq that the line claims or, if the line claims none, the seq after the previous line.
   */
  readonly lastSeq: number;
  readonly needed: ReadonlyMap<Hash, Need>;
  readonly at: ReadonlyMap<number, LogAt>;
  /** Returns the hash of an event in `seqsOfInterest`, even if the state at that event is not known. */
  readonly hashes: (seq: number) => Hash | undefined;
  /** True if a part of the log could not be replayed. */
  readonly broken: boolean;
  readonly own: OwnContents;
  readonly recoveries: readonly RecordBody[];
  /** The signers whose keys sign the heads of this history. The last signer is in force. */
  readonly signers: readonly LoggedSigner[];
}

export interface VerifyLogOptions {
  /** Called after each part of the log that was read, with the number of events read so far, and of all events. */
  readonly onRead?: (done: number, total: number) => void;
  readonly problems: Problem[];
  /** Receives findings that are worth knowing but are not problems. */
  readonly notes: string[];
  /**
   * The last event that is known to have been recorded. Only a bad line after this event can have been torn by a crash.
   */
  readonly bound: number;
  /** The seqs of the events whose hashes and roots are returned (`LogFindings.hashes`, `LogFindings.at`). */
  readonly seqsOfInterest: ReadonlySet<number>;
  /** The contents for which all places that need them are reported, up to `MOST_PLACES` for each. */
  readonly placesOf?: ReadonlySet<Hash>;
  /** The audit of an index that is compared with the log while the log is replayed. Default: no index is compared. */
  readonly audit?: IndexAudit;
  /** Called at the end with an index of the replayed log, if everything could be replayed. */
  readonly atEnd?: (index: IndexStore) => Promise<void>;
}

/** Stands in for the hash of a line in which no hash can be read. */
export const NO_HASH = "0".repeat(64) as Hash;

const UNCHECKED_ANCHOR =
  "anchor.json was written by an earlier version of Chronicle, without a checksum: if its frontier is damaged, this is found only at the origin's next compaction";

/** The number of events that are replayed at once. */
const BATCH = 2_000;

/** The number of names that are hashed before other tasks have a turn. */
const NAMES_AT_ONCE = 4_096;

/** The maximum number of places that are reported for one content. */
const MOST_PLACES = 20;

/** Reads the log from its files line by line, replays the log, and recomputes every root that the events state. */
export async function verifyLog(context: Context, options: VerifyLogOptions): Promise<LogFindings> {
  const index = context.store.scratchIndex();
  try {
    const givenUp = await givenUpIn(context);
    const end = await context.log.refresh();
    await using lines = await withFirstRead(context.log.read({ seq: 1, offset: 0 }));
    // The replayed events are indexed only if the base of a compaction is to be compared with the index, or if the
    // caller reads the index. If another process compacts the log during this read, the sealed file is still read to
    // its end. That compaction and its base are not checked.
    const isIndexed = options.atEnd !== undefined || (await context.log.archived()).length > 0;
    const reader = new LogVerifier({ ...context, index, memo: new Memo() }, options, { isIndexed, ...givenUp });
    if (context.anchor !== undefined) await reader.startOn(context.anchor);
    await reader.read(lines, end.seq);
    // If the log ends before `bound`, recorded events are missing. The torn bytes are then not the rest of a commit
    // that a crash has torn, and are not moved to quarantine.
    if (end.tornBytes > 0 && !reader.torn && end.seq >= options.bound) {
      options.notes.push(
        `${end.tornBytes} bytes after the last whole commit were torn by a crash; the next command moves these bytes to quarantine/`,
      );
    }
    const findings = await reader.finish();
    if (!reader.broken) await options.atEnd?.(index);
    return findings;
  } finally {
    await index.close();
  }
}

interface HowToVerify extends LoggedGivenUp {
  readonly isIndexed: boolean;
}

interface OpenLine {
  readonly placed: PlacedEvent;
  readonly where: string;
}

class LogVerifier {
  readonly #context: Context;
  readonly #options: VerifyLogOptions;
  readonly #isIndexed: boolean;
  readonly #state = new LiveTree();
  readonly #breather = new Breather();
  #tree = new LogTree();
  readonly #needed = new Map<Hash, Need>();
  readonly #places = new Map<Hash, string[]>();
  readonly #at = new Map<number, LogAt>();
  readonly #needs: HistoryNeeds;
  readonly #pruning: LoggedGivenUp["pruning"];
  readonly #hashes = new Map<number, Hash>();
  #pending: PlacedEvent[] = [];
  /** The seqs of the events whose records were reported as damaged. No rule is applied to these events. */
  readonly #unsound = new Set<number>();
  readonly #own = new OwnContents();
  readonly #recoveries: RecordBody[] = [];
  readonly #signers: LoggedSigner[] = [];
  #prev: Head = EMPTY_HEAD;
  /** The seq of the last event of the last whole commit. */
  #whole = 0;
  #commits: CommitFollower | undefined;
  #rules: HistoryRules | undefined;
  #open: OpenLine[] = [];
  #events = 0;
  /** The sentinel on which the history begins, if it does not begin at event 1. */
  #start: Sentinel | undefined;
  /** The anchor on which the history starts, if it starts neither at event 1 nor with a compaction. */
  #anchored: HistoryAnchor | undefined;
  /** True if a sentinel says that an archive of events was dropped on purpose. */
  #dropped = false;
  /**
   * The log file that is being read. `first` is the seq of its first event. `before` is the seq of the first event of
   * the previous file.
   */
  #file = { name: "", first: 0, before: 0 };
  /** True after a fault that makes the state unknown. Later events are not replayed, but their lines are checked. */
  broken = false;
  /** True if the rest of the log is a commit that a crash has torn. Such a commit was never acknowledged. */
  torn = false;

  constructor(context: Context, options: VerifyLogOptions, { isIndexed, pruning, erasures }: HowToVerify) {
    this.#context = context;
    this.#options = options;
    this.#isIndexed = isIndexed;
    this.#pruning = pruning;
    this.#needs = new HistoryNeeds({ pruning, erasures }, (content) => this.#need(content));
  }

  /** Starts the history after its anchor. Only events after the anchor can be proved. */
  async startOn(anchor: HistoryAnchor): Promise<void> {
    const { seq, hash, root, base, frontier } = anchor;
    const where = `base after event ${seq}`;
    this.#anchored = anchor;
    this.#prev = { seq, hash };
    this.#whole = seq;
    this.#tree = new LogTree(frontier, seq);
    this.#at.set(seq, { hash, logRoot: this.#tree.root(), root });
    if (this.#options.seqsOfInterest.has(seq)) this.#hashes.set(seq, hash);
    this.#need({ hash: base, seq, where, size: undefined, isUpstream: false });
    const rules = this.#newRules({ seq, isAnchored: true });
    let own: BaseRecord | undefined;
    const onRows = (batch: BaseBatch): void => {
      for (const { path, entry, iteration } of batch.entries ?? []) this.#state.set(path, entry, iteration);
      own ??= batch.records?.find(({ recordId }) => recordId === `workspace:${anchor.workspace}`);
      addAll(this.#options.problems, heldFaults(batch, where, seq + 1));
      rules.rows(batch);
      this.#needs.rows(batch, anchor, where);
    };
    const faults = await despiteDamage(() => checkBase(this.#context.blobs, base, { root, onRows }));
    for (const fault of faults ?? []) this.#report("base-wrong", `${where}: ${fault.where}`, fault.detail);
    if (faults !== undefined) addAll(this.#options.problems, anchorFaults(anchor, own));
    // A missing or damaged base is reported when all needed contents are checked. Without the base, nothing can be
    // recomputed.
    if (faults === undefined) this.broken = true;
    else if (this.#isIndexed) await projectAnchor(this.#context, anchor);
    this.#options.notes.push(`this copy has the history from event ${seq + 1} on, and the files right before it`);
    if (anchor.isUnchecked === true) this.#options.notes.push(UNCHECKED_ANCHOR);
  }

  #newRules(start: RulesStart): HistoryRules {
    const tell = ({ seq, recordId }: Pick<LogEvent, "seq" | "recordId">, detail: string): void =>
      this.#report("rule-broken", `event ${seq} (${recordId})`, detail);
    return (this.#rules = new HistoryRules(this.#state, tell, start));
  }

  /** `lastSeq` is the seq of the last event, from which the progress is computed. */
  async read(lines: AsyncIterable<readonly RawLine[]>, lastSeq: number): Promise<void> {
    for await (const batch of lines) {
      for (const line of batch) await this.#line(line);
      this.#options.onRead?.(this.#events, Math.max(this.#events, lastSeq - this.#firstSeq + 1));
    }
  }

  async finish(): Promise<LogFindings> {
    await this.#replay();
    if (this.#start !== undefined) this.#tellStart(this.#start);
    this.#tellBeginning();
    if (this.#pruning !== undefined) addAll(this.#options.notes, prunedNotes(this.#pruning));
    if (this.#needs.erasures.size > 0) this.#options.notes.push(erasedNote(this.#needs.erasures));
    this.#needs.finish();
    await this.#needPrivate();
    return {
      events: this.#events,
      firstSeq: this.#firstSeq,
      lastSeq: this.broken ? this.#prev.seq : this.#whole,
      needed: this.#needed,
      at: this.#at,
      hashes: (seq) => this.#hashes.get(seq),
      broken: this.broken,
      own: this.#own,
      recoveries: this.#recoveries,
      signers: this.#signers,
    };
  }

  /**
   * Adds the private contents that are still kept to the needed contents. Adds nothing for a copy, because a copy never
   * receives private contents.
   */
  async #needPrivate(): Promise<void> {
    if (this.#context.isCopy === true) return;
    const { blobs } = this.#context;
    // A damaged plan is reported when all needed contents are checked. The contents that a damaged plan names are not
    // known until the plan is healed.
    const get = (hash: Hash): Promise<Buffer | undefined> => despiteDamage(() => blobs.get(hash));
    const plans = { get, has: (hashes: readonly Hash[]) => blobs.has(hashes) };
    try {
      for await (const one of privateContentsLeft(plans, this.#needs, this.#context.now()))
        this.#need({ ...one, size: undefined, isUpstream: false });
    } catch (error) {
      if (!(error instanceof ChronicleError)) throw error;
      this.#report("plan-wrong", "contents kept aside", error.message);
    }
  }

  get #firstSeq(): number {
    return (this.#anchored?.seq ?? this.#start?.size ?? 0) + 1;
  }

  /**
   * If the events before the first sentinel were dropped on purpose, notes that they are missing. Otherwise reports the
   * missing events as a problem.
   */
  #tellStart({ size }: Sentinel): void {
    const what = `events 1..${size} were compacted away by event ${size + 1}`;
    if (this.#dropped)
      this.#options.notes.push(`${what}, and their archive was dropped: the history begins after them`);
    else this.#report("archive-missing", "archive/", `${what}, and are missing, though nobody dropped their archive`);
  }

  /** Reports a line on which no history can begin. Later lines are still checked one by one. */
  async #badBeginning(line: RawLine, fault: string): Promise<void> {
    this.#events += 1;
    this.#report("sentinel-wrong", `${line.file}:${line.lineNumber}`, fault);
    await this.#breakAt(line);
  }

  #tellBeginning(): void {
    const wrong = this.#rules?.beginning;
    if (wrong === undefined || this.#signers.some(({ why }) => why === "accepted")) return;
    this.#report("rule-broken", "event 1", wrong);
  }

  /**
   * Starts the history at event 1, or at the sentinel if the first line is a sentinel. Throws if the sentinel is
   * unsound.
   */
  #begin(line: RawLine): void {
    const checked = checkLine(line.bytes, EMPTY_HEAD);
    const event = "event" in checked ? checked.event : checked.fault.event;
    const isCompacted = event?.op === "compact" && event.recordId === sentinelId(this.#context.workspaceId);
    this.#start = isCompacted ? decodeSentinel(event) : undefined;
    this.#newRules({ seq: this.#start?.size ?? 0 });
    if (event === undefined || this.#start === undefined) return;
    this.#prev = headBefore(event);
    this.#whole = this.#prev.seq;
    const { size, head, frontier, root } = this.#start;
    this.#tree = new LogTree(frontier, size);
    // The sentinel states the head before the sentinel. The stated head is noted for the comparison with a kept head.
    this.#at.set(size, { hash: head, logRoot: this.#tree.root(), root });
  }

  #report(kind: string, where: string, detail: string): void {
    this.#options.problems.push({ kind, where, detail });
  }

  async #line(line: RawLine): Promise<void> {
    if (this.torn) return;
    if (this.#commits === undefined) {
      const fault = this.#anchored === undefined ? faultOf(() => this.#begin(line)) : undefined;
      this.#commits = new CommitFollower(this.#prev.seq, this.#context.isCopy);
      if (fault !== undefined) return this.#badBeginning(line, fault);
    }
    const where = `${line.file}:${line.lineNumber}`;
    if (line.file !== this.#file.name) {
      this.#file = { name: line.file, first: this.#prev.seq + 1, before: this.#file.first };
    }
    const checked = this.#check(line);
    if ("fault" in checked) return this.#bad(line, { where, ...checked.fault });
    const { event, isEnd } = checked;
    this.#prev = event;
    this.#open.push({ placed: { event, offset: line.offset, length: line.bytes.length }, where });
    if (isEnd) await this.#endCommit();
  }

  /**
   * Checks a line, and whether it ends a commit. After damage, and in a copy, each line counts as the end of a commit.
   */
  #check(line: RawLine): { event: LogEvent; isEnd: boolean } | { fault: { kind: string; detail: string } } {
    const checked = checkLine(line.bytes, this.#prev);
    if ("fault" in checked) return checked;
    const { event } = checked;
    const mark = this.broken ? undefined : this.#commits?.take(event);
    if (typeof mark === "string") return { fault: { kind: "bad-commit", detail: mark } };
    return { event, isEnd: mark !== undefined || this.broken || this.#context.isCopy === true };
  }

  async #bad(line: RawLine, { where, kind, detail }: { where: string; kind: string; detail: string }): Promise<void> {
    const isOrigins = kind === "bad-commit" && this.#context.isCopy === true;
    if (!isOrigins && (await this.#isTorn(line))) {
      this.torn = true;
      this.#options.notes.push(`a crash tore the log at ${where}: the next command moves the rest to quarantine/`);
      return;
    }
    await this.#endCommit();
    this.#events += 1;
    this.#report(`line-${kind}`, where, `event ${this.#prev.seq + 1} (byte ${line.offset}): ${detail}`);
    await this.#breakAt(line);
  }

  async #endCommit(): Promise<void> {
    const open = this.#open;
    this.#open = [];
    for (const one of open) await this.#event(one);
  }

  async #event({ placed, where }: OpenLine): Promise<void> {
    const { event } = placed;
    this.#events += 1;
    this.#whole = event.seq;
    if (this.#options.seqsOfInterest.has(event.seq)) this.#hashes.set(event.seq, event.hash);
    const isSound = this.#collect(event, where);
    // An unsound record of a file, or of a compaction, leaves the state unknown.
    if (!isSound && (event.recordId.startsWith("file") || event.op === "compact")) {
      await this.#replay();
      this.broken = true;
    }
    if (!this.broken) {
      // The events before a compaction are replayed first, because the log tree and the index must then be at the event
      // right before the compaction.
      if (event.op === "compact") await this.#replay();
      this.#pending.push(placed);
      if (this.#pending.length >= BATCH || this.#isMilestone(event)) await this.#replay();
    }
  }

  /**
   * True if the bad line is a part of the last commit, and a crash has torn this commit. False if the line is damaged.
   */
  async #isTorn({ offset }: RawLine): Promise<boolean> {
    const { log, isCopy } = this.#context;
    const bad = { seq: this.#prev.seq + 1, offset };
    if (this.broken || this.#whole < this.#options.bound || isSealed(this.#context, bad)) return false;
    return isCopy === true || (await laterCommitEnd(log, bad, this.#whole + 1)) === undefined;
  }

  /** Continues after a bad line with the seq and hash that the line claims, so that later damage is found, too. */
  async #breakAt(line: RawLine): Promise<void> {
    await this.#replay();
    this.broken = true;
    const claim = /^\{"hash":"([0-9a-f]{64})".*"seq":(\d+),"ts":"[^"]*"\}$/s.exec(line.bytes.toString("latin1"));
    this.#prev =
      claim === null ? { seq: this.#prev.seq + 1, hash: NO_HASH } : { seq: Number(claim[2]), hash: claim[1] as Hash };
    if (this.#options.seqsOfInterest.has(this.#prev.seq) && this.#prev.hash !== "")
      this.#hashes.set(this.#prev.seq, this.#prev.hash);
  }

  #isMilestone(event: LogEvent): boolean {
    const isAsked = this.#options.seqsOfInterest.has(event.seq) || this.#options.audit?.isMilestone(event.seq) === true;
    const isRooted = event.recordId.startsWith("snapshot:") || markOf(event)?.root !== undefined;
    return isRooted || event.op === "compact" || isAsked;
  }

  #need({ hash, where, size, isUpstream }: NeededContent): void {
    const places = this.#placesOf(hash);
    if (places !== undefined && places.length < MOST_PLACES) places.push(where);
    const known = this.#needed.get(hash);
    if (known !== undefined && (!known.isUpstream || isUpstream)) return;
    this.#needed.set(hash, { where, size, isUpstream, ...optional({ places }) });
  }

  #placesOf(hash: Hash): string[] | undefined {
    if (this.#options.placesOf?.has(hash) !== true) return undefined;
    const known = this.#places.get(hash) ?? [];
    this.#places.set(hash, known);
    return known;
  }

  /** Checks the record by itself, and notes the contents that it needs. Returns true if the record is sound. */
  #collect(event: LogEvent, where: string): boolean {
    const place = `${where} (event ${event.seq}, ${event.recordId})`;
    if (event.recordId.startsWith("recovery:")) this.#recoveries.push(event.record);
    try {
      checkRecord(event, this.#context.workspaceId);
      this.#noteSigner(event);
      this.#own.note(event, place);
      this.#needs.event(event, place);
      return true;
    } catch (error) {
      this.#report(
        "record-damaged",
        where,
        `event ${event.seq} (${event.recordId}): ${error instanceof Error ? error.message : String(error)}`,
      );
      this.#unsound.add(event.seq);
      return false;
    }
  }

  #noteSigner({ recordId, record, seq }: Pick<LogEvent, "recordId" | "record" | "seq">): void {
    if (recordId !== signerRecordId(this.#context.workspaceId)) return;
    this.#signers.push({ ...decodeSigner(record), seq });
  }

  async #replay(): Promise<void> {
    const pending = this.#pending;
    this.#pending = [];
    if (pending.length === 0) return;
    const bases = new Map<Hash, readonly BaseEntry[]>();
    try {
      for (const { event } of pending) {
        const base = event.op === "compact" ? undefined : baseOf(event);
        if (base !== undefined) bases.set(base, await this.#checkBaseline(base, event));
      }
      await this.#follow(pending, bases);
      if (this.#isIndexed) await project(this.#context, pending, { atHand: bases });
      const [first] = pending;
      if (first?.event.op === "compact") await this.#checkSentinel(first.event);
      if (this.broken) return;
    } catch (error) {
      this.broken = true;
      this.#report(
        "replay-failed",
        `events ${pending[0]?.event.seq}..${pending.at(-1)?.event.seq}`,
        error instanceof Error ? error.message : String(error),
      );
      return;
    }
    for (const { event } of pending) this.#tree.append(event.hash);
    await this.#checkMilestone(pending.at(-1)?.event);
    await this.#audit(pending, bases);
  }

  async #audit(pending: readonly PlacedEvent[], bases: ReadonlyMap<Hash, readonly BaseEntry[]>): Promise<void> {
    const { audit } = this.#options;
    const last = pending.at(-1);
    if (audit === undefined || last === undefined) return;
    const brought = new Map<number, readonly BaseEntry[]>();
    for (const { event } of pending) {
      const base = baseOf(event);
      const entries = base === undefined ? undefined : bases.get(base);
      if (entries !== undefined) brought.set(event.seq, entries);
    }
    await audit.events(pending, brought);
    const { seq } = last.event;
    if (!audit.isMilestone(seq)) return;
    const at = { seq, offset: last.offset + last.length + 1, frontier: this.#tree.frontier() };
    await audit.milestone(at, (folder) => this.#state.folderHash(folder));
  }

  async #follow(pending: readonly PlacedEvent[], bases: ReadonlyMap<Hash, readonly BaseEntry[]>): Promise<void> {
    for (const { event } of pending) {
      const base = baseOf(event);
      const rows = iterationsOf(event);
      if (!this.#unsound.has(event.seq)) this.#rules?.event(event, rows);
      for (const { path, entry, iteration } of base === undefined ? [] : (bases.get(base) ?? [])) {
        this.#state.set(path, entry, iteration);
        await this.#breather.after(1);
      }
      for (const { path, entry, iteration } of rows) this.#state.set(path, entry, iteration);
      this.#rules?.followed(event);
    }
    await yieldToEventLoop();
  }

  async #merkleRoot(): Promise<Hash> {
    for (const _ of this.#state.computing(NAMES_AT_ONCE)) await yieldToEventLoop();
    return this.#state.root(this.#context.worktree.roots.flatMap(({ id }) => id ?? []));
  }

  /** Recomputes the hashes of a base, and notes the contents that its rows need. */
  async #checkBaseline(base: Hash, event: LogEvent): Promise<BaseEntry[]> {
    const entries: BaseEntry[] = [];
    const faults = await checkBase(this.#context.blobs, base, {
      onRows: (batch) => {
        for (const entry of batch.entries ?? []) entries.push(entry);
        // Only snapshot 0 may name a base. `HistoryRules` reports any other event that names a base.
        const fault = event.seq > BASELINE_SEQ ? undefined : baselineFault(batch, event.seq);
        if (fault !== undefined)
          this.#report("base-wrong", `base of event ${event.seq}: ${displayPath(fault.path)}`, fault.detail);
        this.#needs.rows(batch, event, `base of event ${event.seq}`);
      },
    });
    if (faults === undefined)
      throw new ChronicleError("BLOB_MISSING", `the base ${base} of event ${event.seq} is missing`);
    for (const { where, detail } of faults) this.#report("root-wrong", `base of event ${event.seq}: ${where}`, detail);
    return entries;
  }

  /** Checks a sentinel and its base. The log tree must be at the event before the sentinel. */
  async #checkSentinel(event: LogEvent): Promise<void> {
    const sentinel = decodeSentinel(event);
    const where = `event ${event.seq} (${event.recordId})`;
    const isStart = this.#start !== undefined && headBefore(event).seq === this.#start.size;
    this.#dropped ||= sentinel.dropsArchive;
    // A copy keeps a sentinel in the same file as the event before the sentinel.
    const { isCopy = false } = this.#context;
    if (!isCopy && (this.#file.first !== event.seq || (!isStart && sentinel.range[0] !== this.#file.before))) {
      this.#report("sentinel-wrong", where, `it does not follow a log of events ${sentinel.range.join("..")}`);
    }
    if (this.#tree.frontier().join() !== sentinel.frontier.join()) {
      this.#report("sentinel-wrong", where, "its frontier is not that of the log tree");
    }
    const options: BaseCheckOptions = {
      root: sentinel.root,
      ...(isStart || isCopy ? {} : { against: this.#context.index, eventOf: (row) => readEvent(this.#context, row) }),
      onRows: (batch) => {
        for (const { path, entry, iteration } of isStart ? (batch.entries ?? []) : [])
          this.#state.set(path, entry, iteration);
        if (isStart) this.#rules?.rows(batch);
        if (isStart) addAll(this.#options.problems, heldFaults(batch, `base of event ${event.seq}`, event.seq));
        for (const one of isStart ? (batch.records ?? []) : []) this.#own.note(one, `base of event ${event.seq}`);
        // The base names the signer as of the compaction. Later events may name another signer.
        for (const one of isStart ? (batch.records ?? []) : []) this.#noteSigner(one);
        this.#needs.rows(batch, event, `base of event ${event.seq}`);
      },
    };
    const faults = await despiteDamage(() => checkBase(this.#context.blobs, sentinel.base, options));
    // Without the base with which the history begins, nothing can be recomputed.
    this.broken = isStart && faults === undefined;
    if (this.broken) return;
    const root = await this.#merkleRoot();
    if (faults !== undefined && root !== sentinel.root) {
      this.#report("root-wrong", where, `it states the Merkle root ${sentinel.root}, but the computed root is ${root}`);
    }
    // A missing or damaged base is reported when all needed contents are checked.
    for (const fault of (faults ?? []).filter((one) => one.where !== "root" || root === sentinel.root)) {
      this.#report("base-wrong", `base of event ${event.seq}: ${fault.where}`, fault.detail);
    }
  }

  async #checkMilestone(event: LogEvent | undefined): Promise<void> {
    if (event === undefined || !this.#isMilestone(event)) return;
    const root = await this.#merkleRoot();
    if (this.#options.seqsOfInterest.has(event.seq)) {
      this.#at.set(event.seq, { hash: event.hash, logRoot: this.#tree.root(), root });
    }
    const isSnapshot = event.recordId.startsWith("snapshot:") && event.op === "upsert";
    const commitRoot = markOf(event)?.root ?? root;
    const stated = isSnapshot && event.record["root"] !== root ? event.record["root"] : commitRoot;
    if (stated !== root)
      this.#report(
        "root-wrong",
        `event ${event.seq} (${event.recordId})`,
        `it states the Merkle root ${JSON.stringify(stated)}, but the computed root is ${root}`,
      );
  }
}

async function despiteDamage<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "BLOB_CORRUPT") return undefined;
    throw error;
  }
}
