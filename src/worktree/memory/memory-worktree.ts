import type { Omission } from "../../core/records/coverage.ts";
import {
  type RuleFile,
  type Verdict,
  type FilterSpec,
  DEFAULT_FILTER,
  DEFAULT_LIMITS,
} from "../../core/filter/filter.ts";
import { type CompiledFilter, type FolderScope, compileFilter, explainPath } from "../../core/filter/ignore.ts";
import {
  type WorkspacePath,
  foldersAbove,
  isHeldBy,
  isWithin,
  nameOf,
  parentOf,
  pathInRoot,
  ROOT,
  splitRoot,
} from "../../core/values/path.ts";
import { MemoryFiles, type MemoryNode } from "./memory-files.ts";
import { type Weight, ScanTally } from "../scan/scan-tally.ts";
import type { KnownRow } from "../scan/stat-table.ts";
import type {
  ScanRequest,
  ScannedPath,
  TrackedRoot,
  OnChanged,
  ApplyReport,
  ApplyRequest,
  CheckReport,
  CheckRequest,
  JudgedPath,
  KnownPath,
  PathStat,
  ScanReport,
  WatchHandle,
  WatchHint,
  Worktree,
} from "../worktree.ts";
import { isSameStat, isRacy } from "../files/same-stat.ts";
import { isInStaging, isStagingName } from "../../core/tree/staging-folder.ts";
import { addAll } from "../../util/long-lists.ts";
import { detailOf } from "../scan/scan-root.ts";
import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { HOLDS_ALL, type FolderTraits } from "../../core/tree/folder-traits.ts";
import type { LiveDatabase } from "../live-databases.ts";
import { SMALL_BYTES } from "../files/read-stable.ts";
import { MemoryApply, memoryEntry } from "./memory-apply.ts";

/** The state that `save` stores for the next worktree: the known rows and the seq. */
export interface KeptMemory {
  known: ReadonlyMap<WorkspacePath, KnownRow> | undefined;
  seq: number | undefined;
}

interface MemoryWorktreeOptions {
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** The tracked roots. Default: one root with the default filter and limits. */
  readonly roots?: readonly TrackedRoot[];
  /** The files of the worktree. Several worktrees may share the same files. Default: none. */
  readonly files?: MemoryFiles;
  /** The saved state. The constructor reads it, `save` writes it, and `forgetAll` clears it. Default: empty. */
  readonly kept?: KeptMemory;
}

