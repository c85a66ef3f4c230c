import { DirectionalFilter, type FilterPolicy, SANDBOX_POLICY } from "../../../core/filter/directional-filter.ts";
import type { Entry } from "../../../core/values/entry.ts";
import { FilterPattern } from "../../../core/filter/filter-pattern.ts";
import { hasGitName } from "../../../core/filter/git-name.ts";
import { splitRoot, type WorkspacePath } from "../../../core/values/path.ts";
import { ProtectedNames } from "../../../core/filter/protected-names.ts";
import type { PathSides, ReconcileMode } from "../../../core/tree/reconcile.ts";
import type { AddedNames, WithheldThen } from "../../../engine/replica/replica-state.ts";

/** The rules for paths, given when a sync is begun (see `ReplicaRecord`). */
export interface ReplicationRules {
  readonly mode: ReconcileMode;
  readonly policy?: string;
  readonly filterTo: readonly string[];
  readonly filterFrom: readonly string[];
  /** The `filterTo` of the last reconciliation of the folder. Default: the same. */
  readonly filteredTo?: readonly string[] | undefined;
  /** The names of secrets under which the folder was reconciled last. Default: those of the table alone. */
  readonly ownNames?: readonly string[] | undefined;
  readonly originNames?: readonly string[] | undefined;
  /** Files that are secrets by their names go both ways, too. Default: each stays on its side. */
  readonly withProtected?: boolean;
}

/** The table of names, which both sides have. */
const TABLE = new ProtectedNames();

/** The names of secrets that count here, and at the origin. */
interface SecretNames {
  readonly here: ProtectedNames;
  readonly there: ProtectedNames;
}

const NO_POLICY: FilterPolicy = { toReplica: [], fromReplica: [], useGitignore: true };

/** Decides which paths an origin and its replica's folder share. */
export class ReplicatedPaths {
  readonly mode: ReconcileMode;
  readonly #filter: DirectionalFilter;
  readonly #withProtected: boolean;
  readonly #policy: string | undefined;
  /** Filters with other patterns than the current ones, by those patterns. */
  readonly #others = new Map<string, DirectionalFilter>();
  #earlier: DirectionalFilter | undefined;
  #names: SecretNames = { here: TABLE, there: TABLE };
  /** The names that people had added when the folder was reconciled last. */
  #namedBefore: AddedNames;
  /** The names of secrets, by the names that people had added. */
  readonly #secretsBy = new Map<string, SecretNames>();

  /** Throws `USAGE` for an invalid pattern. */
  constructor({ mode, policy, filterTo, filterFrom, filteredTo, ...secrets }: ReplicationRules) {
    const { withProtected = false, ownNames = [], originNames = [] } = secrets;
    this.mode = mode;
    this.#namedBefore = { here: ownNames, there: originNames };
    this.#withProtected = withProtected;
    this.#policy = policy;
    this.#filter = filterOf(policy, filterTo);
    if (filteredTo !== undefined) this.#earlier = filterOf(policy, filteredTo);
    for (const text of filterFrom) this.#filter.addPattern(new FilterPattern(text), "from-replica");
  }

