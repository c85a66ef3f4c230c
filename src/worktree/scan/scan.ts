import { setImmediate as nextTurn } from "node:timers/promises";
import { entryTime } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import {
  pathInRoot,
  ROOT,
  type WorkspacePath,
  childOf,
  comparePaths,
  isWithin,
  nameOf,
  parentOf,
  splitRoot,
} from "../../core/values/path.ts";
import { quotePath } from "../../core/shell/quote-command.ts";
import type { Disk, NodeKind, FileStat } from "../../disk/disk.ts";
import type { TrackedRoot, OnChanged, ScanReport, ScanRequest } from "../worktree.ts";
import type { StatCache } from "./stat-cache.ts";
import type { UnappliedRules } from "../../core/records/coverage.ts";
import { type FolderTraits, readsAll } from "../../core/tree/folder-traits.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import type { FolderWork } from "./scan-look.ts";
import { compileFilter } from "../../core/filter/ignore.ts";
import { FolderRules, RuleReader } from "./folder-rules.ts";
import type { GitNow } from "../git/git-repository.ts";
import { EXCLUDE_FILE, filterOf, keepGit, problemsOf, told } from "./root-filter.ts";
import { RootGit } from "../git/root-git.ts";
import { isInStaging } from "../../core/tree/staging-folder.ts";
import { addAll } from "../../util/long-lists.ts";
import { RootScan } from "./scan-root.ts";
import { ScanTally } from "./scan-tally.ts";

/** The approximate number of changed paths in one batch for `onChanged`. */
const BATCH = 512;

/** The number of paths after which a scan yields to other tasks. */
const TURN = 4096;

export interface OpenRoot {
  readonly root: TrackedRoot;
  readonly fs: ConfinedFs;
  readonly traits: FolderTraits;
}

export interface ScanContext {
  readonly disk: Disk;
  readonly roots: readonly OpenRoot[];
  readonly cache: StatCache;
  readonly remembered: boolean;
  readonly startedAtNs: bigint;
  /** Folders of the store, which are never captured. */
  readonly storeFolders: readonly string[];
  /** The workspace's id, for the hint of the error about a missing root. */
  readonly workspace: string | undefined;
  readonly git: GitNow;
  /**
   * Returns the seq of the last recorded event, for the hint of the error about a missing root. Default: the hint names
   * no seq.
   */
  readonly recordedSeq?: (() => Promise<number>) | undefined;
  /** Called with each staging folder that the scan has found, except a root's own staging folder (`STAGING_FOLDER`). */
  readonly onStaging: (path: WorkspacePath) => void;
  /** Called with the folder of each repository that a scan of some paths has met. */
  readonly onRepository: (folder: WorkspacePath) => void;
}

interface Running {
  readonly scan: RootScan;
  readonly tally: ScanTally;
  readonly reader: RuleReader;
  readonly git: RootGit;
  readonly start: FolderWork;
  /** The stat of the root's folder when the scan began. */
  readonly at: FileStat;
}

/** Compares the disk with the remembered state: see `Worktree.scan`. */
export async function scanRoots(context: ScanContext, request: ScanRequest, onChanged: OnChanged): Promise<ScanReport> {
  const { files } = context.git;
  if (request.only === undefined) files.note();
  try {
    return await scanEach(context, request, onChanged);
  } finally {
    files.noted();
  }
}

