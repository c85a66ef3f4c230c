import { type Entry, sameEntry } from "../../../core/values/entry.ts";
import { type FolderTraits, holdsAllEntries, whyNotHeldAt } from "../../../core/tree/folder-traits.ts";
import { foldersAbove, type WorkspacePath } from "../../../core/values/path.ts";
import { NEVER } from "../ground/common-ground.ts";
import type { CyclePath } from "../ground/decide-cycle.ts";
import type { SidesOf } from "./git-paths.ts";

/**
 * The reason why the folder's disk cannot hold the origin's entry at a path, and the sides that have an entry at the
 * path.
 */
export interface NotHeld extends SidesOf {
  readonly why: string;
}

/**
 * Finds the entries of an origin that the folder's disk cannot hold, such as links, or entries with certain names.
 * These entries stay at the origin. If the disk keeps no modes (permissions), a mode that differs counts as changed at
 * the origin.
 */
export class NotHeldPaths {
  readonly #traits: () => FolderTraits;
  readonly #found = new Map<WorkspacePath, NotHeld>();

  constructor(traits: () => FolderTraits) {
    this.#traits = traits;
  }

  /** The left-out paths among all paths that were compared so far. */
  get leftOut(): ReadonlyMap<WorkspacePath, NotHeld> {
    return this.#found;
  }

  /**
   * Returns the given paths without the paths at which the disk cannot hold the origin's entry, and without everything
   * beneath these. There is one exception: if the folder still has the state of the base at such a path, the path is
   * returned as deleted at the origin.
   */
  sides(paths: Iterable<CyclePath>): CyclePath[] {
    const traits = this.#traits();
    if (traits.modes && holdsAllEntries(traits)) return [...paths];
    const given = [...paths];
    const kept = given.flatMap((one) => this.#sidesOf(one, traits) ?? []);
    if (this.#found.size === 0) return kept;
    // Everything beneath a left-out path is left out, too. If the origin has a link at the left-out path, for example,
    // the folder's paths beneath have no place at the origin.
    const decided = new Set(kept.map(({ path }) => path));
    const left = new Set(given.map(({ path }) => path).filter((path) => !decided.has(path)));
    return kept.filter(({ path }) => !foldersAbove(path).some((folder) => left.has(folder)));
  }

  /**
   * True if a change stays in the folder, because it would replace an entry of the origin that the folder cannot hold.
   * The entry that would be replaced is at the path, or at a folder above it.
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
   * Like `keepsHere`, but for a path that a step (a reconciliation of both sides) proposes to the origin. The caller
   * must have passed the path and the folders above it to `sides`.
   */
  keepsProposal(path: WorkspacePath): boolean {
    return this.#found.size > 0 && [path, ...foldersAbove(path)].some((at) => this.#found.has(at));
  }

  /**
   * Returns a function that is true for an entry of the origin that the folder can hold. The folder must have no entry
   * at the path. The traits of the folder are found out only once, because that takes several system calls while the
   * folder is empty.
   */
  canHold(): (path: WorkspacePath, remote: Entry | undefined) => boolean {
    const traits = this.#traits();
    if (holdsAllEntries(traits)) return () => true;
    return (path, remote) => this.#note({ path, local: undefined, remote }, traits) === undefined;
  }

  #sidesOf(given: CyclePath, traits: FolderTraits): CyclePath | undefined {
    const one = withoutOwnMode(withHeldBase(given, traits), traits);
    if (this.#note(one, traits) === undefined) return one;
    // The origin has replaced the state of the base. If the folder still has that state, treat the path as deleted at
    // the origin.
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

/** Removes the base if the folder cannot hold the base's state. The folder can then never have had this state. */
function withHeldBase(one: CyclePath, traits: FolderTraits): CyclePath {
  const { entry } = one.base;
  return entry === undefined || whyNotHeldAt(traits, entry) === undefined ? one : { ...one, base: NEVER };
}

/**
 * Returns the path with the folder's mode in the base if the folder's disk keeps no modes. A mode that differs then
 * counts as changed at the origin.
 */
function withoutOwnMode(one: CyclePath, { modes }: FolderTraits): CyclePath {
  const { base, local, remote } = one;
  if (modes || local === undefined) return one;
  const { entry } = base;
  if (entry?.kind === local.kind) return { ...one, base: { ...base, entry: { ...entry, mode: local.mode } } };
  const isSame = entry === undefined && remote?.kind === local.kind && remote.hash === local.hash;
  return isSame ? { ...one, base: { ...base, entry: local } } : one;
}