  /** True if both sides share the path. If not, neither side's changes concern the other. */
  isShared(path: WorkspacePath, isFolder: boolean): boolean {
    if (splitRoot(path).root !== undefined || hasGitName(path)) return false;
    if (!isFolder && this.#staysAsSecret(path, this.#names)) return false;
    return this.#filter.passesPath(path, isFolder, "to-replica");
  }

  /**
   * True if the patterns, or names of secrets, under which the folder was reconciled last withheld the path. Then
   * neither side knows the other's changes of it.
   */
  wasWithheld(path: WorkspacePath, isFolder: boolean): boolean {
    if (this.#earlier?.passesPath(path, isFolder, "to-replica") === false) return true;
    return !isFolder && this.#staysAsSecret(path, this.#namesOf(this.#namedBefore));
  }

  /** True if these patterns, or names of secrets, would withhold the path in the place of the present ones. */
  isWithheldBy({ filters, names }: WithheldThen, path: WorkspacePath, isFolder: boolean): boolean {
    if (!isFolder && this.#staysAsSecret(path, this.#namesOf(names))) return true;
    return filters.some((patterns) => {
      const key = JSON.stringify(patterns);
      const filter = this.#others.get(key) ?? filterOf(this.#policy, patterns);
      this.#others.set(key, filter);
      return !filter.passesPath(path, isFolder, "to-replica");
    });
  }

  /** Notes that the folder was reconciled under the current patterns. */
  reconciled(): void {
    this.#earlier = undefined;
  }

  /** The names of secrets that people had added when the folder was reconciled last. */
  get namedBefore(): AddedNames {
    return this.#namedBefore;
  }

  /** Notes that the folder was reconciled while people had added these names. Others may have been added since. */
  reconciledUnder(names: AddedNames): void {
    this.#namedBefore = names;
  }

  #namesOf({ here, there }: AddedNames): SecretNames {
    const key = JSON.stringify([here, there]);
    const known = this.#secretsBy.get(key) ?? {
      here: new ProtectedNames(here, there),
      there: new ProtectedNames(there),
    };
    this.#secretsBy.set(key, known);
    return known;
  }

  /**
   * True if the path stays on its side as a secret. Where secrets go both ways, a path whose name was added here stays
   * here, unless the origin takes it for a secret, too: otherwise the origin would show the file to everybody.
   */
  #staysAsSecret(path: WorkspacePath, { here, there }: SecretNames): boolean {
    if (this.#withProtected) return here.added(path) === true && !there.holds(path);
    return here.holds(path) || there.holds(path);
  }

  /** True if the path is a secret by its name. */
  isSecret(path: WorkspacePath): boolean {
    return this.#names.here.holds(path) || this.#names.there.holds(path);
  }

  /**
   * True if each side keeps its own state of a path, since one of them was recorded as a secret. A name that a person
   * has added or taken off takes precedence.
   */
  keepsApart({ path, local, remote }: Pick<PathSides, "local" | "remote"> & { readonly path: WorkspacePath }): boolean {
    const { here, there } = this.#names;
    if (this.#withProtected) return false;
    return isRecordedSecret(local, path, here) || isRecordedSecret(remote, path, there);
  }

  /** True if each side keeps its own state of a file because it is, or was recorded as, a secret. */
  keepsSecret(sides: Pick<PathSides, "local" | "remote"> & { readonly path: WorkspacePath }): boolean {
    const { path } = sides;
    if (splitRoot(path).root !== undefined || hasGitName(path)) return false;
    return this.#staysAsSecret(path, this.#names) || this.keepsApart(sides);
  }

  /** Sets the names of secrets: a name on either side makes a secret. Returns false if nothing changed. */
  know(here: ProtectedNames, there: ProtectedNames): boolean {
    const isSame = this.#names.here.text === here.text && this.#names.there.text === there.text;
    if (!isSame) this.#names = { here, there };
    return !isSame;
  }

  /** True if nothing is written back at all. */
  get isOneWay(): boolean {
    return this.mode === "one-way-safe" || this.mode === "one-way-replica";
  }

  /**
   * True if the folder's state is written back. `entry`: the present state, or the last one before a deletion.
   * `remote`: the origin's state, if it was not checked before.
   */
  goesBack(path: WorkspacePath, entry: Entry | undefined, remote?: Entry): boolean {
    if (this.isOneWay) return false;
    const kind = entry?.kind ?? "file";
    const size = entry?.size ?? 0;
    if (this.keepsApart({ path, local: entry, remote })) return false;
    return this.isShared(path, kind === "dir") && this.#filter.passes({ path, kind, size }, "from-replica");
  }
}

function isRecordedSecret(entry: Entry | undefined, path: WorkspacePath, names: ProtectedNames): boolean {
  return entry?.class === "protected" && names.added(path) !== false;
}

function filterOf(policy: string | undefined, filterTo: readonly string[]): DirectionalFilter {
  const filter = DirectionalFilter.of(policy === "sandbox" ? SANDBOX_POLICY : NO_POLICY);
  for (const text of filterTo) filter.addPattern(new FilterPattern(text), "to-replica");
  return filter;
}
