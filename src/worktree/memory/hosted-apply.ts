import type { Change } from "../../core/values/change.ts";
import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { hasGitName } from "../../core/filter/git-name.ts";
import { comparePaths, isRoot, parentOf, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { BlockedPaths } from "../apply/blocked-paths.ts";
import type { RecordedFiles } from "./recorded-files.ts";
import type { ApplyReport, ApplyRequest, CheckReport } from "../worktree.ts";

type HostedRequest = Pick<ApplyRequest, "changes" | "together" | "onBlocked" | "begin" | "resume" | "onProgress">;

/**
 * An apply without a disk. It writes nothing, because the commit that follows is what changes the files. It only
 * decides which changes that commit may record: those of paths that are still `before`, whose contents are in the
 * store, that leave every path with a folder, and that add no state of a git repository.
 */
export class HostedApply {
  readonly #files: RecordedFiles;
  readonly #request: HostedRequest;
  readonly #changes: ReadonlyMap<WorkspacePath, Change>;
  readonly #blocked: BlockedPaths;
  #present: ReadonlyMap<WorkspacePath, Entry | undefined> = new Map();

  constructor(files: RecordedFiles, request: HostedRequest) {
    this.#files = files;
    this.#request = request;
    const sorted = request.changes.toSorted((a, b) => comparePaths(a.path, b.path));
    this.#changes = new Map(sorted.map((change) => [change.path, change]));
    this.#blocked = new BlockedPaths(this.#changes);
  }

  /** Reports what would be done, whether the contents are available or not. */
  async check(): Promise<CheckReport> {
    await this.#look();
    await this.#checkUntilFits([...this.#changes.values()]);
    return this.#blocked.report(this.#request.onBlocked);
  }

  async run(): Promise<ApplyReport> {
    const { onBlocked, begin, onProgress } = this.#request;
    await this.#look();
    await this.#checkContents();
    await this.#checkUntilFits([...this.#changes.values()]);
    const report = this.#blocked.report(onBlocked);
    if (!this.#blocked.stopAll(onBlocked)) await begin?.();
    onProgress?.(report.applied.length, report.applied.length);
    return { ...report, conflicts: [] };
  }

  /** Reads what is recorded, and checks that each path is still as its change begins. */
  async #look(): Promise<void> {
    const paths = [...this.#changes.keys()];
    const looked = [...new Set([...paths, ...paths.map(parentOf)])];
    const entries = await this.#files.entries(looked);
    this.#present = new Map(looked.map((path, i) => [path, entries[i]]));
    for (const change of this.#changes.values()) this.#checkBefore(change);
  }

  #checkBefore({ path, before, after }: Change): void {
    // State that was recorded before it was refused may be removed, but never added again.
    if (after !== undefined && hasGitName(splitRoot(path).path))
      this.#blocked.block(path, "not-permitted", "a workspace without a folder takes no state of a git repository");
    const present = this.#present.get(path);
    if (sameEntry(present, before)) return;
    const isDone = this.#request.resume === true && (present === undefined || sameEntry(present, after));
    if (!isDone) this.#blocked.block(path, "changed", "it is not what it was");
  }

  async #checkContents(): Promise<void> {
    const wanted = [...this.#changes.values()].flatMap(({ path, after }) => {
      return after?.hash === undefined || this.#blocked.has(path) ? [] : [{ path, hash: after.hash }];
    });
    const stored = await this.#files.stored(wanted.map((one) => one.hash));
    for (const { path, hash } of wanted)
      if (!stored.has(hash)) this.#blocked.block(path, "content-missing", `the content ${hash} is not in the store`);
  }

  /**
   * Repeats the checks until nothing more is blocked: a path that stays keeps its folders, and a path whose folder is
   * not made is blocked too.
   */
  async #checkUntilFits(changes: readonly Change[]): Promise<void> {
    for (let before = -1; before < this.#blocked.size;) {
      before = this.#blocked.size;
      this.#blocked.holdUnits(this.#request.together);
      for (const change of changes) this.#checkFolder(change);
      for (const change of changes.toReversed()) await this.#checkEmptied(change);
    }
  }

  #checkFolder({ path, after }: Change): void {
    const folder = parentOf(path);
    if (after === undefined || isRoot(folder) || this.#blocked.has(path)) return;
    if (this.#kindAfter(folder) === "dir") return;
    const above = this.#blocked.get(folder);
    if (above === undefined) this.#blocked.block(path, "no-folder", "its folder is not there");
    else this.#blocked.block(path, above.reason, "its folder is blocked");
  }

  /** Returns the kind that a path or a folder above it will have, given the paths blocked so far. */
  #kindAfter(path: WorkspacePath): Entry["kind"] | undefined {
    const change = this.#blocked.has(path) ? undefined : this.#changes.get(path);
    return (change === undefined ? this.#present.get(path) : change.after)?.kind;
  }

  async #checkEmptied({ path, after }: Change): Promise<void> {
    const isFolder = this.#present.get(path)?.kind === "dir";
    if (!isFolder || after?.kind === "dir" || this.#blocked.has(path)) return;
    this.#blocked.blockHolding(path, await this.#files.children(path));
  }
}
