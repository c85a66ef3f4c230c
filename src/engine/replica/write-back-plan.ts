import { changeOf, fileRecordId } from "../../core/values/file-record.ts";
import { type WorkspacePath, foldersAbove, isWithin } from "../../core/values/path.ts";
import type { EventRow, IterationRow } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { readEvents } from "../log/read-events.ts";
import { type Entry, type Change, SYMLINK_MODE } from "../../core/values/entry.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WriteBackBatch, WriteBackReason, WriteBackEntry, WriteBackRules } from "../../core/records/write-back.ts";
import { erasedAmong } from "../facts/contents-of-history.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import { indexedFrom } from "../log/history-start.ts";
import { settable } from "../capture/never-set.ts";
import { foldersFor } from "../write/plan-write.ts";
import { WriteState } from "../write/write-state.ts";
import { refusalOf } from "./write-back-rules.ts";
import { talliedAfter, type Tally } from "../write/write-limits.ts";

interface PlanGround extends Omit<JudgeGround, "state"> {
  readonly tally: Tally;
  /**
   * Entries of earlier batches that delete a folder which is not empty yet. This batch can delete the remaining
   * contents of the folder.
   */
  readonly going: readonly WriteBackEntry[];
}

/**
 * An entry of a batch (one edit that was made at the replica) that is to be recorded. Its changes first make the
 * missing folders, and then set the state of the path.
 */
export interface TakenEntry {
  readonly entry: WriteBackEntry;
  readonly changes: readonly Change[];
  /** The seq of the last event of the path before the entry; `OWN_EVENT` if this batch is to record that event. */
  readonly against: number;
}

/** An entry whose state is recorded already. */
interface KnownEntry {
  readonly entry: WriteBackEntry;
  readonly iteration: number;
  /** The seq of the event that recorded the state; `OWN_EVENT` if this batch is to record that event. */
  readonly seq: number;
}

export interface RefusedEntry {
  readonly entry: WriteBackEntry;
  readonly reason: WriteBackReason;
  /** The last event of the path. Set only if the entry is kept as a version. */
  readonly against?: number | undefined;
  /** The event of another path that the replica must receive before it sends the entry again. */
  readonly awaits?: number;
}

/** The decisions about a batch. The taken entries are in an order in which they can be recorded. */
export interface PlannedWriteBack {
  readonly taken: readonly TakenEntry[];
  readonly known: readonly KnownEntry[];
  readonly refused: readonly RefusedEntry[];
  /**
   * The replica's seqs of the entries that were refused only because a folder is not empty. A later batch can empty the
   * folder.
   */
  readonly going: readonly number[];
}

/** Stands for the seq of an event that this batch is still to record. */
const OWN_EVENT = Infinity;

/**
 * Judges each entry of a batch against the recorded state and the entries that were taken so far. The caller must hold
 * the workspace's lock.
 */
export async function planWriteBack(
  context: Context,
  batch: WriteBackBatch,
  ground: PlanGround,
): Promise<PlannedWriteBack> {
  const state = new WriteState(context.index, ground.head);
  const entries = [...ground.going, ...batch.entries];
  const judge = await EntryJudge.begin(context, { ...batch, entries }, { ...ground, state });
  const plan = new WriteBackPlan(context, state, ground);
  for (const run of runsOf(entries)) {
    const isLast = run.at(-1) === entries.at(-1);
    // The deletions in a folder are taken before the deletion of the folder, so that no crash can leave files without
    // their folder.
    for (const [i, entry] of [...run.entries()].toReversed()) {
      const verdict = await judge.judge(entry);
      await plan.take(entry, verdict);
      const isOpen = isLast && run.slice(i + 1).every((later) => isWithin(later.path, entry.path));
      if (isOpen && verdict.kind === "refused" && verdict.isHeld === true) plan.going.push(entry.localSeq);
    }
  }
  return plan;
}

/**
 * Yields the entries in groups of consecutive entries. A group begins with an entry that deletes a path, or that puts a
 * file or link at the path. The group also has the deletions beneath this path that directly follow. An entry that
 * makes a folder is a group by itself.
 */
function* runsOf(entries: readonly WriteBackEntry[]): Generator<readonly WriteBackEntry[]> {
  for (let at = 0; at < entries.length;) {
    const first = entries[at] as WriteBackEntry;
    let end = at + 1;
    while (first.entry?.kind !== "dir" && isDeletionIn(entries[end], first.path)) end += 1;
    yield entries.slice(at, end);
    at = end;
  }
}

function isDeletionIn(entry: WriteBackEntry | undefined, folder: WorkspacePath): boolean {
  return entry !== undefined && entry.entry === undefined && entry.path !== folder && isWithin(entry.path, folder);
}

