import type { Change } from "../../core/values/change.ts";
import { SYMLINK_MODE, type Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { foldersAbove, type WorkspacePath } from "../../core/values/path.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import type { WriteBackBatch, WriteBackEntry, WriteBackReason, WriteBackRules } from "../../core/records/write-back.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { indexedFrom } from "../log/history-start.ts";
import { settable } from "../capture/operate.ts";
import { foldersFor } from "../write/plan-write.ts";
import type { WriteState } from "../write/write-state.ts";
import { ReplicaWork, stateBehind } from "./replica-work.ts";
import { WriteBackContents } from "./write-back-contents.ts";
import { refusalOf } from "./write-back-rules.ts";

/** The decision about an entry. */
export type Verdict =
  /** The entry is to be recorded, with the missing folders above it. `against`: the last event of the path now. */
  | { readonly kind: "taken"; readonly change: Change; readonly folders: readonly Change[]; readonly against: number }
  /** The state is recorded already, by this iteration and its event. */
  | { readonly kind: "known"; readonly iteration: number; readonly seq: number }
  | Refused;

/** An entry is not taken. */
export interface Refused {
  readonly kind: "refused";
  readonly reason: WriteBackReason;
  /** For `stale`, the last event of the path. */
  readonly against?: number;
  /** The event of another path that is why, and has to be known before it can be decided otherwise; 0: one of this batch. */
  readonly awaits?: number;
  /** True if only the contents of the folder are the reason. */
  readonly isHeld?: true;
}

/** On what ground entries are judged. */
export interface JudgeGround {
  /** The files as recorded, with what was taken before. */
  readonly state: WriteState;
  /** The last event as of which the state was read. */
  readonly head: number;
  readonly rules: WriteBackRules;
  /** Paths that cannot be written here, and what that comes to. */
  readonly barred: ReadonlyMap<WorkspacePath, WriteBackReason>;
  /** Returns whether an unrecorded folder is at the path. */
  readonly isUnrecordedFolder: (path: WorkspacePath) => Promise<boolean>;
}

/**
 * Decides whether what a replica wrote becomes the state of a path. It does where the replica knew the path's state: where
 * nobody but this replica has changed the path since the event that it had seen. To be used with the lock held.
 */
export class EntryJudge {
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
    // A crash may have left the first events of a batch, without the answer to it.
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

  /** A deletion does not say what it deletes: a filter that means folders only is asked about what is there. */
  #isFiltered({ path, entry }: WriteBackEntry, present: Entry | undefined): boolean {
    if (entry !== undefined || present === undefined) return false;
    return this.#ground.rules.filter?.passes({ path, kind: present.kind }, "from-replica") === false;
  }

  /**
   * Returns whether the entry claims to have seen an event that it cannot have seen, or that is no event of this path.
   */
  async #isLie({ path, seen }: WriteBackEntry, now: IterationRow | undefined): Promise<boolean> {
    if (seen === 0) return false;
    if (seen > this.#batch.acknowledged || seen > this.#ground.head) return true;
    if (now?.seq === seen || (await this.#context.index.iterationAt(path, seen))?.seq === seen) return false;
    // Events that were compacted away cannot be checked.
    this.#start ??= (await indexedFrom(this.#context)) ?? 1;
    return seen >= this.#start;
  }

  /** The last event of what lies in a folder that is to be none any more; `undefined`: nothing does. */
  async #heldBy({ path, before, after }: Change): Promise<number | undefined> {
    if (before?.kind !== "dir" || after?.kind === "dir") return undefined;
    return this.#ground.state.lastBeneath(path);
  }

  /** The event that put something else where a folder above a path would have to be; 0: it is of this batch. */
  async #inTheWay(path: WorkspacePath): Promise<number> {
    for (const folder of foldersAbove(path)) {
      const { entry, seq } = await this.#ground.state.at(folder);
      if (entry !== undefined) return entry.kind !== "dir" && Number.isFinite(seq) ? seq : 0;
    }
    return 0;
  }

  /** The folders that are missing on the way; `undefined`: something else is in it. */
  async #foldersFor(path: WorkspacePath): Promise<Change[] | undefined> {
    try {
      return await foldersFor(path, this.#ground);
    } catch (error) {
      if (error instanceof ChronicleError && error.code === "REFUSED") return undefined;
      throw error;
    }
  }
}

/** An entry overtaken by the replica's own later work is not applied again: it was either taken then, or refused. */
function decidedThen(
  entry: WriteBackEntry,
  then: IterationRow | undefined,
  present: { readonly seq: number },
): Verdict {
  const isSame = changeBetween(entry.path, then?.entry, takenEntry(entry)) === undefined;
  if (!isSame) return { kind: "refused", reason: "stale", against: present.seq };
  return { kind: "known", iteration: then?.iteration ?? 0, seq: then?.seq ?? 0 };
}

/** Returns the state as it is recorded: bits that Chronicle would not set on a disk are not handed on. */
function takenEntry({ entry }: WriteBackEntry): Entry | undefined {
  const set = settable(entry);
  return set?.kind === "symlink" ? { ...set, mode: SYMLINK_MODE } : set;
}
