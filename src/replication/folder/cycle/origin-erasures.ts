import { sameEntry } from "../../../core/values/entry.ts";
import { foldersAbove, type WorkspacePath } from "../../../core/values/path.ts";
import type { ReplicaRecord } from "../../../core/records/replica-record.ts";
import { holdsSeq } from "../../../core/values/seq-ranges.ts";
import type { Context } from "../../../engine/log/context.ts";
import {
  adoptErasures,
  type ErasuresWaiting,
  leaveUntracked,
  type OriginsErasures,
  type UntrackedPath,
} from "../../../engine/replica/adopt-erasures.ts";
import type { Mirror } from "../../replica/mirror.ts";
import { settable } from "../ground/decide-cycle.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";

export interface Standing {
  readonly record: Pick<ReplicaRecord, "origin" | "settled">;
  /** The origin's event up to which the folder is reconciled with the origin. */
  readonly applied: number;
  /** Paths about which the folder and its origin disagree. */
  readonly disputed: readonly WorkspacePath[];
}

/** Adopts an origin's erasures: repeats them in the history of the folder that follows the origin. */
export class OriginErasures {
  readonly #context: Context;
  readonly #mirror: Mirror;
  readonly #rules: ReplicatedPaths;
  /**
   * The seq of the last erasure of the origin that was adopted, together with all earlier erasures; 0 if there is none.
   */
  #followed = 0;
  #waiting: ErasuresWaiting | undefined;
  #state = "";

  constructor({ context, mirror, rules }: { context: Context; mirror: Mirror; rules: ReplicatedPaths }) {
    this.#context = context;
    this.#mirror = mirror;
    this.#rules = rules;
  }

  /**
   * Makes the folder's history stop recording the paths that the origin has stopped recording because of an erasure.
   * The files stay in the folder. Must be called before a step is planned. Returns false if only a part of the
   * erasure's commit has arrived.
   */
  async leave(standing: Standing): Promise<boolean> {
    const { applied } = standing;
    const { seq: head } = this.#mirror.head;
    // The erasure itself is the last event of a commit that erases contents. If the mirror's last event is another
    // event of such a commit, the rest of the commit has not arrived yet.
    if (head > applied && (await this.#mirror.record(head))?.cause === "erase") return false;
    if (applied === 0 || (await this.#mirror.lastErasure()) <= applied) return true;
    const given = await this.#given(standing);
    const untracked = await this.#untracked({ applied, head }, given.erasures);
    if (untracked.length === 0) return true;
    const isLeaving = (path: WorkspacePath): Promise<boolean> => this.#isBehind(path, applied, head);
    await leaveUntracked(this.#context, { ...given, isLeaving }, untracked);
    return true;
  }

  /** Adopts the origin's erasures, and its withdrawals of erasures. Must be called after each step. */
  async follow(standing: Standing): Promise<void> {
    const last = await this.#mirror.lastErasure();
    if (last === this.#followed || last > standing.applied) return;
    if (this.#waiting !== undefined && this.#state === (await this.#stateOf(this.#waiting, standing))) return;
    const disputed = new Set(standing.disputed);
    const isLeaving = async (path: WorkspacePath): Promise<boolean> =>
      [path, ...foldersAbove(path)].some((one) => disputed.has(one));
    const waiting = await adoptErasures(this.#context, { ...(await this.#given(standing)), isLeaving });
    if (waiting === undefined) this.#followed = last;
    this.#waiting = waiting;
    this.#state = waiting === undefined ? "" : await this.#stateOf(waiting, standing);
  }

  async #given({ record: { origin, settled } }: Standing) {
    const erasures = await this.#mirror.erasures();
    return { origin, erasures, settled: this.#rules.isOneWay ? Number.MAX_SAFE_INTEGER : settled };
  }

  async #stateOf({ paths, isUnsent }: ErasuresWaiting, { record, disputed }: Standing): Promise<string> {
    const { seq } = await this.#context.index.head();
    const rows = await this.#context.index.iterationsAt(paths, seq);
    const last = await this.#mirror.lastErasure();
    return JSON.stringify([last, rows.map((row) => row?.seq ?? 0), disputed, isUnsent ? record.settled : 0]);
  }

  /**
   * Returns the paths that the origin has stopped recording because of an erasure. Leaves out a path if its state in
   * the folder is not the last state that the origin had recorded.
   */
  async #untracked(
    { applied, head }: { readonly applied: number; readonly head: number },
    erasures: OriginsErasures["erasures"],
  ): Promise<UntrackedPath[]> {
    const touched = (await this.#mirror.touched(applied, head)).filter((path) => this.#rules.isShared(path, false));
    const rows = await this.#mirror.iterationsAt(touched, head);
    const absent = touched.flatMap((path, i) => {
      const row = rows[i];
      return row !== undefined && row.entry === undefined && row.seq > applied ? [{ path, row }] : [];
    });
    const records = await this.#mirror.records(absent.map(({ row }) => row.seq));
    const { index } = this.#context;
    const { seq: local } = await index.head();
    const found: UntrackedPath[] = [];
    for (const { path, row } of absent) {
      const record = records.get(row.seq);
      // After a full reconciliation, the mirror lacks the lines of earlier events, and their records are missing.
      const by = record ?? erasures.find(({ untracked }) => holdsSeq(untracked, row.seq));
      if (by === undefined || (record !== undefined && record.cause !== "erase")) continue;
      const before = (await index.iterationAt(path, local))?.entry;
      const there = (await this.#mirror.iterationAt(path, row.seq - 1))?.entry;
      if (before === undefined || !sameEntry(settable(before), settable(there))) continue;
      const { seq, iteration } = row;
      found.push({ path, before, upstream: { seq, iteration }, actor: by.actor });
    }
    return found;
  }

  /** True if the folder still has the state on which both sides last agreed, while the origin has another state. */
  async #isBehind(path: WorkspacePath, applied: number, head: number): Promise<boolean> {
    const { index } = this.#context;
    const { seq: local } = await index.head();
    const here = settable((await index.iterationAt(path, local))?.entry);
    const [then, now] = [await this.#mirror.iterationAt(path, applied), await this.#mirror.iterationAt(path, head)];
    return sameEntry(here, settable(then?.entry)) && !sameEntry(here, settable(now?.entry));
  }
}
