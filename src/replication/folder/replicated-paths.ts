import { DirectionalFilter, type FilterPolicy } from "../../core/directional-filter.ts";
import type { Entry } from "../../core/entry.ts";
import { FilterPattern } from "../../core/filter-pattern.ts";
import { hasGitName } from "../../core/git-name.ts";
import { splitRoot, type WorkspacePath } from "../../core/path.ts";
import { ProtectedNames } from "../../core/protected-names.ts";
import type { ReconcileMode } from "../../core/reconcile.ts";
import { SANDBOX_POLICY } from "../../core/sandbox-policy.ts";

/** What is said about paths when a sync is begun (see `ReplicaRecord`). */
export interface ReplicationRules {
  readonly mode: ReconcileMode;
  readonly policy?: string;
  readonly filterTo: readonly string[];
  readonly filterFrom: readonly string[];
  /** Files that are secrets by their names go both ways, too. Default: each stays on its side. */
  readonly withProtected?: boolean;
}

/** Both sides have the same table of names; what a person has added at the origin the origin knows. */
const SECRETS = new ProtectedNames();

const NO_POLICY: FilterPolicy = { toReplica: [], fromReplica: [], useGitignore: true };

/** Which paths of an origin and of its replica's folder have to do with one another. */
export class ReplicatedPaths {
  readonly mode: ReconcileMode;
  readonly #filter: DirectionalFilter;
  readonly #withProtected: boolean;

  /** Throws `USAGE` for a pattern that is none. */
  constructor({ mode, policy, filterTo, filterFrom, withProtected = false }: ReplicationRules) {
    this.mode = mode;
    this.#withProtected = withProtected;
    this.#filter = filterOf(policy);
    for (const text of filterTo) this.#filter.addPattern(new FilterPattern(text), "to-replica");
    for (const text of filterFrom) this.#filter.addPattern(new FilterPattern(text), "from-replica");
  }

  /** Does what the origin has there lie in the folder, too? If not, neither side's changes concern the other. */
  isShared(path: WorkspacePath, isFolder: boolean): boolean {
    if (splitRoot(path).root !== undefined || hasGitName(path)) return false;
    if (!isFolder && !this.#withProtected && SECRETS.holds(path)) return false;
    return this.#filter.passesPath(path, isFolder, "to-replica");
  }

  /** Is nothing written back at all? */
  get isOneWay(): boolean {
    return this.mode === "one-way-safe" || this.mode === "one-way-replica";
  }

  /** Is what the folder has there written back? `entry`: as it is, or, of a deletion, as it was. */
  goesBack(path: WorkspacePath, entry: Entry | undefined): boolean {
    if (this.isOneWay) return false;
    const kind = entry?.kind ?? "file";
    const size = entry?.size ?? 0;
    return this.isShared(path, kind === "dir") && this.#filter.passes({ path, kind, size }, "from-replica");
  }
}

function filterOf(policy: string | undefined): DirectionalFilter {
  return DirectionalFilter.of(policy === "sandbox" ? SANDBOX_POLICY : NO_POLICY);
}