class WriteBackPlan implements PlannedWriteBack {
  readonly taken: TakenEntry[] = [];
  readonly known: KnownEntry[] = [];
  readonly refused: RefusedEntry[] = [];
  readonly going: number[] = [];
  readonly #context: Context;
  readonly #state: WriteState;
  #tally: Tally;

  constructor(context: Context, state: WriteState, { tally }: PlanGround) {
    this.#context = context;
    this.#state = state;
    this.#tally = tally;
  }

  async take(entry: WriteBackEntry, verdict: Verdict): Promise<void> {
    if (verdict.kind === "known") this.known.push({ entry, ...verdict });
    else if (verdict.kind === "refused") this.refused.push({ entry, ...verdict });
    else await this.#record({ entry, changes: [...verdict.folders, verdict.change], against: verdict.against });
  }

  async #record(taken: TakenEntry): Promise<void> {
    const { entry, changes } = taken;
    const tally = this.#talliedAfter(entry, changes);
    if (tally === undefined) {
      this.refused.push({ entry, reason: "too-large" });
      return;
    }
    this.#tally = tally;
    this.taken.push(taken);
    // `OWN_EVENT` suffices instead of the real seq, because all entries of a batch come from the same replica.
    await this.#state.take(changes, OWN_EVENT);
  }

  /** Returns the tally after the changes; `undefined` if the workspace would exceed its limits. */
  #talliedAfter({ path }: WriteBackEntry, changes: readonly Change[]): Tally | undefined {
    try {
      return talliedAfter(this.#context, { path }, { changes, tally: this.#tally });
    } catch (error) {
      if (error instanceof ChronicleError && error.code === "LIMIT_EXCEEDED") return undefined;
      throw error;
    }
  }
}

type Verdict =
  /** The entry is to be recorded after the missing folders above it. `against` is the last event of the path now. */
  | { readonly kind: "taken"; readonly change: Change; readonly folders: readonly Change[]; readonly against: number }
  /** The state is recorded already, by this iteration and its event. */
  | { readonly kind: "known"; readonly iteration: number; readonly seq: number }
  | Refused;

interface Refused {
  readonly kind: "refused";
  readonly reason: WriteBackReason;
  /** For `stale`, the last event of the path. */
  readonly against?: number;
  /**
   * The event of another path that caused the refusal. The replica must receive this event before it sends the entry
   * again. The value is 0 if that event is an event of this batch.
   */
  readonly awaits?: number;
  /** True if the only reason is that the folder is not empty. */
  readonly isHeld?: true;
}

interface JudgeGround {
  /** The recorded state, with the entries that were taken so far. */
  readonly state: WriteState;
  readonly head: number;
  readonly rules: WriteBackRules;
  /** Paths to which the replica must not write, each with the reason to refuse its entries. */
  readonly barred: ReadonlyMap<WorkspacePath, WriteBackReason>;
  /** True if the path is a folder on disk that is not recorded. */
  readonly isUnrecordedFolder: (path: WorkspacePath) => Promise<boolean>;
}

/**
 * Decides whether an entry becomes the state of its path. An entry becomes the state if the replica knew the present
 * state. The replica knew the present state if nobody else has changed the path since the event on which the entry is
 * based. The caller must hold the workspace's lock.
 */
class EntryJudge {
  readonly #context: Context;
  readonly #batch: WriteBackBatch;
  readonly #ground: JudgeGround;
  readonly #contents: WriteBackContents;
  readonly #work: ReplicaWork;
  #start: number | undefined;

  private constructor(context: Context, batch: WriteBackBatch, ground: JudgeGround, contents: WriteBackContents) {
    this.#context = context;
    this.#batch = batch;
    this.#ground = ground;
    this.#contents = contents;
    this.#work = new ReplicaWork(context, batch.replica, ground.head);
  }

  static async begin(context: Context, batch: WriteBackBatch, ground: JudgeGround): Promise<EntryJudge> {
    return new EntryJudge(context, batch, ground, await WriteBackContents.of(context, batch));
  }