async function scanEach(context: ScanContext, request: ScanRequest, onChanged: OnChanged): Promise<ScanReport> {
  using _pinned = context.cache.pin();
  const unapplied: UnappliedRules[] = [];
  const runs: Running[] = [];
  const gone: WorkspacePath[] = [];
  let looked = 0;
  for (const open of context.roots) {
    const { named = false, exact = named, holders = false } = request;
    const only = request.only === undefined ? undefined : onlyIn(open.root, request.only, exact);
    using _open = open.fs;
    const lost = goneWithRoot(context, open, { request, only });
    if (lost !== undefined) {
      addAll(gone, lost);
      continue;
    }
    const run = await start(context, open, request);
    runs.push(run);
    if (only === undefined) run.scan.look.folders.push(run.start);
    else lookForAll(run, open, { only, named, exact, holders });
    await drive(run.scan, open.fs, { onChanged, onTurn: (done) => request.onProgress?.(looked + done) });
    await refuseMoved(context, run, open);
    looked += run.scan.look.looked;
    run.scan.look.staging.forEach(context.onStaging);
    keepRules(context.cache, open.root, run.reader, only !== undefined);
    if (only === undefined) addAll(unapplied, finishRules(context.cache, open.root, run));
    else for (const folder of run.git.folders()) context.onRepository(pathInRoot(open.root.id, folder));
  }
  request.onProgress?.(looked);
  return {
    remembered: context.remembered,
    gone: [...gone, ...runs.flatMap((run) => run.scan.look.gone)],
    omitted: runs.flatMap((run) => run.scan.look.omitted),
    linked: runs.flatMap((run) => run.scan.look.linked),
    unapplied,
    filters: context.roots.map(({ root }) => filterOf(context.cache, root)),
    entries: runs.reduce((sum, run) => sum + run.tally.entries, 0),
    bytes: runs.reduce((sum, run) => sum + run.tally.bytes, 0),
    exceeded: runs.flatMap((run) => run.tally.exceeded()),
    startedAtNs: context.startedAtNs,
  };
}

interface Limited {
  readonly request: ScanRequest;
  readonly only: readonly WorkspacePath[] | undefined;
}

/**
 * Returns the remembered paths that count as gone because the folder of their root is missing. Returns `undefined` if
 * the folder exists, or if `request.absentRoot` does not allow the paths to count as gone.
 */
function goneWithRoot(
  { cache }: ScanContext,
  { root, fs }: OpenRoot,
  { request, only }: Limited,
): WorkspacePath[] | undefined {
  if (request.absentRoot === undefined || fs.lstat(ROOT) !== undefined) return undefined;
  const path = pathInRoot(root.id, ROOT);
  const known = [...cache.beneath(path, cache.rowOf(path))];
  if (request.absentRoot === "known" && known.length > 0) return undefined;
  if (only === undefined) return known;
  return known.filter((one) => only.some((inner) => isWithin(splitRoot(one).path, inner)));
}

async function start(context: ScanContext, open: OpenRoot, request: ScanRequest): Promise<Running> {
  const { root, fs, traits } = open;
  const { cache, startedAtNs } = context;
  const partial = request.only !== undefined;
  const stat = fs.lstat(ROOT);
  if (stat === undefined) throw await rootAway(context, root);
  if (request.elsewhere !== "accepted" && isUnmounted({ cache, root, fs }, stat, request.elsewhere)) {
    throw notMounted(root);
  }
  const store = context.storeFolders.map((folder) => context.disk.lstat(folder)).filter((own) => own !== undefined);
  if (store.some((own) => own.ino === stat.ino && own.dev === stat.dev)) {
    throw new ChronicleError("REFUSED", `${root.folder} is Chronicle's own store`, { hint: "track another folder" });
  }
  const known = (path: WorkspacePath) => cache.rules.get(pathInRoot(root.id, path));
  const enabled = root.filter.useGitignore && root.only === undefined;
  const git = new RootGit({
    ...context.git,
    root,
    known: (folder) => cache.git.get(pathInRoot(root.id, folder)),
  });
  const reader = new RuleReader({ fs, enabled, known, startedAtNs, git });
  const tally = new ScanTally(root.limits, partial ? cache.totals(root.id) : { entries: 0, bytes: 0 });
  // On a disk without ctimes, a stat does not reveal every edit. A scan of some paths then reads all these paths, and a
  // full scan of a small root reads all paths of the root.
  const isWeak = !traits.ctime && (partial || readsAll(traits, cache.totals(root.id)));
  const paranoid = request.paranoid === true || isWeak;
  const scan = new RootScan({
    root,
    fs,
    traits,
    cache,
    rules: reader,
    tally,
    startedAtNs,
    paranoid,
    alone: request.alone === true,
    partial,
    store,
    stat,
    gitFolders: context.git.folders,
  });
  const rules = FolderRules.root(compileFilter(root.filter), JSON.stringify(root.filter), reader.read(ROOT));
  return { scan, tally, reader, git, start: scan.rootWork(rules), at: stat };
}

