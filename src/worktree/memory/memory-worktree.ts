import { sameEntry, type Entry } from "../../core/values/entry.ts";
import type { FilterSpec, Verdict } from "../../core/filter/filter.ts";
import { HOLDS_ALL, type FolderTraits } from "../../core/tree/folder-traits.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { LiveDatabase } from "../live-databases.ts";
import type { KnownRow } from "../scan/stat-table.ts";
import type {
  OnChanged,
  ApplyReport,
  ApplyRequest,
  CheckReport,
  CheckRequest,
  KnownPath,
  PathStat,
  ScanReport,
  ScanRequest,
  TrackedRoot,
  WatchHandle,
  WatchHint,
  Worktree,
} from "../worktree.ts";
import { SMALL_BYTES } from "../files/read-stable.ts";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../../core/filter/filter.ts";
import { explainPath } from "../../core/filter/ignore.ts";
import { nameOf, splitRoot } from "../../core/values/path.ts";
import { MemoryApply, memoryEntry } from "./memory-apply.ts";
import { MemoryFiles } from "./memory-files.ts";
import { memoryRules, MemoryScan } from "./memory-scan.ts";
import { isRacy, isSameStat } from "../files/same-stat.ts";

/** The memory that one process keeps for the next. */
export interface KeptMemory {
  known: ReadonlyMap<WorkspacePath, KnownRow> | undefined;
  seq: number | undefined;
}

/** Options of a worktree in memory. */
export interface MemoryWorktreeOptions {
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Default: one root with the default filter and limits. */
  readonly roots?: readonly TrackedRoot[];
  /** Default: empty. Several worktrees may share the same files. */
  readonly files?: MemoryFiles;
  /** The memory to which `save` writes. */
  readonly kept?: KeptMemory;
}

/** A worktree whose files are in memory; edit `files` to change them behind its back. */
export class MemoryWorktree implements Worktree {
  #roots: readonly TrackedRoot[];
  readonly files: MemoryFiles;
  readonly #clock: () => number;
  readonly #kept: KeptMemory;
  readonly #known: Map<WorkspacePath, KnownRow>;
  #remembered: boolean;
  #readFloorNs: bigint | undefined;
  readonly #stops = new Set<() => void>();

  constructor(options: MemoryWorktreeOptions) {
    const root = { id: undefined, folder: "/memory", filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS };
    this.#roots = options.roots ?? [root];
    this.files = options.files ?? new MemoryFiles(options.clock);
    this.#clock = options.clock;
    this.#kept = options.kept ?? { known: undefined, seq: undefined };
    this.#known = new Map(this.#kept.known ?? []);
    this.#remembered = this.#kept.known !== undefined;
  }

  get roots(): readonly TrackedRoot[] {
    return this.#roots;
  }

  configure(roots: readonly TrackedRoot[]): void {
    this.#roots = roots;
  }

  traitsOf(): FolderTraits {
    return HOLDS_ALL;
  }

  get rememberedSeq(): number | undefined {
    return this.#kept.seq;
  }

