import { EVERYTHING, type Verdict } from "../../core/filter/filter.ts";
import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { HOLDS_ALL, type FolderTraits } from "../../core/tree/folder-traits.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { HostedApply } from "./hosted-apply.ts";
import { SMALL_BYTES } from "../files/read-stable.ts";
import type { LiveDatabase } from "../live-databases.ts";
import type { RecordedFiles } from "./recorded-files.ts";
import type {
  ApplyReport,
  ApplyRequest,
  CheckReport,
  CheckRequest,
  KnownPath,
  PathStat,
  ScanReport,
  TrackedRoot,
  WatchHandle,
  Worktree,
} from "../worktree.ts";

export interface HostedWorktreeOptions {
  /** The roots; their folder is `""`. */
  readonly roots: readonly TrackedRoot[];
  readonly files: RecordedFiles;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
}

/**
 * The worktree of a hosted workspace, which has no folder: its files are those recorded. So nothing ever differs from
 * the record, nothing needs to be remembered, and `apply` writes nothing: the commit that follows it is the change.
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

  /** Filters and limits do not apply: whatever is written is taken. */
  configure(): void {}

  traitsOf(): FolderTraits {
    return HOLDS_ALL;
  }

  /** Everything recorded is known here. */
  get rememberedSeq(): number {
    return Number.MAX_SAFE_INTEGER;
  }

  async scan(): Promise<ScanReport> {
    return {
      remembered: true,
      gone: [],
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

  /** No process of this machine has one of its files open. */
  databases(): readonly LiveDatabase[] {
    return [];
  }

  dropDerived(): void {}

  async areStill(entries: readonly Entry[]): Promise<boolean> {
    const present = await this.#files.entries(entries.map(({ path }) => path));
    return entries.every((entry, i) => entry.kind !== "dir" && sameEntry(present[i], entry));
  }

  /** There is no stat to tell. */
  isUnchanged(): boolean {
    return false;
  }

  /** Without a disk, nothing exists beside what is recorded. */
  async stats(paths: readonly WorkspacePath[]): Promise<readonly PathStat[]> {
    return paths.map(() => undefined);
  }

  /** There is no stat to remember. */
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

  gitTops(): () => undefined {
    return () => undefined;
  }

  async leftOut(): Promise<readonly WorkspacePath[]> {
    return [];
  }

  /** Only the writer decides what is tracked. */
  async explain(): Promise<Verdict> {
    return { tracked: true, rule: "default" };
  }

  check(request: CheckRequest): Promise<CheckReport> {
    return new HostedApply(this.#files, request).check();
  }

  async apply(request: ApplyRequest): Promise<ApplyReport> {
    return new HostedApply(this.#files, request).run();
  }

  /** Nothing is ever left behind. */
  async cleanUp(): Promise<void> {}

  mayHoldLeft(): boolean {
    return false;
  }

  sweepLeft(): void {}

  /** Nothing changes except by commits. */
  async watch(): Promise<WatchHandle> {
    return { degraded: false, settled: async () => true, close: async () => undefined };
  }

  async close(): Promise<void> {}
}