/**
 * True if the root's folder is on another device or mount than at the last scan, and the folder does not have the
 * remembered files. In that case, the root's disk is not mounted, or another disk is mounted in its place. A different
 * device number alone is no proof, because it may change when the machine boots. `elsewhere`: see `ScanRequest`.
 */
function isUnmounted(
  open: Pick<ScanContext, "cache"> & Pick<OpenRoot, "root" | "fs">,
  { dev }: FileStat,
  elsewhere: ReadonlySet<string | undefined> | undefined,
): boolean {
  const { cache, root } = open;
  const path = pathInRoot(root.id, ROOT);
  const row = cache.rowOf(path);
  const isOther = cache.listing(path, row)?.dev !== dev && isOnOtherDevice(cache, path, dev);
  return (isOther || elsewhere?.has(root.id) === true) && !isAnyThere(open, path);
}

function isOnOtherDevice(cache: StatCache, path: WorkspacePath, dev: bigint): boolean {
  const devices = cache.children(path, cache.rowOf(path)).map((child) => cache.get(child.path)?.stat.dev ?? NO_DEVICE);
  const known = devices.find((one) => one !== NO_DEVICE);
  return known !== undefined && known !== dev;
}

/** The maximum number of remembered files that `isAnyThere` looks for. This sample is spread evenly over the root. */
const MOST_LOOKED_FOR = 64;

/**
 * True if the root has the remembered files and links, judged by a sample. It suffices that one of the sample has the
 * remembered size and time, or that half of the sample exist with their remembered kinds. Also true if no file or link
 * is remembered.
 */
function isAnyThere({ cache, fs }: Pick<ScanContext, "cache"> & Pick<OpenRoot, "fs">, path: WorkspacePath): boolean {
  const files = [...cache.beneath(path, cache.rowOf(path))].filter((one) => cache.get(one)?.entry.kind !== "dir");
  const step = Math.ceil(files.length / MOST_LOOKED_FOR);
  let [looked, found] = [0, 0];
  for (let at = 0; at < files.length; at += step) {
    const entry = cache.get(files[at] ?? ROOT)?.entry;
    if (entry === undefined) continue;
    looked += 1;
    const stat = fs.lstat(splitRoot(entry.path).path);
    if (stat?.kind !== entry.kind) continue;
    found += 1;
    if (stat.size === entry.size && entryTime(stat.mtimeNs).mtimeMs === entry.mtimeMs) return true;
  }
  return looked === 0 || found * 2 >= looked;
}

/**
 * The device number of an entry without a stat. Such an entry was taken from the log, and was not read from the disk.
 */
const NO_DEVICE = 0n;

/**
 * Throws `NOT_FOUND` if the scan reports paths as gone although the root's folder was replaced or removed during the
 * scan. These paths may still exist in the old folder.
 */
async function refuseMoved(
  context: ScanContext,
  { scan: { look }, at }: Running,
  { root, fs }: OpenRoot,
): Promise<void> {
  if (look.gone.length === 0) return;
  fs.release();
  const now = fs.lstat(ROOT);
  if (now?.ino !== at.ino || now.dev !== at.dev) throw await rootAway(context, root);
}

function notMounted({ folder }: TrackedRoot): ChronicleError {
  return new ChronicleError(
    "NOT_FOUND",
    `the tracked folder ${folder} is on another device or mount than before, and its recorded files were not found in it`,
    {
      hint:
        "mount the right disk there: nothing was recorded as deleted, and nothing is restored into this folder. " +
        "If its files are gone for good: `chronicle snapshot --accept-deletions`",
      data: { folder },
    },
  );
}

async function drive(
  scan: RootScan,
  fs: ConfinedFs,
  on: { onChanged: OnChanged; onTurn: (looked: number) => void },
): Promise<void> {
  const { look } = scan;
  let lastTurn = 0;
  const hand = async (): Promise<void> => {
    const batch = look.changed;
    look.changed = [];
    // Other tasks may rename folders before the scan continues, so the scan closes its open folders here.
    fs.release();
    if (batch.length > 0) await on.onChanged(batch);
  };
  while (scan.step()) {
    if (look.changed.length < BATCH && look.looked - lastTurn < TURN) continue;
    lastTurn = look.looked;
    await hand();
    on.onTurn(look.looked);
    await nextTurn();
  }
  await hand();
}

