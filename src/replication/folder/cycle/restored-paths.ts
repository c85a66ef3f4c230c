import { sameEntry, type Entry } from "../../../core/values/entry.ts";
import type { Hash } from "../../../core/values/hash.ts";
import { comparePaths, type WorkspacePath } from "../../../core/values/path.ts";
import { both, settle, type Side } from "../../../core/tree/reconcile.ts";
import type { Mirror } from "../../replica/mirror.ts";
import type { CyclePath, SettledDecision } from "../ground/decide-cycle.ts";
import type { Gone } from "../ground/recently-gone.ts";
import { putBack } from "./deletion-guard.ts";

export interface Restoring {
  readonly paths: readonly CyclePath[];
  readonly decisions: readonly SettledDecision[];
  /**
   * The sides to which lost entries are restored. Empty unless a person's decision, or `keeps` in the sync's record,
   * demands a restore.
   */
  readonly sides: ReadonlySet<Side>;
  /**
   * True if entries whose contents the origin has erased are not restored. The origin would not accept these contents.
   */
  readonly leavesErased: boolean;
  /** True if the path's deletion is intended, because a person has settled the path's conflict. */
  readonly isMeant: (path: WorkspacePath) => boolean;
}

/**
 * Restores the entries that a person wants back after a large deletion has halted the sync. (A halted sync does nothing
 * until a person decides.) An entry that was deleted on only one side is restored from the other side. An entry that
 * was deleted on both sides just before the halt is restored from the history. If the folder's deletion of an entry was
 * already sent, the entry is restored once the origin's event about this deletion has arrived.
 */
export class RestoredPaths {
  readonly #mirror: Pick<Mirror, "record" | "erasures">;
  readonly #sandboxId: string;
  #gone = new Map<WorkspacePath, Gone>();

  constructor(mirror: Pick<Mirror, "record" | "erasures">, sandboxId: string) {
    this.#mirror = mirror;
    this.#sandboxId = sandboxId;
  }

  /** The paths that the next step (one reconciliation of both sides) must compare, even if they have not changed. */
  get paths(): Iterable<WorkspacePath> {
    return this.#gone.keys();
  }

  /** Sets the entries that were deleted just before the halt. They replace the entries of earlier calls. */
  want(gone: ReadonlyMap<WorkspacePath, Gone>): void {
    this.#gone = new Map(gone);
  }

  /** Returns the decisions, changed so that they restore the wanted entries. */
  async decide({ paths, decisions, sides, leavesErased, isMeant }: Restoring): Promise<readonly SettledDecision[]> {
    if (sides.size === 0 && this.#gone.size === 0) return decisions;
    const erased = leavesErased ? await this.#erased() : new Set<Hash>();
    const isErased = (entry: Entry | undefined): boolean => entry?.hash !== undefined && erased.has(entry.hash);
    const left = new Set(
      decisions.filter(({ sides: has }) => isErased(has.local ?? has.remote)).map(({ path }) => path),
    );
    const isLeft = (path: WorkspacePath): boolean => left.has(path) || isMeant(path);
    const kept = [...sides].reduce((all, side) => putBack(all, side, isLeft), decisions);
    for (const [path, { entry }] of this.#gone) if (isErased(entry)) this.#gone.delete(path);
    if (this.#gone.size === 0) return kept;
    const back = new Map<WorkspacePath, SettledDecision>();
    for (const one of paths) {
      const gone = this.#gone.get(one.path);
      if (gone === undefined || !(await this.#isMissing(one, gone, sides))) continue;
      const { path, base, local, remote } = one;
      const states = { base: base.entry, local, remote };
      back.set(path, { path, sides: states, decision: settle(states, both(gone.entry)) });
    }
    const others = kept.filter(({ path }) => !back.has(path));
    return [...others, ...back.values()].sort((a, b) => comparePaths(a.path, b.path));
  }

  /**
   * Must be called after a step has decided about these paths. Forgets these paths, except paths that were deleted in
   * the folder and still exist in the part of the origin's history that has arrived.
   */
  done(paths: readonly CyclePath[]): void {
    if (this.#gone.size === 0) return;
    for (const { path, remote } of paths) {
      if (remote === undefined || this.#gone.get(path)?.lostOn === "remote") this.#gone.delete(path);
    }
  }

  async #erased(): Promise<ReadonlySet<Hash>> {
    const inForce = (await this.#mirror.erasures()).filter(({ state }) => state === "erased");
    return new Set(inForce.flatMap(({ contents }) => contents));
  }

  async #isMissing({ local, remote, upstream }: CyclePath, gone: Gone, sides: ReadonlySet<Side>): Promise<boolean> {
    if (remote !== undefined) return false;
    if (local === undefined) return sides.has(gone.lostOn);
    if (upstream === undefined || !sameEntry(local, gone.entry)) return false;
    return (await this.#mirror.record(upstream.seq))?.replica?.id === this.#sandboxId;
  }
}
