import { type Entry, sameEntry } from "../../../core/values/entry.ts";
import { type FolderTraits, holdsAllEntries, whyNotHeldAt } from "../../../core/tree/folder-traits.ts";
import { foldersAbove, type WorkspacePath } from "../../../core/values/path.ts";
import { NEVER } from "../ground/common-ground.ts";
import type { CyclePath } from "../ground/decide-cycle.ts";
import type { SidesOf } from "./git-paths.ts";

/** A path of the origin that cannot lie in the folder, with the reason and the sides that have an entry there. */
export interface NotHeld extends SidesOf {
  readonly why: string;
}

/**
 * Knows which entries of an origin the folder's disk cannot hold: links, some names. Those stay at the origin. If the
 * folder keeps no modes, the origin's count.
 */
export class NotHeldPaths {
  readonly #traits: () => FolderTraits;
  readonly #found = new Map<WorkspacePath, NotHeld>();

  constructor(traits: () => FolderTraits) {
    this.#traits = traits;
  }

  /** The paths left out, as far as they were compared. */
  get leftOut(): ReadonlyMap<WorkspacePath, NotHeld> {
    return this.#found;
  }

  /** Returns the sides to decide about, without the paths that do not concern the folder. */
  sides(paths: Iterable<CyclePath>): CyclePath[] {
    const traits = this.#traits();
    if (traits.modes && holdsAllEntries(traits)) return [...paths];
    const given = [...paths];
    const kept = given.flatMap((one) => this.#sidesOf(one, traits) ?? []);
    if (this.#found.size === 0) return kept;
    // The contents of a folder that was made at such a path have no place at the origin.
    const decided = new Set(kept.map(({ path }) => path));
    const left = new Set(given.map(({ path }) => path).filter((path) => !decided.has(path)));
    return kept.filter(({ path }) => !foldersAbove(path).some((folder) => left.has(folder)));
  }

  /**
   * True if a change of the folder stays there, since it would replace an entry of the origin, at this path or above
   * it, that the folder cannot hold.
   */
  async keepsHere(
    path: WorkspacePath,
    remoteOf: (path: WorkspacePath) => Promise<Entry | undefined>,
  ): Promise<boolean> {
    const traits = this.#traits();
    if (holdsAllEntries(traits)) return false;
    for (const at of [path, ...foldersAbove(path)]) {
      const remote = await remoteOf(at);
      if (remote !== undefined && whyNotHeldAt(traits, remote) !== undefined) return true;
    }
    return false;
  }

  /**
   * True if a step's proposal stays here, for the reason of `keepsHere`. Asked about a path that `sides` has compared,
   * with the folders above it.
   */
  keepsProposal(path: WorkspacePath): boolean {
    return this.#found.size > 0 && [path, ...foldersAbove(path)].some((at) => this.#found.has(at));
  }

  /** True if the origin's entry may come into a folder that has nothing there yet. */
  mayCome(path: WorkspacePath, remote: Entry | undefined): boolean {
    const traits = this.#traits();
    return holdsAllEntries(traits) || this.#note({ path, local: undefined, remote }, traits) === undefined;
  }

  #sidesOf(given: CyclePath, traits: FolderTraits): CyclePath | undefined {
    const one = withoutOwnMode(withHeldBase(given, traits), traits);
    if (this.#note(one, traits) === undefined) return one;
    // If the folder's state is still that of the base, it is outdated, and goes: the origin has made another entry of
    // it.
    const { local, base } = one;
    return local !== undefined && sameEntry(local, base.entry) ? { ...one, remote: undefined } : undefined;
  }

  #note(
    { path, local, remote }: Pick<CyclePath, "path" | "local" | "remote">,
    traits: FolderTraits,
  ): string | undefined {
    const why = remote === undefined ? undefined : whyNotHeldAt(traits, remote);
    if (why === undefined) this.#found.delete(path);
    else this.#found.set(path, { here: local !== undefined, there: true, why });
    return why;
  }
}

/** Removes a base that the folder could not hold, and so has never had. */
function withHeldBase(one: CyclePath, traits: FolderTraits): CyclePath {
  const { entry } = one.base;
  return entry === undefined || whyNotHeldAt(traits, entry) === undefined ? one : { ...one, base: NEVER };
}

/** Attributes a difference in modes to the origin, if the folder keeps none. */
function withoutOwnMode(one: CyclePath, { modes }: FolderTraits): CyclePath {
  const { base, local, remote } = one;
  if (modes || local === undefined) return one;
  const { entry } = base;
  if (entry?.kind === local.kind) return { ...one, base: { ...base, entry: { ...entry, mode: local.mode } } };
  const isSame = entry === undefined && remote?.kind === local.kind && remote.hash === local.hash;
  return isSame ? { ...one, base: { ...base, entry: local } } : one;
}