  async scan(request: ScanRequest, onChanged: OnChanged): Promise<ScanReport> {
    const startedAtNs = BigInt(Math.floor(this.#clock())) * 1_000_000n;
    this.#readFloorNs = startedAtNs;
    const scans = this.roots.map((root) => new MemoryScan(this.files, root, this.#known, request));
    for (const { changed } of scans) if (changed.length > 0) await onChanged(changed);
    const entries = scans.reduce((sum, scan) => sum + scan.tally.entries, 0);
    request.onProgress?.(entries);
    return {
      remembered: this.#remembered,
      gone: scans.flatMap((scan) => scan.gone),
      omitted: scans.flatMap((scan) => scan.omitted),
      unapplied: [],
      filters: scans.map((scan, i): FilterSpec => {
        return { options: this.roots[i]?.filter ?? DEFAULT_FILTER, rules: scan.rules };
      }),
      entries,
      bytes: scans.reduce((sum, scan) => sum + scan.tally.bytes, 0),
      exceeded: scans.flatMap((scan) => scan.tally.exceeded()),
      startedAtNs,
    };
  }

  remember(known: Iterable<KnownPath>, readFromNs = this.#readFloorNs ?? 0n): void {
    for (const { entry, stat } of known) {
      this.#known.set(entry.path, { entry, stat, racy: isRacy(stat, readFromNs) });
    }
    this.#remembered = true;
  }

  forget(paths: readonly WorkspacePath[]): void {
    for (const path of paths) this.#known.delete(path);
  }

  forgetAll(): void {
    this.#known.clear();
    this.#remembered = false;
    this.#kept.known = undefined;
    this.#kept.seq = undefined;
  }

  /** No process of this machine has one of its files open. */
  databases(): readonly LiveDatabase[] {
    return [];
  }

  dropDerived(): void {}

  async areStill(entries: readonly Entry[]): Promise<boolean> {
    return entries.every((entry) => {
      const [known, node] = [this.#known.get(entry.path), this.files.get(entry.path)];
      if (known === undefined || node === undefined || known.racy || entry.kind === "dir") return false;
      return sameEntry(known.entry, entry) && isSameStat(known.stat, node.stat);
    });
  }

  isUnchanged(path: WorkspacePath): boolean {
    const [known, node] = [this.#known.get(path), this.files.get(path)];
    if (known === undefined || node === undefined || known.racy || known.entry.kind === "dir") return false;
    return nameOf(path) !== ".gitignore" && isSameStat(known.stat, node.stat);
  }

  async stats(paths: readonly WorkspacePath[]): Promise<readonly PathStat[]> {
    return paths.map((path) => this.files.get(path)?.stat);
  }

  recall(path: WorkspacePath): KnownPath | undefined {
    const known = this.#known.get(path);
    return known === undefined ? undefined : { entry: known.entry, stat: known.stat };
  }

  async save(seq: number): Promise<void> {
    this.#kept.known = new Map(this.#known);
    this.#kept.seq = seq;
    this.#remembered = true;
  }

  async inspect(path: WorkspacePath): Promise<Entry | undefined> {
    const node = this.files.get(path);
    return node === undefined ? undefined : memoryEntry(path, node);
  }

  async read(path: WorkspacePath): Promise<Buffer | undefined> {
    const node = this.files.get(path);
    return node === undefined || node.kind === "dir" || node.content.length > SMALL_BYTES ? undefined : node.content;
  }

  /** All of its rules are in its own files. */
  haveRulesMoved(): boolean {
    return false;
  }

  gitTops(): () => undefined {
    return () => undefined;
  }

  async leftOut(paths: readonly WorkspacePath[]): Promise<readonly WorkspacePath[]> {
    const left: WorkspacePath[] = [];
    for (const path of paths) if (!(await this.explain(path)).tracked) left.push(path);
    return left;
  }

  async explain(path: WorkspacePath): Promise<Verdict> {
    const { root: id, path: inner } = splitRoot(path);
    const root = this.roots.find((one) => one.id === id) ?? this.roots[0];
    if (root === undefined) return { tracked: false, rule: "default" };
    const rules = [...memoryRules(this.files, root).values()].flat();
    return explainPath({ options: root.filter, rules }, inner, this.files.get(path)?.kind === "dir");
  }

  async check(request: CheckRequest): Promise<CheckReport> {
    return new MemoryApply(this.files, request).check();
  }

  async apply(request: ApplyRequest): Promise<ApplyReport> {
    const report = await new MemoryApply(this.files, request).run();
    const now = BigInt(Math.floor(this.#clock())) * 1_000_000n;
    for (const path of report.applied) {
      const node = this.files.get(path);
      if (node === undefined) this.#known.delete(path);
      else this.#known.set(path, { entry: memoryEntry(path, node), stat: node.stat, racy: isRacy(node.stat, now) });
    }
    return report;
  }

  /** Nothing is ever left behind in memory. */
  async cleanUp(_token: string): Promise<void> {}

  mayHoldLeft(): boolean {
    return false;
  }

  sweepLeft(): void {}

  async watch(onHint: (hint: WatchHint) => void): Promise<WatchHandle> {
    const stop = this.files.watch((path) => onHint({ paths: [path] }));
    this.#stops.add(stop);
    return { degraded: false, settled: async () => true, close: async () => stop() };
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
  }
}
