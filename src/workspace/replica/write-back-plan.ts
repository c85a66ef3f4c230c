import type { Change } from "../../core/change.ts";
import { ChronicleError } from "../../core/errors.ts";
import type { EventDraft } from "../../core/event.ts";
import { encodeFile, fileRecordId } from "../../core/file-record.ts";
import { isWithin, type WorkspacePath } from "../../core/path.ts";
import { composeChanges } from "../../core/plan.ts";
import type {
  AcceptedEntry,
  RejectedEntry,
  WriteBackAnswer,
  WriteBackBatch,
  WriteBackEntry,
} from "../../core/write-back.ts";
import { versionDraft, writeBackDraft } from "../../core/write-back-record.ts";
import type { Context } from "../context.ts";
import { talliedAfter, type Tally } from "../write-limits.ts";
import { WriteState } from "../write-state.ts";
import { EntryJudge, type JudgeGround, type Verdict } from "./judge-entry.ts";

/** What a batch is planned on. */
export interface PlanGround extends Omit<JudgeGround, "state"> {
  /** The event that the first draft will be. */
  readonly firstSeq: number;
  readonly tally: Tally;
}

/** What is recorded of a batch, and answered. */
export interface PlannedWriteBack {
  /** What is to be done to the files, one change for each path. */
  readonly changes: readonly Change[];
  readonly files: readonly EventDraft[];
  /** What was not taken and is kept; the answer, which is recorded as well. */
  readonly records: readonly EventDraft[];
  readonly answer: WriteBackAnswer;
}

/** Answers up to this many are recorded with their batch. */
const MOST_ANSWERS = 1_000;

/** Plans what becomes of a replica's entries, each on what those before it have left. To be used with the lock held. */
export async function planWriteBack(
  context: Context,
  batch: WriteBackBatch,
  ground: PlanGround,
): Promise<PlannedWriteBack> {
  const state = new WriteState(context.index, ground.head);
  const judge = await EntryJudge.begin(context, batch, { ...ground, state });
  const plan = new WriteBackPlan(context, batch, { ...ground, state });
  for (const run of runsOf(batch.entries)) {
    const verdicts: Verdict[] = [];
    const going = new Set<WorkspacePath>();
    // What lies in a folder first: with all of it, the folder can go.
    for (const entry of run.toReversed()) {
      const verdict = await judge.judge(entry, going);
      if (verdict.kind === "taken" && verdict.change.after === undefined) going.add(entry.path);
      verdicts.unshift(verdict);
    }
    for (const [i, entry] of run.entries()) await plan.take(entry, verdicts[i] as Verdict);
  }
  return plan.end();
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

/** Is the entry the deletion of something that lies beneath a path? */
export function isDeletionIn(entry: WriteBackEntry | undefined, folder: WorkspacePath): boolean {
  return entry !== undefined && entry.entry === undefined && entry.path !== folder && isWithin(entry.path, folder);
}

/** Collects events and answers, in the order of the entries. */
class WriteBackPlan {
  readonly #context: Context;
  readonly #batch: WriteBackBatch;
  readonly #ground: PlanGround & { readonly state: WriteState };
  readonly #files: EventDraft[] = [];
  readonly #versions: EventDraft[] = [];
  readonly #changes: Change[] = [];
  readonly #accepted: AcceptedEntry[] = [];
  readonly #rejected: RejectedEntry[] = [];
  #tally: Tally;

  constructor(context: Context, batch: WriteBackBatch, ground: PlanGround & { readonly state: WriteState }) {
    this.#context = context;
    this.#batch = batch;
    this.#ground = ground;
    this.#tally = ground.tally;
  }

  async take(entry: WriteBackEntry, verdict: Verdict): Promise<void> {
    const { localSeq } = entry;
    if (verdict.kind === "known")
      this.#accepted.push({ localSeq, iteration: verdict.iteration, sequence: verdict.seq });
    else if (verdict.kind === "refused") this.#reject(entry, verdict);
    else if (this.#fits(entry, verdict)) await this.#record(entry, verdict);
    else this.#rejected.push({ localSeq, reason: "too-large" });
  }

  end(): PlannedWriteBack {
    const { replica, entries } = this.#batch;
    const answer = { accepted: this.#accepted, rejected: this.#rejected };
    const recorded = entries.length > MOST_ANSWERS ? { accepted: [], rejected: [] } : answer;
    const settled = writeBackDraft(replica, { settled: entries.at(-1)?.localSeq ?? 0, ...recorded });
    const changes = composeChanges([], this.#changes);
    return { changes, files: this.#files, records: [...this.#versions, settled], answer };
  }

  #fits({ path }: WriteBackEntry, { change, folders }: Extract<Verdict, { readonly kind: "taken" }>): boolean {
    try {
      this.#tally = talliedAfter(this.#context, { path }, { changes: [...folders, change], tally: this.#tally });
      return true;
    } catch (error) {
      if (error instanceof ChronicleError && error.code === "LIMIT_EXCEEDED") return false;
      throw error;
    }
  }

  #reject(entry: WriteBackEntry, { reason, against }: Extract<Verdict, { readonly kind: "refused" }>): void {
    const { localSeq } = entry;
    if (reason !== "stale" || against === undefined) {
      this.#rejected.push({ localSeq, reason });
      return;
    }
    this.#versions.push(versionDraft({ ...entry, replica: this.#batch.replica, against }));
    const kept = { contentHash: entry.entry?.hash ?? null };
    this.#rejected.push({ localSeq, reason, currentSequence: against, kept });
  }

  async #record(
    entry: WriteBackEntry,
    { change, folders }: Extract<Verdict, { readonly kind: "taken" }>,
  ): Promise<void> {
    const { state, firstSeq } = this.#ground;
    const changes = [...folders, change];
    await state.take(changes, firstSeq + this.#files.length);
    for (const { path, after } of changes) {
      const { iteration } = await state.at(path);
      const { localSeq } = entry;
      const record = encodeFile({
        entry: after,
        iteration,
        cause: "replica",
        ...whose(entry),
        replica: { id: this.#batch.replica, localSeq },
      });
      this.#files.push({ op: "upsert", recordId: fileRecordId(path), record });
    }
    this.#changes.push(...changes);
    const { iteration, seq: sequence } = await state.at(entry.path);
    this.#accepted.push({ localSeq: entry.localSeq, iteration, sequence });
  }
}

function whose({
  actor,
  session,
  turn,
  action,
}: WriteBackEntry): Pick<WriteBackEntry, "actor" | "session" | "turn" | "action"> {
  return {
    actor: actor.toWellFormed(),
    ...(session === undefined ? {} : { session: session.toWellFormed() }),
    ...(turn === undefined ? {} : { turn: turn.toWellFormed() }),
    ...(action === undefined ? {} : { action: action.toWellFormed() }),
  };
}