  async judge(entry: WriteBackEntry): Promise<Verdict> {
    const { path, seen } = entry;
    const refusal = this.#refusal(entry);
    if (refusal !== undefined) return { kind: "refused", reason: refusal };
    const barred = this.#ground.barred.get(path);
    if (barred !== undefined && barred !== "stale") return { kind: "refused", reason: barred };
    const now = await this.#context.index.iterationAt(path, this.#ground.head);
    if (await this.#isLie(entry, now)) return { kind: "refused", reason: "causal-lie" };
    const since = await this.#work.since(path, seen, now);
    // If a crash came after the first events of a batch, the replica received no answer and sends these entries again.
    const before = since.done.get(entry.localSeq);
    if (before !== undefined) return { kind: "known", iteration: before.iteration, seq: before.seq };
    const present = await this.#ground.state.at(path);
    const behind = stateBehind(since, entry.localSeq);
    if (behind !== undefined) return decidedThen(entry, behind.row, present);
    if (this.#isFiltered(entry, present.entry)) return { kind: "refused", reason: "filtered" };
    const change = changeBetween(path, present.entry, takenEntry(entry));
    if (change === undefined) return { kind: "known", iteration: present.iteration, seq: present.seq };
    const stale = { kind: "refused", reason: "stale", against: present.seq } as const;
    if (!since.isOwn || barred === "stale") return stale;
    const held = await this.#heldBy(change);
    if (held !== undefined) return { ...stale, isHeld: true, awaits: held };
    const folders = change.after === undefined ? [] : await this.#foldersFor(path);
    if (folders === undefined) return { ...stale, awaits: await this.#inTheWay(path) };
    return { kind: "taken", change, folders, against: present.seq };
  }

  #refusal(entry: WriteBackEntry): WriteBackReason | undefined {
    const { rules } = this.#ground;
    return refusalOf(entry, this.#context.worktree.roots, rules) ?? this.#contents.refusal(entry.entry);
  }

  /**
   * True if the filter withholds the entry that a deletion deletes. A deletion does not name a kind, so the filter is
   * asked again with the kind of the present entry.
   */
  #isFiltered({ path, entry }: WriteBackEntry, present: Entry | undefined): boolean {
    if (entry !== undefined || present === undefined) return false;
    return this.#ground.rules.filter?.passes({ path, kind: present.kind }, "from-replica") === false;
  }

  /**
   * True if the entry claims to be based on an event that the replica has not acknowledged, or that is no event of this
   * path.
   */
  async #isLie({ path, seen }: WriteBackEntry, now: IterationRow | undefined): Promise<boolean> {
    if (seen === 0) return false;
    if (seen > this.#batch.acknowledged || seen > this.#ground.head) return true;
    if (now?.seq === seen || (await this.#context.index.iterationAt(path, seen))?.seq === seen) return false;
    // Events that were compacted away cannot be checked.
    this.#start ??= (await indexedFrom(this.#context)) ?? 1;
    return seen >= this.#start;
  }

  /**
   * Returns the seq of the last event that recorded an entry beneath a folder that the change deletes or replaces.
   * Returns `undefined` if the change removes no folder, or if the folder is empty.
   */
  async #heldBy({ path, before, after }: Change): Promise<number | undefined> {
    if (before?.kind !== "dir" || after?.kind === "dir") return undefined;
    return this.#ground.state.lastBeneath(path);
  }

  /**
   * Returns the seq of the event that recorded a file or link in the place of a folder above the path. Returns 0 if no
   * file or link is there, or if this batch is to record the event.
   */
  async #inTheWay(path: WorkspacePath): Promise<number> {
    for (const folder of foldersAbove(path)) {
      const { entry, seq } = await this.#ground.state.at(folder);
      if (entry !== undefined) return entry.kind !== "dir" && Number.isFinite(seq) ? seq : 0;
    }
    return 0;
  }

  /** Returns the changes that make the missing folders; `undefined` if a file or link is in a folder's place. */
  async #foldersFor(path: WorkspacePath): Promise<Change[] | undefined> {
    try {
      return await foldersFor(path, this.#ground);
    } catch (error) {
      if (error instanceof ChronicleError && error.code === "REFUSED") return undefined;
      throw error;
    }
  }
}

/**
 * Judges an entry that is older than recorded work of the same replica. Such an entry is not applied again. If the
 * entry's state equals the state of the path before that work (`then`), the verdict is `known`. If not, the entry is
 * refused as `stale`.
 */
function decidedThen(
  entry: WriteBackEntry,
  then: IterationRow | undefined,
  present: { readonly seq: number },
): Verdict {
  const isSame = changeBetween(entry.path, then?.entry, takenEntry(entry)) === undefined;
  if (!isSame) return { kind: "refused", reason: "stale", against: present.seq };
  return { kind: "known", iteration: then?.iteration ?? 0, seq: then?.seq ?? 0 };
}

/** Returns the entry's state without the mode bits that Chronicle does not set on a disk. */
function takenEntry({ entry }: WriteBackEntry): Entry | undefined {
  const set = settable(entry);
  return set?.kind === "symlink" ? { ...set, mode: SYMLINK_MODE } : set;
}

/** The contents that the entries of a batch name, as the store has them. */
class WriteBackContents {
  readonly #sizes: ReadonlyMap<Hash, number>;
  /** Contents of links that no system accepts as the target of a link, because they contain a zero byte. */
  readonly #bad: ReadonlySet<Hash>;
  /** Contents that were erased here. The replica possibly sent them before it learned of the erasure. */
  readonly #erased: ReadonlySet<Hash>;

  private constructor(sizes: ReadonlyMap<Hash, number>, bad: ReadonlySet<Hash>, erased: ReadonlySet<Hash>) {
    this.#sizes = sizes;
    this.#bad = bad;
    this.#erased = erased;
  }

  static async of(
    context: Context,
    { entries, missing }: Pick<WriteBackBatch, "entries" | "missing">,
  ): Promise<WriteBackContents> {
    const { blobs } = context;
    const sizes = new Map<Hash, number>();
    const bad = new Set<Hash>();
    for (const { entry } of entries) {
      const hash = entry?.hash;
      if (hash === undefined || sizes.has(hash) || missing?.has(hash) === true) continue;
      const reader = await blobs.open(hash);
      if (reader === undefined) continue;
      sizes.set(hash, reader.size);
      if (entry?.kind === "symlink" && (await blobs.get(hash))?.includes(0) === true) bad.add(hash);
    }
    const hashes = entries.flatMap(({ entry }) => entry?.hash ?? []);
    return new WriteBackContents(sizes, bad, await erasedAmong(context, new Set(hashes)));
  }

  /** Returns the reason to refuse an entry for its content; `undefined` if there is none. */
  refusal(entry: Entry | undefined): WriteBackReason | undefined {
    if (entry?.hash === undefined) return undefined;
    if (this.#erased.has(entry.hash)) return "erased";
    const size = this.#sizes.get(entry.hash);
    if (size === undefined) return "content-missing";
    if (size !== entry.size) return "hash-mismatch";
    return entry.kind === "symlink" && this.#bad.has(entry.hash) ? "path" : undefined;
  }
}

/** The iterations of a path since an event that a replica has seen. */
interface WorkSince {
  /**
   * True if only this replica wrote the iterations. The replica's next entry is then based on the present state,
   * because a replica knows its own work.
   */
  readonly isOwn: boolean;
  /** Maps the `localSeq` of an entry of this replica to the iteration that recorded the entry. */
  readonly done: ReadonlyMap<number, IterationRow>;
  /** All iterations, each with the iteration before it. */
  readonly rows: readonly WorkRow[];
}

interface WorkRow {
  readonly row: IterationRow;
  readonly before: IterationRow | undefined;
}

const NOTHING: WorkSince = { isOwn: true, done: new Map(), rows: [] };

/**
 * Finds the iteration that records the replica's next entry after `localSeq`, and returns the state before this
 * iteration. Returns `undefined` if there is no such iteration. The iteration shows that the entry of `localSeq` was
 * already decided. An entry that changed nothing has no iteration of its own.
 */
function stateBehind({ done, rows }: WorkSince, localSeq: number): { row: IterationRow | undefined } | undefined {
  const next = [...done.keys()].filter((own) => own > localSeq).sort((a, b) => a - b)[0];
  const found = next === undefined ? undefined : rows.find(({ row }) => row === done.get(next));
  return found === undefined ? undefined : { row: found.before };
}

/** Finds the iterations that a replica and others have written to paths. Each result is remembered. */
class ReplicaWork {
  readonly #context: Context;
  readonly #replica: string;
  readonly #head: number;
  readonly #known = new Map<WorkspacePath, Map<number, WorkSince>>();

  constructor(context: Context, replica: string, head: number) {
    this.#context = context;
    this.#replica = replica;
    this.#head = head;
  }

  /** Returns the iterations of a path after event `seen`. `now` is the path's iteration at the head. */
  async since(path: WorkspacePath, seen: number, now: IterationRow | undefined): Promise<WorkSince> {
    if ((now?.seq ?? 0) <= seen) return NOTHING;
    const known = this.#known.get(path) ?? new Map<number, WorkSince>();
    this.#known.set(path, known);
    const found = known.get(seen) ?? (await this.#read(path, seen));
    known.set(seen, found);
    return found;
  }

  async #read(path: WorkspacePath, seen: number): Promise<WorkSince> {
    const { index } = this.#context;
    const base = await index.iterationAt(path, seen);
    const rows = (await index.iterations(path, { after: base?.iteration ?? 0 })).filter(
      ({ seq }) => seq > seen && seq <= this.#head,
    );
    const located: EventRow[] = [];
    for (const { seq } of rows) {
      const row = await index.locate(seq);
      // The author of an iteration that is in a base is unknown, so such an iteration does not count as this replica's.
      if (row?.recordId === fileRecordId(path)) located.push(row);
    }
    const done = new Map<number, IterationRow>();
    let own = 0;
    const bySeq = new Map(rows.map((row) => [row.seq, row]));
    for (const event of await readEvents(this.#context, located)) {
      const row = bySeq.get(event.seq);
      const replica = changeOf(event, path)?.replica;
      if (row === undefined || replica?.id !== this.#replica) continue;
      done.set(replica.localSeq, row);
      own += 1;
    }
    return { isOwn: own === rows.length, done, rows: rows.map((row, i) => ({ row, before: rows[i - 1] ?? base })) };
  }
}
