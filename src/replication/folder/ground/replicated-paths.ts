import { DirectionalFilter, type FilterPolicy, SANDBOX_POLICY } from "../../../core/filter/directional-filter.ts";
import type { Entry } from "../../../core/values/entry.ts";
import { FilterPattern } from "../../../core/filter/filter-pattern.ts";
import { hasGitName } from "../../../core/filter/git-name.ts";
import { splitRoot, type WorkspacePath } from "../../../core/values/path.ts";
import { ProtectedNames } from "../../../core/filter/protected-names.ts";
import type { PathSides, ReconcileMode } from "../../../core/tree/reconcile.ts";
import type { AddedNames, WithheldThen } from "../../../engine/replica/replica-state.ts";

/** The rules that decide which paths are replicated. They are set when a sync begins (see `ReplicaRecord`). */
export interface ReplicationRules {
  readonly mode: ReconcileMode;
  readonly policy?: string;
  readonly filterTo: readonly string[];
  readonly filterFrom: readonly string[];
  /** The `filterTo` of the folder's last reconciliation. Default: `filterTo`. */
  readonly filteredTo?: readonly string[] | undefined;
  /**
   * The names of secrets that people had added, by the time of the last reconciliation, in the folder (`ownNames`) and
   * at the origin (`originNames`). Default: none. The names in the built-in table apply in any case.
   */
  readonly ownNames?: readonly string[] | undefined;
  readonly originNames?: readonly string[] | undefined;
  /**
   * True if secrets (files whose names mark them as secrets) are replicated in both directions. Default: each secret
   * stays on its side.
   */
  readonly withProtected?: boolean;
}

const TABLE = new ProtectedNames();

/** The names that make a file a secret in the folder (`here`) and at the origin (`there`). */
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
  /** Maps earlier patterns, as JSON, to the filter with these patterns. */
  readonly #others = new Map<string, DirectionalFilter>();
  #earlier: DirectionalFilter | undefined;
  #names: SecretNames = { here: TABLE, there: TABLE };
  #namedBefore: AddedNames;
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

  /** True if the path is replicated. If false, a change of the path on one side does not concern the other side. */
  isShared(path: WorkspacePath, isFolder: boolean): boolean {
    if (splitRoot(path).root !== undefined || hasGitName(path)) return false;
    if (!isFolder && this.#staysAsSecret(path, this.#names)) return false;
    return this.#filter.passesPath(path, isFolder, "to-replica");
  }

  /**
   * True if the path was withheld at the last reconciliation, by the filter patterns or the names of secrets of that
   * time. Neither side knows the other side's changes of a withheld path.
   */
  wasWithheld(path: WorkspacePath, isFolder: boolean): boolean {
    if (this.#earlier?.passesPath(path, isFolder, "to-replica") === false) return true;
    return !isFolder && this.#staysAsSecret(path, this.#namesOf(this.#namedBefore));
  }

  /**
   * True if the path was withheld by at least one of the earlier `filters`, or by the earlier `names` of secrets. The
   * present filter and names do not count.
   */
  isWithheldBy({ filters, names }: WithheldThen, path: WorkspacePath, isFolder: boolean): boolean {
    if (!isFolder && this.#staysAsSecret(path, this.#namesOf(names))) return true;
    return filters.some((patterns) => {
      const key = JSON.stringify(patterns);
      const filter = this.#others.get(key) ?? filterOf(this.#policy, patterns);
      this.#others.set(key, filter);
      return !filter.passesPath(path, isFolder, "to-replica");
    });
  }

  /** Must be called after a reconciliation under the present filter. `wasWithheld` then ignores the earlier filter. */
  reconciled(): void {
    this.#earlier = undefined;
  }

  /** The names of secrets that people had added by the time of the folder's last reconciliation. */
  get namedBefore(): AddedNames {
    return this.#namedBefore;
  }

  /**
   * Must be called after a reconciliation, with the added names that the reconciliation used. Names that were added
   * meanwhile may be missing among these.
   */
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
   * True if a file stays on its side because its name marks it as a secret. Even if secrets are replicated, a file
   * stays in the folder if its name was added only in the folder. The origin does not know such a name, and would show
   * the file to everybody.
   */
  #staysAsSecret(path: WorkspacePath, { here, there }: SecretNames): boolean {
    if (this.#withProtected) return here.added(path) === true && !there.holds(path);
    return here.holds(path) || (there.text !== here.text && there.holds(path));
  }

  isSecret(path: WorkspacePath): boolean {
    return this.#names.here.holds(path) || this.#names.there.holds(path);
  }

  /**
   * True if each side keeps its own state of a path because one of these states was recorded as a secret. False if
   * secrets are replicated. A state does not count if a person has since removed the path's name from the list of
   * secrets.
   */
  keepsApart({ path, local, remote }: Pick<PathSides, "local" | "remote"> & { readonly path: WorkspacePath }): boolean {
    const { here, there } = this.#names;
    if (this.#withProtected) return false;
    return isRecordedSecret(local, path, here) || isRecordedSecret(remote, path, there);
  }

  /** True if each side keeps its own state of a file, because the file is a secret or was recorded as one. */
  keepsSecret(sides: Pick<PathSides, "local" | "remote"> & { readonly path: WorkspacePath }): boolean {
    const { path } = sides;
    if (splitRoot(path).root !== undefined || hasGitName(path)) return false;
    return this.#staysAsSecret(path, this.#names) || this.keepsApart(sides);
  }

  /** Sets the names of secrets. A name on either side makes a file a secret. Returns true if the names have changed. */
  know(here: ProtectedNames, there: ProtectedNames): boolean {
    const isSame = this.#names.here.text === here.text && this.#names.there.text === there.text;
    if (!isSame) this.#names = { here, there };
    return !isSame;
  }

  get isOneWay(): boolean {
    return this.mode === "one-way-safe" || this.mode === "one-way-replica";
  }

  /**
   * True if the folder's changes of the path are sent to the origin. `entry` is the present state, or the last state
   * before a deletion. `remote` is the origin's state. A caller that has already asked `keepsApart` can omit `remote`.
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
