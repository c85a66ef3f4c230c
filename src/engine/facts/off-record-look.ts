import type { Omission } from "../../core/records/coverage.ts";
import { type OffRecord, type OffRecordNote, sealOf } from "../../core/records/off-record.ts";
import { comparePaths, foldersAbove, isWithin, type WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { ScannedPath } from "../../worktree/worktree.ts";
import { openActions } from "./actions.ts";
import { goingOn } from "./brackets.ts";
import type { Context } from "../log/context.ts";

/** Options for how a scan treats paths that are off the record. */
export interface OffRecordOptions {
  /** True if the paths in `only`, and all paths beneath them, are recorded even if they were changed off the record. */
  readonly onRecord?: boolean;
  /** True if commands that are running off the record are ignored. If so, only paths with a note are left out. */
  readonly pastCommands?: boolean;
  /** The paths that a person has named. Used only with `onRecord`. Default: none. */
  readonly only?: readonly WorkspacePath[];
}

/**
 * The verdict on a path. `held`: the path still has the state that its note describes. `going`: a command that is
 * running off the record may have changed the path. `returned`: somebody else has changed the path since the note, or a
 * person has named the path. `through`: the path is not off the record.
 */
type Verdict = "held" | "going" | "returned" | "through";

const WRITTEN =
  "it was written off the record, and stays out of the history until somebody changes it, or `chronicle snapshot --on-record` names it";
const REMOVED =
  "it was removed off the record, and keeps its earlier state in the history until somebody makes it again, or `chronicle snapshot --on-record` names it";
const GOING = "a command is running off the record, and may have changed this path";

/**
 * Filters a scan, before anything is stored: leaves out the paths that were changed off the record. A path with a note
 * is recognised by its stat, or by its salted hash if the stat differs. A file that was only touched or renamed is
 * therefore still left out.
 */
export class OffRecordLook {
  /** Paths that somebody else has changed since they were left off the record, or that a person has named. */
  readonly returned = new Set<WorkspacePath>();
  /** Paths that are left out because a command off the record is running. These paths must be scanned again later. */
  readonly undecided: WorkspacePath[] = [];
  readonly #context: Context;
  readonly #state: OffRecord;
  readonly #notes: ReadonlyMap<WorkspacePath, OffRecordNote>;
  readonly #byInode: ReadonlyMap<string, OffRecordNote>;
  readonly #options: OffRecordOptions;
  /**
   * The paths that tools have declared. Set only if a command is running off the record, and is not ignored
   * (`pastCommands`).
   */
  readonly #declared: readonly WorkspacePath[] | undefined;
  readonly #folders: ScannedPath[] = [];
  readonly #held = new Map<WorkspacePath, string>();

  private constructor(context: Context, state: OffRecord, notes: readonly OffRecordNote[], how: How) {
    this.#context = context;
    this.#state = state;
    this.#notes = new Map(notes.map((note) => [note.path, note]));
    this.#byInode = new Map(
      notes.flatMap((note) => (note.state === undefined ? [] : [[inodeOf(note.state), note] as const])),
    );
    this.#options = how.options;
    this.#declared = how.declared;
  }

  /** Returns `undefined` if nothing is off the record. Throws `LOG_DAMAGED` if the notes cannot be read. */
  static async of(context: Context, options: OffRecordOptions): Promise<OffRecordLook | undefined> {
    const state = context.offRecord.read();
    if (state === undefined) return undefined;
    const isGoing = state.going.length > 0 && options.pastCommands !== true;
    const declared = isGoing ? await declaredPaths(context) : undefined;
    return new OffRecordLook(context, state, await inForce(context, state.notes), { options, declared });
  }

  /** True if the notes are still the same as at the beginning of the scan. The caller must hold the lock. */
  get isCurrent(): boolean {
    return this.#context.offRecord.read() === this.#state;
  }

  /** True if the path may be read although `sift` did not return the path. */
  mayRead(path: WorkspacePath): boolean {
    return this.#declared === undefined && !this.#notes.has(path);
  }

  /**
   * Returns the paths of a batch that are to be read. Folders that may be left out are not returned: `foldersOf`
   * decides about these folders later.
   */
  async sift(batch: readonly ScannedPath[]): Promise<ScannedPath[]> {
    const through: ScannedPath[] = [];
    for (const one of batch) {
      const verdict = await this.#judge(one.path, one.stat);
      if (verdict === "through" || verdict === "returned") through.push(one);
      else if (one.stat.kind === "dir") this.#folders.push(one);
      else this.#hold(one.path, verdict, WRITTEN);
    }
    return through;
  }

  /** Returns those of the missing paths whose removal is to be recorded. */
  async siftGone(gone: readonly WorkspacePath[]): Promise<WorkspacePath[]> {
    const through: WorkspacePath[] = [];
    for (const path of gone) {
      const verdict = await this.#judge(path, undefined);
      if (verdict === "through" || verdict === "returned") through.push(path);
      else this.#hold(path, verdict, REMOVED);
    }
    return through;
  }

  /**
   * Returns the folders that `sift` left undecided and that contain a captured path (`taken`). These folders are
   * captured, too.
   */
  foldersOf(taken: readonly WorkspacePath[]): ScannedPath[] {
    if (this.#folders.length === 0) return [];
    const above = new Set(taken.flatMap((path) => [...foldersAbove(path)]));
    const through = this.#folders.filter(({ path }) => above.has(path));
    for (const { path } of this.#folders) {
      if (!above.has(path)) this.#hold(path, this.#declared === undefined ? "held" : "going", WRITTEN);
    }
    return through;
  }

  /** Returns the omissions of a scan. Excluded paths that are off the record get the reason `off-record`. */
  async renamed(omitted: readonly Omission[]): Promise<Omission[]> {
    const noted = omitted.filter(({ path, reason }) => reason === "excluded" && this.#notes.has(path));
    if (noted.length === 0) return [...omitted];
    const held = await this.heldAmong(noted.map(({ path }) => path));
    return omitted.map((one) =>
      one.reason === "excluded" && held.has(one.path) ? { path: one.path, reason: "off-record", detail: WRITTEN } : one,
    );
  }

  /** Returns the omissions of the paths that are left out. A path beneath a listed path is not listed itself. */
  held(): Omission[] {
    const held: Omission[] = [];
    for (const path of [...this.#held.keys()].sort(comparePaths)) {
      const last = held.at(-1);
      if (last !== undefined && isWithin(path, last.path)) continue;
      held.push({ path, reason: "off-record", detail: this.#held.get(path) ?? WRITTEN });
    }
    return held;
  }

  /** Returns the paths that still have their noted state, each with the reason why the path is left alone. */
  async heldAmong(paths: readonly WorkspacePath[]): Promise<ReadonlyMap<WorkspacePath, string>> {
    const stats = await this.#context.worktree.stats(paths);
    const held = new Map<WorkspacePath, string>();
    for (const [i, path] of paths.entries()) {
      const stat = stats[i];
      if (stat === "unknown" || (await this.#judge(path, stat)) !== "held") continue;
      held.set(path, stat === undefined ? REMOVED : `${WRITTEN}; there is no copy of it`);
    }
    return held;
  }

  /**
   * Returns the paths that a scan would leave out: those that still have their noted state, and those that a command
   * running off the record may have changed.
   */
  async leftOutAmong(paths: readonly WorkspacePath[]): Promise<ReadonlySet<WorkspacePath>> {
    const stats = await this.#context.worktree.stats(paths);
    const left = new Set<WorkspacePath>();
    for (const [i, path] of paths.entries()) {
      const stat = stats[i];
      const verdict = stat === "unknown" ? "through" : await this.#judge(path, stat);
      if (verdict === "held" || verdict === "going") left.add(path);
    }
    return left;
  }

  /** Returns all paths that still have their noted state, each with the reason why the path is left alone. */
  heldNow(): Promise<ReadonlyMap<WorkspacePath, string>> {
    return this.heldAmong([...this.#notes.keys()]);
  }

  #hold(path: WorkspacePath, verdict: Verdict, detail: string): void {
    if (verdict === "going") this.undecided.push(path);
    this.#held.set(path, verdict === "going" ? GOING : detail);
  }

  async #judge(path: WorkspacePath, stat: FileStat | undefined): Promise<Verdict> {
    const { onRecord = false, only = [] } = this.#options;
    const note = this.#notes.get(path) ?? (stat === undefined ? undefined : this.#byInode.get(inodeOf(stat)));
    const isNamed = onRecord && only.some((one) => isWithin(path, one));
    if (note !== undefined && !isNamed && (await this.#matches(note, path, stat))) return "held";
    if (this.#declared?.some((one) => isWithin(path, one)) === false) return "going";
    if (note === undefined || (note.path !== path && !isNamed)) return "through";
    this.returned.add(path);
    return "returned";
  }

  async #matches({ state }: OffRecordNote, path: WorkspacePath, stat: FileStat | undefined): Promise<boolean> {
    if (stat === undefined || state === undefined) return stat === state;
    if (stat.kind !== state.kind) return false;
    const isSameFile = stat.ino === state.ino && stat.dev === state.dev;
    if (stat.kind === "dir") return isSameFile;
    if (stat.size !== state.size) return false;
    if (isSameFile && stat.mtimeNs === state.mtimeNs && stat.ctimeNs === state.ctimeNs) return true;
    const hash = state.seal === undefined ? undefined : (await this.#context.worktree.inspect(path))?.hash;
    return hash !== undefined && sealOf(this.#state, hash) === state.seal;
  }
}

/**
 * Returns the paths that tools declared and may still be changing. Changes of these paths do not count as work off the
 * record.
 */
export async function declaredPaths(context: Context): Promise<readonly WorkspacePath[]> {
  return (await goingOn(context, await openActions(context))).flatMap(({ paths }) => paths);
}

interface How {
  readonly options: OffRecordOptions;
  readonly declared: readonly WorkspacePath[] | undefined;
}

function inodeOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev}:${ino}`;
}

/**
 * Returns the notes that are still in force. A note is in force until something is recorded at the path of the note.
 */
export async function inForce(
  { index }: Pick<Context, "index">,
  notes: readonly OffRecordNote[],
): Promise<readonly OffRecordNote[]> {
  const { seq } = await index.head();
  const first = notes.reduce((least, note) => Math.min(least, note.seq), seq);
  if (notes.length === 0 || first === seq) return notes;
  const touched = new Set(await index.touched(first, seq));
  const doubtful = notes.filter(({ path }) => touched.has(path));
  const rows = await index.iterationsAt(
    doubtful.map(({ path }) => path),
    seq,
  );
  const ended = new Set(doubtful.filter((note, i) => (rows[i]?.seq ?? 0) > note.seq));
  return ended.size === 0 ? notes : notes.filter((note) => !ended.has(note));
}