/**
 * Returns the requested paths in a root, relative to the root. Leaves out paths beneath other requested paths. If
 * `exact` is false, replaces an ignore file or `.git` by the folder to which its rules apply.
 */
function onlyIn(root: TrackedRoot, only: readonly WorkspacePath[], exact: boolean): WorkspacePath[] {
  const inner: WorkspacePath[] = [];
  for (const path of only) {
    const split = splitRoot(path);
    if (split.root !== root.id) continue;
    if (exact) inner.push(split.path);
    else if (split.path === EXCLUDE_FILE) inner.push(ROOT);
    else inner.push(RULING.has(nameOf(split.path)) ? parentOf(split.path) : split.path);
  }
  const outermost: WorkspacePath[] = [];
  for (const path of inner.sort(comparePaths)) {
    const last = outermost.at(-1);
    if (last === undefined || !isWithin(path, last)) outermost.push(path);
  }
  return outermost;
}

/** Names of entries that decide which other paths in their folder are captured. */
export const RULING: ReadonlySet<string> = new Set([".gitignore", ".git"]);

/**
 * The requested paths. `named`: no rule leaves these paths out. `exact`: in a new folder above a requested path, only
 * the requested path is scanned.
 */
interface Asked {
  readonly only: readonly WorkspacePath[];
  readonly named: boolean;
  readonly exact: boolean;
  /** True to capture the folders above a path even if nothing is at the path itself. */
  readonly holders: boolean;
}

/** Looks at the requested paths, and queues the folders among them. */
function lookForAll(run: Running, { root }: OpenRoot, asked: Asked): void {
  const { scan } = run;
  const { only, named, exact, holders } = asked;
  const onTheWay = new Map<string, FolderWork | undefined>([["", run.start]]);
  for (const path of only) {
    if (path === "" || root.only !== undefined) {
      scan.look.folders.push(run.start);
      return;
    }
    if (isInStaging(path)) continue;
    const parts = path.split("/");
    const last = parts.pop() ?? "";
    const above = wayTo(scan, onTheWay, { parts, named, exact, holders });
    if (above !== undefined) scan.lookFor(above, last, named);
  }
  for (const work of onTheWay.values()) if (work !== undefined) scan.tellOverLimit(work);
}

/**
 * Returns the folder that contains a requested path. `parts`: the names on the way from the root to this folder.
 * Returns `undefined` if the scan cannot enter the folder. If `exact` is false, also returns `undefined` for a new
 * folder and for all folders beneath it, because a new folder is queued as a whole.
 */
function wayTo(
  scan: RootScan,
  met: Map<string, FolderWork | undefined>,
  { parts, named, exact, holders }: Omit<Asked, "only"> & { readonly parts: readonly string[] },
): FolderWork | undefined {
  let path = ROOT;
  let work = met.get(path);
  for (const name of parts) {
    path = childOf(path, name);
    if (!met.has(path) && named && work !== undefined && isUnknownAndKeptOut(scan, work, { path, name })) {
      const passed = scan.passThrough(work, name);
      met.set(path, passed);
      if (holders && passed !== undefined) scan.look.track(passed);
    } else if (!met.has(path)) {
      const next = work === undefined ? undefined : scan.lookFor(work, name);
      // A new folder stays queued as a whole, unless `exact` is true. In a known folder, only the requested path is
      // scanned.
      const passed = next !== undefined && (exact || scan.isKnownFolder(next));
      if (passed) scan.look.folders.pop();
      met.set(path, passed ? next : undefined);
    }
    work = met.get(path);
  }
  return work;
}

function isUnknownAndKeptOut(
  scan: RootScan,
  above: FolderWork,
  { path, name }: { readonly path: WorkspacePath; readonly name: string },
): boolean {
  return !scan.isKnownFolder({ path }) && scan.isKeptOut(above, name);
}

