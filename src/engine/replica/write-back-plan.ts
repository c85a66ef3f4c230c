import type { Change } from "../../core/values/change.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import type { WriteBackBatch, WriteBackEntry, WriteBackReason } from "../../core/records/write-back.ts";
import type { Context } from "../log/context.ts";
import { talliedAfter, type Tally } from "../write/write-limits.ts";
import { WriteState } from "../write/write-state.ts";
import { EntryJudge, type JudgeGround, type Verdict } from "./judge-entry.ts";

/** The state and limits that a batch is planned on. */
export interface PlanGround extends Omit<JudgeGround, "state"> {
  readonly tally: Tally;
  /** Folders of earlier batches that go as soon as nothing is in them: what this batch deletes may be the rest. */
  readonly going: readonly WriteBackEntry[];
}

/** An entry that is to be recorded: its change, and before it the folders that are missing on the way. */
export interface TakenEntry {
  readonly entry: WriteBackEntry;
  readonly changes: readonly Change[];
  /** The last event of the path before. */
  readonly against: number;
}

/** An entry that is so already. */
export interface KnownEntry {
  readonly entry: WriteBackEntry;
  readonly iteration: number;
  /** The event that made it so; infinite: it is one of this batch. */
  readonly seq: number;
}

/** An entry that is not taken. `against`: for one that is kept as a version, the last event of its path, as `seq`. */
export interface RefusedEntry {
  readonly entry: WriteBackEntry;
  readonly reason: WriteBackReason;
  readonly against?: number | undefined;
  /** The event that the replica has to know first, if that is another path's. */
  readonly awaits?: number;
}

/** The decisions about a batch; taken entries are in an order in which they can be recorded. */
export interface PlannedWriteBack {
  readonly taken: readonly TakenEntry[];
  readonly known: readonly KnownEntry[];
  readonly refused: readonly RefusedEntry[];
  /** Folders (or what takes the place of one) that were refused for what they hold, which the next batch may delete. */
  readonly going: readonly number[];
}

/** Stands for an event of the batch itself, whose number is known when all are planned. */
const OWN_EVENT = Infinity;

/** Plans what becomes of a replica's entries, each on what those before it have left. To be used with the lock held. */
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
    // Entries in a folder come before it: then the folder can go, and a crash leaves nothing without its folder.
    for (const [i, entry] of [...run.entries()].toReversed()) {
      const verdict = await judge.judge(entry);
      await plan.take(entry, verdict);
      const isOpen = isLast && run.slice(i + 1).every((later) => isWithin(later.path, entry.path));
      if (isOpen && verdict.kind === "refused" && verdict.isHeld === true) plan.going.push(entry.localSeq);
    }
  }
  return plan;
}

/** A path that is no folder any more, with the deletions of what was in it: they stand right behind it. Others alone. */
function* runsOf(entries: readonly WriteBackEntry[]): Generator<readonly WriteBackEntry[]> {
  for (let at = 0; at < entries.length;) {
    const first = entries[at] as WriteBackEntry;
    let end = at + 1;
    while (first.entry?.kind !== "dir" && isDeletionIn(entries[end], first.path)) end += 1;
    yield entries.slice(at, end);
    at = end;
  }
}

/** True if the entry deletes something beneath the folder. */
function isDeletionIn(entry: WriteBackEntry | undefined, folder: WorkspacePath): boolean {
  return entry !== undefined && entry.entry === undefined && entry.path !== folder && isWithin(entry.path, folder);
}

/** Collects what becomes of each entry. */
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
    // The number of the event does not matter: all entries of one batch are of one replica.
    await this.#state.take(changes, OWN_EVENT);
  }

  /** `undefined`: the workspace would hold more than it may. */
  #talliedAfter({ path }: WriteBackEntry, changes: readonly Change[]): Tally | undefined {
    try {
      return talliedAfter(this.#context, { path }, { changes, tally: this.#tally });
    } catch (error) {
      if (error instanceof ChronicleError && error.code === "LIMIT_EXCEEDED") return undefined;
      throw error;
    }
  }
}
