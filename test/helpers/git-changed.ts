import { type GitChange, gitItems, parsePackedRefs } from "../../src/core/records/git-record.ts";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../../src/core/filter/filter.ts";
import { type Hash, sha256 } from "../../src/core/values/hash.ts";
import { childOf, ROOT } from "../../src/core/values/path.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { gitRunner } from "../../src/store/run-git.ts";
import { DiskGitStates } from "../../src/worktree/git/disk-git-states.ts";
import type { TrackedRoot } from "../../src/worktree/worktree.ts";
import type { GitProject } from "./git-project.ts";

export interface StatesParts {
  readonly disk?: NodeDisk;
  /** Default: the top of the repository. */
  readonly folder?: string;
  readonly nested?: readonly string[];
  readonly useGitignore?: boolean;
  /** Milliseconds since the epoch. Default: the clock of the machine. */
  readonly clock?: () => number;
  /** The folder in which git folders are kept. Default: none are kept. */
  readonly keptFolders?: string;
  /** Called after each run of git, with its arguments. */
  readonly onRun?: (args: readonly string[]) => void;
}

/** The states of a project's repository. */
export function statesOf(project: GitProject, parts: StatesParts = {}): DiskGitStates {
  const { disk = new NodeDisk(), folder = project.top, nested = [], useGitignore = true, onRun } = parts;
  const root: TrackedRoot = {
    id: undefined,
    folder,
    filter: { ...DEFAULT_FILTER, useGitignore },
    limits: DEFAULT_LIMITS,
  };
  const runGit = gitRunner({ disk, untrusted: () => [folder] });
  let ids = 0;
  return new DiskGitStates({
    disk,
    roots: () => [root],
    nested: () => nested.map((path) => childOf(ROOT, path)),
    user: {},
    run: async (command) => {
      const result = await runGit(command);
      onRun?.(command.args);
      return result;
    },
    clock: parts.clock ?? Date.now,
    ...(parts.keptFolders === undefined ? {} : { keptFolders: parts.keptFolders }),
    newId: () => `id${(ids += 1)}`,
  });
}

/** What a script has changed in a repository, and the way back. */
export class Changed {
  readonly back: GitChange;
  readonly #contents: ReadonlyMap<Hash, Buffer>;
  readonly #project: GitProject;

  private constructor(project: GitProject, back: GitChange, contents: ReadonlyMap<Hash, Buffer>) {
    this.#project = project;
    this.back = back;
    this.#contents = contents;
  }

  static by(project: GitProject, ...commands: readonly (readonly string[])[]): Promise<Changed> {
    return Changed.at(project, {}, commands);
  }

  static async at(project: GitProject, parts: StatesParts, commands: readonly (readonly string[])[]): Promise<Changed> {
    const contents = new Map<Hash, Buffer>();
    const keep = async (content: Buffer): Promise<Hash> => {
      contents.set(sha256(content), content);
      return sha256(content);
    };
    const [before] = (await statesOf(project, parts).read(keep)).states;
    for (const command of commands) project.git(command);
    const [after] = (await statesOf(project, parts).read(keep)).states;
    if (before === undefined || after === undefined) throw new Error("no state of git");
    const packedOf = (packed: Hash | undefined): ReadonlyMap<string, string> =>
      parsePackedRefs(packed === undefined ? "" : (contents.get(packed)?.toString() ?? ""));
    const packed = { before: packedOf(after.packed), after: packedOf(before.packed) };
    const items = gitItems(after, before, packed);
    return new Changed(project, { path: before.path, before: {}, after: {}, items, packs: [] }, contents);
  }

  undo(disk?: NodeDisk, change = this.back): Promise<string | undefined> {
    return this.apply(statesOf(this.#project, disk === undefined ? {} : { disk }), change);
  }

  apply(states: DiskGitStates, change = this.back): Promise<string | undefined> {
    return states.apply(change, {
      contentOf: async (hash) => this.#contents.get(hash),
      message: "undo",
    });
  }
}
