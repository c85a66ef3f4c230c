import { type Change, sameEntry } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { type Blocked, heldBy, stopsAll } from "./apply-step.ts";
import type { ApplyRequest, BlockedPath, BlockReason, CheckReport, OnBlocked } from "../worktree.ts";
import { oneUnitWith } from "../../core/tree/sqlite-unit.ts";
import { optional } from "../../util/optional.ts";

/** The blocked paths of an apply, each with its first reason. Used by worktrees that are not on a disk. */
export class BlockedPaths {
  readonly #changes: ReadonlyMap<WorkspacePath, Change>;
  readonly #blocked = new Map<WorkspacePath, Blocked>();

  constructor(changes: ReadonlyMap<WorkspacePath, Change>) {
    this.#changes = changes;
  }

  get size(): number {
    return this.#blocked.size;
  }

  has(path: WorkspacePath): boolean {
    return this.#blocked.has(path);
  }

  get(path: WorkspacePath): Blocked | undefined {
    return this.#blocked.get(path);
  }

  block(path: WorkspacePath, reason: BlockReason, detail: string): void {
    if (!this.has(path)) this.#blocked.set(path, { reason, detail });
  }

  /** Blocks the removal of a folder unless all its children are removed, too. */
  blockHolding(folder: WorkspacePath, children: readonly WorkspacePath[]): void {
    const held = heldBy(
      children.map((child) => {
        const change = this.#changes.get(child);
        const blocked = this.get(child);
        return {
          name: child,
          goes: change !== undefined && change.after === undefined && blocked === undefined,
          blocked,
        };
      }),
    );
    if (held !== undefined && !this.has(folder)) this.#blocked.set(folder, held);
  }

  /** Blocks the paths that change only together with a blocked path. */
  holdUnits(together: ApplyRequest["together"] = []): void {
    for (const unit of together) {
      const cause = unit.find((path) => this.has(path));
      const why = cause === undefined ? undefined : this.get(cause);
      if (cause === undefined || why === undefined) continue;
      for (const path of unit) {
        const change = this.#changes.get(path);
        if (change === undefined || sameEntry(change.before, change.after)) continue;
        if (this.has(path)) continue;
        this.#blocked.set(path, { reason: why.reason, detail: oneUnitWith(cause, why.detail), with: cause });
      }
    }
  }

  stopAll(onBlocked: OnBlocked): boolean {
    return [...this.#blocked].some(([path, blocked]) =>
      stopsAll({ blocked, after: this.#changes.get(path)?.after }, onBlocked),
    );
  }

  report(onBlocked: OnBlocked): CheckReport {
    const paths = this.stopAll(onBlocked) ? [] : [...this.#changes.keys()];
    return { applied: paths.filter((path) => !this.has(path)), blocked: this.told() };
  }

  told(): BlockedPath[] {
    return [...this.#blocked].map(([path, { reason, detail, with: other }]) => ({
      path,
      reason,
      detail,
      ...optional({ with: other }),
    }));
  }
}