/** A worktree whose files are in memory. An edit of `files` has the same effect as a change by another program. */
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
      // Files in memory have no hard links.
      linked: [],
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

  /** Returns an empty list, because no process can open a file in memory. */
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

  unchangedAmong(paths: readonly WorkspacePath[]): readonly WorkspacePath[] {
    return paths.filter((path) => this.#isAsRemembered(path));
  }

  #isAsRemembered(path: WorkspacePath): boolean {
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

  /** Returns false, because all rules are in the workspace's own files. */
  haveRulesMoved(): boolean {
    return false;
  }

  /** Returns false, because nothing can be mounted in memory. */
  haveMountsMoved(): boolean {
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

  judgeAll(paths: readonly WorkspacePath[]): Promise<readonly JudgedPath[]> {
    return Promise.all(
      paths.map(async (path) => ({ ...(await this.explain(path)), stat: this.files.get(path)?.stat })),
    );
  }

  async explain(path: WorkspacePath): Promise<Verdict> {
    const { root: id, path: inner } = splitRoot(path);
    const root = this.roots.find((one) => one.id === id) ?? this.roots[0];
    if (root === undefined) return { tracked: false, rule: "default" };
    if (isInStaging(inner)) return { tracked: false, rule: "staging" };
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

  /** Does nothing, because an apply in memory leaves no staging or trash. */
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

/** Returns the ignore files of a root, by the folder to which they apply. */
function memoryRules(files: MemoryFiles, root: TrackedRoot): Map<string, RuleFile[]> {
  const found = new Map<string, RuleFile[]>();
  if (!root.filter.useGitignore || root.only !== undefined) return found;
  const exclude = ".git/info/exclude" as WorkspacePath;
  const add = (inner: WorkspacePath, folder: WorkspacePath): void => {
    const node = files.get(pathInRoot(root.id, inner));
    if (node?.kind !== "file") return;
    const rules = found.get(folder) ?? [];
    rules.push({ folder, source: inner, text: node.content.toString() });
    found.set(folder, rules);
  };
  add(exclude, ROOT);
  for (const path of files.list()) {
    const { root: id, path: inner } = splitRoot(path);
    if (id === root.id && nameOf(inner) === ".gitignore") add(inner, parentOf(inner));
  }
  return found;
}

interface Folder {
  readonly path: WorkspacePath;
  readonly inner: WorkspacePath;
  readonly scope: FolderScope;
  readonly weight: Weight;
  readonly above: Folder | undefined;
  tracked: boolean;
  overLimit: number;
}

class MemoryScan {
  readonly changed: ScannedPath[] = [];
  readonly gone: WorkspacePath[] = [];
  readonly omitted: Omission[] = [];
  readonly tally: ScanTally;
  /** The ignore files of the scanned folders, outer folders first. */
  readonly rules: RuleFile[] = [];
  readonly #files: MemoryFiles;
  readonly #root: TrackedRoot;
  readonly #known: ReadonlyMap<WorkspacePath, KnownRow>;
  readonly #paranoid: boolean;
  /**
   * The paths of a request with `named`. The scan takes each of them with everything in it, whatever the rules say, but
   * never takes git's own state.
   */
  readonly #named: readonly WorkspacePath[];
  /** True if the rules decide about the contents of a named folder (see `ScanRequest.alone`). */
  readonly #alone: boolean;
  /** See `ScanRequest.holders`. */
  readonly #holders: boolean;
  readonly #filter: CompiledFilter;
  readonly #ruleFiles: Map<string, RuleFile[]>;
  readonly #children: Map<string, WorkspacePath[]>;

  constructor(
    files: MemoryFiles,
    root: TrackedRoot,
    known: ReadonlyMap<WorkspacePath, KnownRow>,
    request: ScanRequest,
  ) {
    this.#files = files;
    this.#root = root;
    this.#known = known;
    this.#filter = compileFilter(root.filter);
    this.#paranoid = request.paranoid === true;
    this.#named = request.named === true ? (request.only ?? []).filter((one) => splitRoot(one).path !== "") : [];
    this.#alone = request.alone === true;
    this.#holders = request.holders === true;
    this.#ruleFiles = memoryRules(files, root);
    this.#children = Map.groupBy(files.list(), (path) => parentOf(path));
    this.tally = new ScanTally(root.limits, { entries: 0, bytes: 0 });
    this.#walk();
    this.#findGone();
    const { named = false, exact = named } = request;
    if (request.only !== undefined) this.#keepOnly(request.only, exact);
  }

  #walk(): void {
    const path = pathInRoot(this.#root.id, ROOT);
    const rules = this.#rulesOf(ROOT);
    const scope = this.#filter.enter(undefined, "", rules);
    const weight = this.tally.weigh(path, undefined);
    this.#enter({ path, inner: ROOT, scope, weight, above: undefined, tracked: true, overLimit: 0 });
  }

  #rulesOf(inner: WorkspacePath): readonly RuleFile[] {
    const rules = this.#ruleFiles.get(inner) ?? [];
    addAll(this.rules, rules);
    return rules;
  }

  #enter(folder: Folder): void {
    for (const path of this.#children.get(folder.path) ?? []) {
      const { path: inner } = splitRoot(path);
      const isStaging = isStagingName(nameOf(inner));
      const isOther = inner === "" || splitRoot(path).root !== this.#root.id;
      if (!isStaging && !isOther && this.#isWanted(inner)) this.#meet(folder, path, inner);
    }
    if (folder.overLimit === 0) return;
    this.omitted.push({ path: folder.path, reason: "over-limit", detail: `${folder.overLimit} new paths` });
  }

  #isWanted(inner: WorkspacePath): boolean {
    return isHeldBy(this.#root, inner);
  }

  #meet(folder: Folder, path: WorkspacePath, inner: WorkspacePath): void {
    const node = this.#files.get(path);
    if (node === undefined) return;
    const isFolder = node.kind === "dir";
    const isMeant = (one: WorkspacePath): boolean => (this.#alone ? one === path : isWithin(path, one));
    const isNamed = this.#named.some(isMeant) && !folder.scope.isGits(nameOf(inner));
    const verdict: Verdict =
      this.#known.has(path) || this.#root.only !== undefined || isNamed
        ? { tracked: true, rule: "default" }
        : folder.scope.judge(nameOf(inner), isFolder);
    const isOnTheWay = this.#named.some((one) => one !== path && isWithin(one, path));
    const isTold = this.#named.includes(path) || (folder.tracked && !isOnTheWay);
    if (verdict.tracked) this.#look(folder, path, node);
    else if (isTold) this.omitted.push({ path, reason: "excluded", detail: detailOf(verdict) });
    if (!isFolder || (!verdict.tracked && !isOnTheWay && !folder.scope.walks(nameOf(inner)))) return;
    const scope = this.#filter.enter(folder.scope, inner, this.#rulesOf(inner));
    const weight = this.tally.weigh(path, folder.weight);
    const next = { path, inner, scope, weight, above: folder, tracked: verdict.tracked, overLimit: 0 };
    if (this.#holders && isOnTheWay) this.#track(next);
    this.#enter(next);
  }

  #look(folder: Folder, path: WorkspacePath, node: MemoryNode): void {
    const known = this.#known.get(path);
    const bytes = node.kind === "file" ? node.content.length : 0;
    if (known !== undefined && this.#isUnchanged(known, node)) {
      this.tally.count(folder.weight, 1, bytes);
      return;
    }
    const { maxFileSize } = this.#root.limits;
    if (maxFileSize > 0 && bytes > maxFileSize) {
      this.omitted.push({ path, reason: "too-large", detail: `${bytes} bytes; the limit is ${maxFileSize}` });
      return;
    }
    const fits = known !== undefined || this.tally.admits(bytes);
    this.tally.count(folder.weight, 1, bytes);
    if (!fits) {
      folder.overLimit += 1;
      return;
    }
    this.#track(folder);
    this.changed.push({ path, stat: node.stat, ...(node.kind === "symlink" ? { target: node.content } : {}) });
  }

  #isUnchanged(known: KnownRow, node: MemoryNode): boolean {
    if (known.entry.kind !== node.kind) return false;
    if (node.kind === "dir") return known.entry.mode === node.stat.mode;
    return !this.#paranoid && !known.racy && isSameStat(known.stat, node.stat);
  }

  #track(folder: Folder): void {
    if (folder.tracked) return;
    folder.tracked = true;
    if (folder.above !== undefined) this.#track(folder.above);
    const node = this.#files.get(folder.path);
    if (node !== undefined) this.changed.push({ path: folder.path, stat: node.stat });
    this.tally.count(folder.weight, 1, 0);
  }

  #findGone(): void {
    for (const path of this.#known.keys()) {
      if (splitRoot(path).root === this.#root.id && this.#files.get(path) === undefined) this.gone.push(path);
    }
    this.gone.sort((a, b) => (a < b ? 1 : -1));
  }

  /**
   * Keeps only the results that a scan of the paths in `only` has: the results for these paths, for the folders above
   * them, and for everything beneath them. Without `exact`, there are two additions. An ignore file in `only` stands
   * for its whole folder. If a folder above a path in `only` is new or gone, all results in that folder are kept.
   */
  #keepOnly(only: readonly WorkspacePath[], exact: boolean): void {
    const turned = new Set<WorkspacePath>(this.gone);
    for (const { path } of this.changed) if (!this.#known.has(path)) turned.add(path);
    const wanted = (path: WorkspacePath): boolean =>
      only.some((asked) => {
        const target = nameOf(asked) === ".gitignore" && !exact ? parentOf(asked) : asked;
        if (isWithin(path, target) || isWithin(target, path)) return true;
        if (exact) return false;
        for (const at of foldersAbove(target)) if (turned.has(at) && isWithin(path, at)) return true;
        return false;
      });
    keep(this.changed, (one) => wanted(one.path));
    keep(this.gone, wanted);
    keep(this.omitted, (one) => wanted(one.path));
  }
}

function keep<T>(list: T[], wanted: (one: T) => boolean): void {
  const kept = list.filter(wanted);
  list.length = 0;
  addAll(list, kept);
}
