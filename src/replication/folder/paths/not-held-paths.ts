import type { Entry } from "../../../core/values/entry.ts";
import { sameEntry } from "../../../core/values/entry.ts";
import { type FolderTraits, holdsAllEntries, whyNotHeldAt } from "../../../core/tree/folder-traits.ts";
import { foldersAbove, type WorkspacePath } from "../../../core/values/path.ts";
import { NEVER } from "../ground/common-ground.ts";
import type { CyclePath } from "../ground/decide-cycle.ts";
import type { SidesOf } from "./git-paths.ts";

/** Why a path of the origin cannot lie in the folder, and on which sides something is there. */
export interface NotHeld extends SidesOf {
  readonly why: string;
}

/**
 * Knows what of an origin the folder cannot hold, since its disk has no such thing: links, some names. That stays at the origin. And it
 * knows that a folder which keeps no modes has nothing to say of them.
 */
export class NotHeldPaths {
  readonly #traits: () => FolderTraits;
  readonly #found = new Map<WorkspacePath, NotHeld>();

  constructor(traits: () => FolderTraits) {
    this.#traits = traits;
  }

  /** What is left out, as far as it was looked at. */
  get leftOut(): ReadonlyMap<WorkspacePath, NotHeld> {
    return this.#found;
  }

  /** The sides as they are to be decided about; those that are none of the folder's business are left out. */
  sides(paths: Iterable<CyclePath>): CyclePath[] {
    const traits = this.#traits();
    if (traits.modes && holdsAllEntries(traits)) return [...paths];
    const given = [...paths];
    const kept = given.flatMap((one) => this.#sidesOf(one, traits) ?? []);
    if (this.#found.size === 0) return kept;
    // What lies in a folder that was made at such a path has no place at the origin.
    const decided = new Set(kept.map(({ path }) => path));
    const left = new Set(given.map(({ path }) => path).filter((path) => !decided.has(path)));
    return kept.filter(({ path }) => !foldersAbove(path).some((folder) => left.has(folder)));
  }

  /**
   * Does a change of the folder stay there, since it would take the place of what the origin has and the folder cannot hold, at this
   * path or above it?
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

  /** Does what a step would propose stay here, for the same reason? Asked about a path that `sides` has looked at, with the folders above it. */
  keepsProposal(path: WorkspacePath): boolean {
    return this.#found.size > 0 && [path, ...foldersAbove(path)].some((at) => this.#found.has(at));
  }

  /** May what the origin has come into a folder that has nothing there yet? */
  mayCome(path: WorkspacePath, remote: Entry | undefined): boolean {
    const traits = this.#traits();
    return holdsAllEntries(traits) || this.#note({ path, local: undefined, remote }, traits) === undefined;
  }

  #sidesOf(given: CyclePath, traits: FolderTraits): CyclePath | undefined {
    const one = withoutOwnMode(withHeldBase(given, traits), traits);
    if (this.#note(one, traits) === undefined) return one;
    // What the origin has made something else of since is not its state any more.
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

/** What the folder could never hold, it never had from the origin. */
function withHeldBase(one: CyclePath, traits: FolderTraits): CyclePath {
  const { entry } = one.base;
  return entry === undefined || whyNotHeldAt(traits, entry) === undefined ? one : { ...one, base: NEVER };
}

/** Where the modes differ, that is the origin's doing. */
function withoutOwnMode(one: CyclePath, { modes }: FolderTraits): CyclePath {
  const { base, local, remote } = one;
  if (modes || local === undefined) return one;
  const { entry } = base;
  if (entry?.kind === local.kind) return { ...one, base: { ...base, entry: { ...entry, mode: local.mode } } };
  const isSame = entry === undefined && remote?.kind === local.kind && remote.hash === local.hash;
  return isSame ? { ...one, base: { ...base, entry: local } } : one;
}