/** Remembers the root's repositories. Returns the rules that are not applied, with the reasons. */
function finishRules(cache: StatCache, root: TrackedRoot, { git, reader }: Running): UnappliedRules[] {
  if (!root.filter.useGitignore || root.only !== undefined) return [];
  keepGit(
    cache,
    root,
    git.finish((repositories) => filterOf(cache, root, repositories)),
  );
  return told(root, [...git.problems, ...reader.problems, ...problemsOf(filterOf(cache, root))]);
}

function keepRules(cache: StatCache, root: TrackedRoot, reader: RuleReader, partial: boolean): void {
  if (!partial) {
    for (const path of [...cache.rules.keys()]) {
      const split = splitRoot(path);
      if (split.root === root.id && reader.met.get(split.path) === undefined) cache.rules.delete(path);
    }
  }
  for (const [inner, rules] of reader.met) {
    const path = pathInRoot(root.id, inner);
    if (rules === undefined) cache.rules.delete(path);
    else if (cache.rules.get(path) !== rules) cache.rules.set(path, rules);
  }
}

const IN_PLACE: Readonly<Record<NodeKind, string | undefined>> = {
  file: "a file",
  symlink: "a symbolic link",
  special: "a special file",
  dir: undefined,
};

/**
 * Returns a description, such as `a file`, of what stands at the path of a folder. Returns `undefined` if a folder or
 * nothing is there.
 */
export function standsInPlace(disk: Disk, folder: string): string | undefined {
  const stat = disk.lstat(folder);
  return stat === undefined ? undefined : IN_PLACE[stat.kind];
}

/** Returns the error for a missing root. The hint depends on whether anything is recorded in the folder. */
async function rootAway(
  { disk, cache, workspace, recordedSeq }: Pick<ScanContext, "disk" | "cache" | "workspace" | "recordedSeq">,
  { id, folder }: TrackedRoot,
): Promise<ChronicleError> {
  const obstacle = standsInPlace(disk, folder);
  const inPlace = obstacle === undefined ? "" : `: ${obstacle} stands in its place`;
  const path = pathInRoot(id, ROOT);
  const isEmpty = [...cache.beneath(path, cache.rowOf(path))].length === 0;
  const hint = isEmpty
    ? hintForEmpty(folder, obstacle)
    : hintForHeld(folder, {
        obstacle,
        back: wayBack({ id, folder }, await recordedSeq?.()),
        adoptable: id === undefined ? workspace : undefined,
      });
  return new ChronicleError("NOT_FOUND", `the tracked folder ${folder} is not there${inPlace}`, {
    hint,
    data: { folder },
  });
}

/** Returns the hint for a missing folder in which nothing is recorded, for example because a run removed the folder. */
function hintForEmpty(folder: string, obstacle: string | undefined): string {
  const first = obstacle === undefined ? "" : `move ${obstacle} away; then `;
  return (
    `nothing is recorded in it now; to bring back the folder and what was deleted in it: ` +
    `${first}\`chronicle undo\` or \`chronicle restore MOMENT\`. To make the folder again without contents: mkdir ${quotePath(folder)}`
  );
}

/**
 * Returns the command that restores a root. The command names the state by its seq, because there may be no snapshot of
 * that state.
 */
function wayBack({ id, folder }: Pick<TrackedRoot, "id" | "folder">, seq: number | undefined): string {
  const moment = seq === undefined ? "MOMENT" : `seq:${seq}`;
  return `chronicle restore ${moment} ${id === undefined ? quotePath(folder) : `@${id}:`}`;
}

interface Held {
  readonly obstacle: string | undefined;
  readonly back: string;
  /**
   * The workspace's id, which `chronicle init --adopt` needs for a moved folder. `undefined` for a further root,
   * because only the first root can be adopted.
   */
  readonly adoptable: string | undefined;
}

function hintForHeld(folder: string, { obstacle, back, adoptable }: Held): string {
  const first =
    obstacle === undefined ? "mount the folder, or put it back" : `move ${obstacle} away and put the folder back`;
  const moved =
    adoptable === undefined ? "" : `if the folder was moved to FOLDER: chronicle init FOLDER --adopt ${adoptable}\n`;
  return (
    `${first}; nothing was recorded as deleted\n${moved}` +
    `if the folder is gone for good: mkdir ${quotePath(folder)}, then: ${back}`
  );
}
