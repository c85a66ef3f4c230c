import { type Change, sameEntry, type Entry } from "../../core/values/entry.ts";
import { hasGitName } from "../../core/filter/git-name.ts";
import { comparePaths, isRoot, parentOf, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { BlockedPaths } from "../apply/blocked-paths.ts";
import type { RecordedFiles } from "./recorded-files.ts";
import type {
  ApplyReport,
  ApplyRequest,
  CheckReport,
  CheckRequest,
  JudgedPath,
  KnownPath,
  PathStat,
  ScanReport,
  TrackedRoot,
  WatchHandle,
  Worktree,
} from "../worktree.ts";
import { EVERYTHING, type Verdict } from "../../core/filter/filter.ts";
import { HOLDS_ALL, type FolderTraits } from "../../core/tree/folder-traits.ts";
import { SMALL_BYTES } from "../files/read-stable.ts";
import type { LiveDatabase } from "../live-databases.ts";

interface HostedWorktreeOptions {
  /** The roots, each with `""` as its folder. */
  readonly roots: readonly TrackedRoot[];
  readonly files: RecordedFiles;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/**
 * The worktree of a hosted workspace, which has no folder. The files of such a workspace are exactly the files in its
 * history. Therefore, a scan finds no changes, and there are no stats to remember. `apply` writes nothing, because the
 * commit after it changes the files.
 */
export class HostedWorktree implements Worktree {
  readonly roots: readonly TrackedRoot[];
  readonly #files: RecordedFiles;
  readonly #clock: () => number;

  constructor({ roots, files, clock }: HostedWorktreeOptions) {
    this.roots = roots;
    this.#files = files;
    this.#clock = clock;
  }

  /** Does nothing, because filters and limits do not apply to a hosted workspace. */
  configure(): void {}

  traitsOf(): FolderTraits {
    return HOLDS_ALL;
  }

  /** Larger than any seq, because the worktree never lags behind the recorded events. */
  get rememberedSeq(): number {
    return Number.MAX_SAFE_INTEGER;
  }

  async scan(): Promise<ScanReport> {
    return {
      remembered: true,
      gone: [],
      linked: [],
      omitted: [],
      unapplied: [],
      filters: this.roots.map(() => ({ options: EVERYTHING, rules: [] })),
      ...(await this.#files.tally()),
      exceeded: [],
      startedAtNs: BigInt(Math.floor(this.#clock())) * 1_000_000n,
    };
  }

  remember(): void {}

  forget(): void {}

  forgetAll(): void {}

  /** Returns an empty list, because no process can have a file of a hosted workspace open. */
  databases(): readonly LiveDatabase[] {
    return [];
  }

  dropDerived(): void {}

  async areStill(entries: readonly Entry[]): Promise<boolean> {
    const present = await this.#files.entries(entries.map(({ path }) => path));
    return entries.every((entry, i) => entry.kind !== "dir" && sameEntry(present[i], entry));
  }

  /** Returns no path, because there is no stat that could prove that a path is unchanged. */
  unchangedAmong(): readonly WorkspacePath[] {
    return [];
  }

  /** Returns `undefined` for each path, because no path is on a disk. */
  async stats(paths: readonly WorkspacePath[]): Promise<readonly PathStat[]> {
    return paths.map(() => undefined);
  }

  /** Returns `undefined`, because no stat is remembered. */
  recall(): KnownPath | undefined {
    return undefined;
  }

  async save(): Promise<void> {}

  async inspect(path: WorkspacePath): Promise<Entry | undefined> {
    const [entry] = await this.#files.entries([path]);
    return entry;
  }

  async read(path: WorkspacePath): Promise<Buffer | undefined> {
    const entry = await this.inspect(path);
    return entry?.hash === undefined || entry.size > SMALL_BYTES ? undefined : this.#files.content(entry.hash);
  }

  haveRulesMoved(): boolean {
    return false;
  }

  haveMountsMoved(): boolean {
    return false;
  }

  gitTops(): () => undefined {
    return () => undefined;
  }

  async leftOut(): Promise<readonly WorkspacePath[]> {
    return [];
  }

  /** Returns the verdict that the path is tracked, because no filter applies. */
  async explain(): Promise<Verdict> {
    return { tracked: true, rule: "default" };
  }

  async judgeAll(paths: readonly WorkspacePath[]): Promise<readonly JudgedPath[]> {
    return paths.map(() => ({ tracked: true, rule: "default", stat: undefined }));
  }

  check(request: CheckRequest): Promise<CheckReport> {
    return new HostedApply(this.#files, request).check();
  }

  async apply(request: ApplyRequest): Promise<ApplyReport> {
    return new HostedApply(this.#files, request).run();
  }

  /** Does nothing, because an apply leaves no staging behind. */
  async cleanUp(): Promise<void> {}

  mayHoldLeft(): boolean {
    return false;
  }

  sweepLeft(): void {}

  /** Returns a watch that reports nothing, because files change only by commits. */
  async watch(): Promise<WatchHandle> {
    return { degraded: false, settled: async () => true, close: async () => undefined };
  }

  async close(): Promise<void> {}
}

type HostedRequest = Pick<ApplyRequest, "changes" | "together" | "onBlocked" | "begin" | "resume" | "onProgress">;

/**
 * An apply without a disk. The apply writes nothing, because the commit after the apply changes the files. The apply
 * only blocks a change that the commit must not record, for one of these reasons:
 *
 * - The present state of the path is not the `before` of the change.
 * - The new content is not in the store.
 * - After the change, a path would exist without its folder.
 * - The change would add or change a file of a git repository's own state.
 * - The change must be made together with a blocked change.
 */
class HostedApply {
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

  /** Checks the changes, but does not check whether the store has their contents. */
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

  async #look(): Promise<void> {
    const paths = [...this.#changes.keys()];
    const looked = [...new Set([...paths, ...paths.map(parentOf)])];
    const entries = await this.#files.entries(looked);
    this.#present = new Map(looked.map((path, i) => [path, entries[i]]));
    for (const change of this.#changes.values()) this.#checkBefore(change);
  }

  #checkBefore({ path, before, after }: Change): void {
    // Earlier versions recorded files of git repositories. These files may be deleted, but neither added nor changed.
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
   * Repeats three checks until they block nothing more:
   *
   * - A blocked path blocks the paths that must change together with it.
   * - A folder that is blocked or missing blocks its contents.
   * - A path that stays blocks the deletion of the folders above it.
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
