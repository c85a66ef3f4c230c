import { setImmediate as nextTurn } from "node:timers/promises";
import { isKeptTime, type Entry, timeNsOf } from "../../core/values/entry.ts";
import type { Hash } from "../../core/values/hash.ts";
import { type Step, block, releaseAll, rootsOf } from "./apply-step.ts";
import type { RestoreWorkers, StageFile } from "./restore-workers.ts";
import type { ApplyRequest, ContentReader } from "../worktree.ts";
import { errnoOf, ChronicleError } from "../../core/values/errors.ts";
import { parentOf, type WorkspacePath, childOf, nameOf } from "../../core/values/path.ts";
import type { Disk, FileStat, Owner } from "../../disk/disk.ts";
import type { OpenedFile } from "../files/confined-fs.ts";
import { type EarlyTree, adoptEarly, type AdoptedTree } from "./early-stage.ts";
import type { SyncsBeside } from "./syncs-beside.ts";
import { isReadableMode, withMode } from "./staging.ts";

/**
 * The number of files up to which each file is synced separately. More files are synced together by one call of
 * `syncAllBeside`, if the platform has that function.
 */
const FEW = 256;

/** The size in bytes up to which a whole content is read into memory and shared by all steps that need it. */
const HELD_BYTES = 8 * 1024 * 1024;

/**
 * The number of bytes after which staging yields to other tasks. Each content counts as its own bytes plus
 * `CONTENT_COST`, the cost of making its name.
 */
const TURN_BYTES = 16 * 1024 * 1024;
const CONTENT_COST = 16 * 1024;
const PIECE_BYTES = 1024 * 1024;
const SETGID = 0o2000;

/** The mode of staged files on a disk that keeps no modes. Every disk accepts this mode. */
const OWN_MODE = 0o600;
const OWN_FOLDER_MODE = 0o700;

interface StageContext {
  readonly disk: Disk;
  readonly steps: readonly Step[];
  readonly request: ApplyRequest;
  readonly workers: RestoreWorkers | undefined;
  /** Set only if there are few files. The caller of `stageSteps` must wait for `syncs.end()`. */
  readonly syncs?: SyncsBeside | undefined;
  readonly early: EarlyTree | undefined;
  /** Receives the number of files staged since the last call. */
  readonly onStaged: (files: number) => void;
}

/**
 * Writes every new file, link and folder into staging, and makes them durable. With `syncs`, files are durable only
 * after `syncs.end()`. Changes no path of the workspace yet. A new folder is staged with all its contents, so that one
 * rename puts it in place. If a content is missing or damaged, blocks the steps that need this content. Throws the
 * disk's error if the disk is full or refuses a name.
 */
export async function stageSteps(context: StageContext): Promise<void> {
  const early = context.early === undefined ? undefined : adoptEarly(context.steps, context.early);
  const wanted = placeFolders(context, early);
  if (early !== undefined) context.onStaged(context.steps.filter((step) => step.early !== undefined).length);
  if (context.syncs !== undefined) return stageBeside(context, wanted);
  // Early-staged files have not been synced one by one. If there are any, all files are synced together.
  const each = early === undefined && countOf(wanted) <= FEW;
  if (each || context.workers === undefined) await stageContents(context, wanted, each);
  else await stageWithWorkers(context, context.workers, wanted);
  await makeDurable(context, each);
}

async function stageBeside(context: StageContext, wanted: Wanted): Promise<void> {
  await stageContents(context, wanted, false);
  for (const step of context.steps) if (step.after?.kind === "dir") syncFolder(step);
}

/** Makes the names in a staged folder durable. Must be called before the folder is renamed into place. */
function syncFolder({ staged, stagedIn, blocked }: Step): void {
  if (staged !== undefined && blocked === undefined) stagedIn.syncFolder(staged);
}

/**
 * Stages the wanted files with workers. The workers stage the plain files (`isPlainFile`), while this thread stages all
 * others. Then this thread stages the files that the workers left out.
 */
async function stageWithWorkers(context: StageContext, workers: RestoreWorkers, wanted: Wanted): Promise<void> {
  const { forWorkers, others } = splitForWorkers(wanted);
  releaseAll(context.steps);
  // Both parts are awaited, because the staging folder must not be emptied while one part still writes.
  const [left, here] = await Promise.allSettled([
    stageByWorkers(workers, forWorkers, context),
    stageContents(context, others, false),
  ]);
  if (here.status === "rejected") throw here.reason;
  if (left.status === "rejected") throw left.reason;
  releaseAll(context.steps);
  giveWritten(context.disk, forWorkers);
  await stageContents(context, left.value, false);
}

/** Stages the wanted contents. With `each`, syncs each file when it is written. */
async function stageContents(context: StageContext, wanted: Wanted, each: boolean): Promise<void> {
  if (wanted.size === 0) return;
  const seen = new Set<Hash>();
  let bytes = 0;
  for await (const [hash, reader] of context.request.contents(wanted.keys())) {
    const steps = wanted.get(hash);
    if (steps === undefined || seen.has(hash)) continue;
    seen.add(hash);
    await stageContent(context, steps, reader, each);
    context.onStaged(steps.length);
    bytes += CONTENT_COST + (reader?.size ?? 0);
    if (bytes < TURN_BYTES) continue;
    bytes = 0;
    await giveTurn(context);
  }
  for (const [hash, steps] of wanted) {
    if (!seen.has(hash)) for (const step of steps) block(step, "content-missing", hash);
  }
}

async function giveTurn({ steps }: StageContext): Promise<void> {
  releaseAll(steps);
  await nextTurn();
}

function countOf(wanted: Wanted): number {
  let count = 0;
  for (const steps of wanted.values()) count += steps.length;
  return count;
}

/**
 * Chooses the place of each new path in staging, makes the staged folders, and uses the early-staged files. Returns the
 * steps that still need a content, by the hash of the content.
 */
function placeFolders({ disk, steps }: StageContext, early: AdoptedTree | undefined): Wanted {
  const wanted = new Map<Hash, Step[]>();
  const carriers = new Map<WorkspacePath, Step>();
  for (const step of steps) {
    const { after } = step;
    if (step.blocked !== undefined || after === undefined) continue;
    if (step.todo !== "create" && step.todo !== "replace") continue;
    const above = carriers.get(parentOf(step.path));
    const isEarly =
      early !== undefined &&
      step.root === early.root &&
      isBesideEarly(step, above) &&
      (step.early !== undefined || (after.kind === "dir" && early.folders.has(step.inner)));
    place(step, above, isEarly ? early : undefined);
    if (after.kind === "dir") {
      carriers.set(step.path, step);
      makeStaged(disk, step, after, isEarly);
    } else if (isEarly) {
      step.stat = step.early;
      giveStaged(disk, step);
    } else if (after.hash !== undefined) {
      const sharing = wanted.get(after.hash);
      if (sharing === undefined) wanted.set(after.hash, [step]);
      else sharing.push(step);
    }
  }
  return wanted;
}

function makeStaged(disk: Disk, step: Step, after: Entry, isThere: boolean): void {
  const { stagedIn, staged, path } = step;
  const at = staged ?? path;
  const { modes } = step.root.traits;
  const mode = modes ? after.mode | OWN_FOLDER_MODE : OWN_FOLDER_MODE;
  if (!isThere) stagedIn.makeFolder(at, mode);
  if (!modes) return;
  const made = stagedIn.lstat(at);
  if (made === undefined) return;
  const inherited = made.mode & SETGID;
  if (made.mode !== (mode | inherited)) stagedIn.chmod(at, mode | inherited, "dir");
  if (inherited !== 0) step.after = { ...after, mode: after.mode | inherited };
  if (ownerFor(step, made) === undefined) return;
  using folder = stagedIn.openFolder(at);
  giveToOwner(disk, step, folder);
}

/** True if this path is staged in `staging.fresh`, where the early-staged files lie. */
function isBesideEarly({ root, inner }: Step, above: Step | undefined): boolean {
  if (above?.staged !== undefined) return above.stagedIn === root.staging.fresh;
  return root.staging.places.placeIn(parentOf(inner), "") === undefined;
}

function place(step: Step, above: Step | undefined, early: AdoptedTree | undefined): void {
  const { staging } = step.root;
  if (above?.staged !== undefined) {
    step.carrier = above.carrier ?? above;
    step.stagedIn = above.stagedIn;
    step.staged = childOf(above.staged, nameOf(step.inner));
    return;
  }
  const name = String(step.index);
  const inFolder = early === undefined ? staging.places.placeIn(parentOf(step.inner), name) : undefined;
  step.stagedIn = inFolder === undefined ? staging.fresh : staging.places.fs;
  step.staged = early?.pathOf(step.inner) ?? inFolder ?? staging.newPath(name);
}

async function stageContent(
  context: StageContext,
  steps: readonly Step[],
  reader: ContentReader | undefined,
  each: boolean,
): Promise<void> {
  // A large content is copied from the file that is staged first, so a readable file is staged first.
  const [first, ...others] = [...steps].sort((a, b) => Number(isReadable(b)) - Number(isReadable(a)));
  if (first === undefined) return;
  try {
    if (reader === undefined) throw new ChronicleError("BLOB_MISSING", "the content is not in the store");
    const held = await stageFirst(context, first, reader, each);
    for (const step of others) {
      if (held !== undefined) stageHeld(context, step, held, each);
      else if (isReadable(first)) copyStaged(context, first, step, each);
      else await stageFirst(context, step, reader, each);
    }
  } catch (error) {
    if (!isContentTrouble(error)) throw error;
    for (const step of steps) {
      dropStaged(step);
      block(step, "content-missing", error.message);
    }
  }
}

/** True if the mode of the step's file permits this process to open the file again. */
function isReadable({ root, after }: Step): boolean {
  return !root.traits.modes || isReadableMode(after?.mode ?? OWN_MODE);
}

function isContentTrouble(error: unknown): error is ChronicleError {
  return error instanceof ChronicleError && (error.code === "BLOB_MISSING" || error.code === "BLOB_CORRUPT");
}

function dropStaged(step: Step): void {
  if (step.staged === undefined) return;
  try {
    step.stagedIn.unlink(step.staged);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}

/** Stages a content for one step. Returns the bytes of the content if these are at most `HELD_BYTES`. */
async function stageFirst(
  context: StageContext,
  step: Step,
  reader: ContentReader,
  each: boolean,
): Promise<readonly Uint8Array[] | undefined> {
  if (reader.size <= HELD_BYTES) {
    const pieces: Uint8Array[] = [];
    // The reader checks the hash at the end, so the content is read whole before it is used.
    for await (const piece of reader.pieces()) pieces.push(piece);
    stageHeld(context, step, pieces, each);
    return pieces;
  }
  const fs = step.stagedIn;
  using file = createStaged(step, context.syncs);
  let size = 0;
  for await (const piece of reader.pieces()) {
    fs.write(file, piece);
    size += piece.length;
  }
  finishFile(context, step, file, { size, each });
  return undefined;
}

function stageHeld(context: StageContext, step: Step, pieces: readonly Uint8Array[], each: boolean): void {
  const fs = step.stagedIn;
  if (step.after?.kind === "symlink") {
    fs.symlink(Buffer.concat(pieces), step.staged ?? step.path);
    return;
  }
  using file = createStaged(step, context.syncs);
  let size = 0;
  for (const piece of pieces) {
    if (piece.length > 0) fs.write(file, piece);
    size += piece.length;
  }
  finishFile(context, step, file, { size, each });
}

function copyStaged(context: StageContext, first: Step, step: Step, each: boolean): void {
  const from = first.stagedIn;
  using source = from.openRead(first.staged ?? first.path);
  using file = createStaged(step, context.syncs);
  const buffer = Buffer.allocUnsafe(PIECE_BYTES);
  let size = 0;
  for (let count = from.read(source, buffer, 0); count > 0; count = from.read(source, buffer, size)) {
    step.stagedIn.write(file, buffer.subarray(0, count));
    size += count;
  }
  finishFile(context, step, file, { size, each });
}

function createStaged(step: Step, syncs: SyncsBeside | undefined): OpenedFile {
  const mode = step.root.traits.modes ? (step.after?.mode ?? OWN_MODE) & 0o1777 : OWN_MODE;
  const file = step.stagedIn.create(step.staged ?? step.path, mode);
  return syncs?.keep(file) ?? file;
}

function finishFile(
  { disk, request, syncs }: StageContext,
  step: Step,
  file: OpenedFile,
  done: { readonly size: number; readonly each: boolean },
): void {
  const { after } = step;
  if (after === undefined) return;
  if (done.size !== after.size) {
    throw new ChronicleError("BLOB_CORRUPT", `the content has ${done.size} bytes, not ${after.size}`);
  }
  const written = disk.fstat(file.fd);
  const owned = giveToOwner(disk, step, file, written) ? disk.fstat(file.fd) : written;
  const { modes } = step.root.traits;
  const made = modes ? withMode(disk, file, after.mode, owned) : owned;
  // Writing and changing the owner clear setuid and setgid, so these bits are set last.
  if ((after.mode & 0o6000) !== 0 && modes) disk.chmod(file.fd, after.mode);
  if (request.keepMtime === true && isKeptTime(after.mtimeMs)) disk.setMtime(file.fd, timeNsOf(after));
  if (done.each || !isReadable(step)) disk.sync(file.fd);
  syncs?.finished(file);
  step.stat = request.keepMtime === true || (after.mode & 0o6000) !== 0 ? disk.fstat(file.fd) : made;
}

async function makeDurable(context: StageContext, each: boolean): Promise<void> {
  const { disk, steps, early } = context;
  if (early !== undefined) {
    releaseAll(steps);
    await early.syncing;
  }
  const staged = steps.filter((step) => step.staged !== undefined && step.blocked === undefined);
  for (const root of rootsOf(staged)) {
    if (!each) {
      releaseAll(steps);
      if (await disk.syncAllBeside(root.fs.root)) continue;
    }
    for (const step of staged) if (step.root === root) syncStaged(disk, step, each);
  }
}

/**
 * Syncs a staged folder or file. Skips a file that was already synced right after it was written. With `each`, all
 * files were synced then. Without `each`, only the files that this process may not open again were.
 */
function syncStaged(disk: Disk, step: Step, each: boolean): void {
  const fs = step.stagedIn;
  if (step.staged === undefined) return;
  if (step.after?.kind === "dir") syncFolder(step);
  if (each || step.after?.kind !== "file" || !isReadable(step)) return;
  using file = fs.openRead(step.staged);
  disk.sync(file.fd);
}

/**
 * Returns the new owner of a staged file; `undefined` if the owner does not change. A file that replaces another gets
 * the owner of the replaced file. Any other file made by root gets the owner of its folder, so that a user who once ran
 * Chronicle as root can read the file.
 */
function ownerFor(step: Step, made: FileStat): Owner | undefined {
  const owner = replacedOwner(step) ?? (made.uid === 0 ? folderOwner(step) : undefined);
  return owner === undefined || (owner.uid === made.uid && owner.gid === made.gid) ? undefined : owner;
}

function replacedOwner({ todo, present, after }: Step): Owner | undefined {
  if (todo !== "replace" || present?.kind !== "file" || after?.kind !== "file") return undefined;
  return present.gid === undefined ? undefined : { uid: present.uid, gid: present.gid };
}

function folderOwner(step: Step): Owner | undefined {
  const { root, inner } = step.carrier ?? step;
  const folder = root.fs.lstat(parentOf(inner));
  if (folder?.gid === undefined || folder.uid === 0) return undefined;
  return { uid: folder.uid, gid: folder.gid };
}

/**
 * Gives the file, whose stat is `made`, to the owner that `ownerFor` returns. Returns false if `ownerFor` returns
 * `undefined`. If the system does not permit the change, notes the owner of a replaced file in the step.
 */
function giveToOwner(disk: Disk, step: Step, { fd }: OpenedFile, made = disk.fstat(fd)): boolean {
  const owner = ownerFor(step, made);
  if (owner === undefined) return false;
  if (!disk.give(fd, owner) && replacedOwner(step) !== undefined) step.lostOwner = owner;
  return true;
}

/**
 * Does the same as `giveToOwner` for a file that was staged early or by the workers. Does nothing for a file that the
 * workers did not write.
 */
function giveStaged(disk: Disk, step: Step): void {
  const { stat, staged, stagedIn } = step;
  if (stat === undefined || staged === undefined) return;
  const owner = ownerFor(step, stat);
  if (owner === undefined) return;
  try {
    using file = stagedIn.openRead(staged);
    giveToOwner(disk, step, file);
    step.stat = disk.fstat(file.fd);
  } catch (error) {
    // The mode of a file may deny read access even to the process that made the file.
    if (errnoOf(error) !== "EACCES") throw error;
    step.lostOwner = replacedOwner(step);
  }
}

function giveWritten(disk: Disk, wanted: Wanted): void {
  for (const steps of wanted.values()) for (const step of steps) giveStaged(disk, step);
}

type Wanted = ReadonlyMap<Hash, readonly Step[]>;

/**
 * The maximum size, in bytes, of a file that the workers stage. The store keeps each larger content in a file of its
 * own, and reads that file in pieces.
 */
const MOST_BYTES = 8 * 1024 * 1024;

/** Files with these bits are not for the workers, because writing clears setuid and setgid. */
const SET_ID = 0o6000;

function splitForWorkers(wanted: Wanted): { readonly forWorkers: Wanted; readonly others: Wanted } {
  return { forWorkers: those(wanted, isPlainFile), others: those(wanted, (step) => !isPlainFile(step)) };
}

function those(wanted: Wanted, is: (step: Step) => boolean): Wanted {
  const found = new Map<Hash, readonly Step[]>();
  for (const [hash, steps] of wanted) {
    const kept = steps.filter(is);
    if (kept.length > 0) found.set(hash, kept);
  }
  return found;
}

function isPlainFile(step: Step): boolean {
  const { after, staged } = step;
  if (after?.kind !== "file" || staged === undefined || !isReadable(step)) return false;
  return after.size <= MOST_BYTES && (after.mode & SET_ID) === 0;
}

/** Returns the steps whose files the workers did not write. */
async function stageByWorkers(
  workers: RestoreWorkers,
  wanted: Wanted,
  {
    request,
    onStaged,
  }: { readonly request: Pick<ApplyRequest, "keepMtime">; readonly onStaged: (files: number) => void },
): Promise<Wanted> {
  for (const [base, steps] of Map.groupBy([...wanted.values()].flat(), (step) => step.stagedIn.root)) {
    const stats = await workers.write(
      base,
      steps.map((step) => fileOf(step, request)),
      onStaged,
    );
    for (const [i, step] of steps.entries()) step.stat = stats[i];
  }
  return those(wanted, ({ stat }) => stat === undefined);
}

function fileOf({ root, path, staged, after }: Step, { keepMtime }: Pick<ApplyRequest, "keepMtime">): StageFile {
  if (after?.hash === undefined) throw new TypeError(`${path} holds no content`);
  const { hash, size } = after;
  // Some disks that keep no modes refuse to set other modes.
  const mode = root.traits.modes ? after.mode : 0o600;
  return {
    hash,
    path: staged ?? path,
    size,
    mode,
    mtimeNs: keepMtime === true && isKeptTime(after.mtimeMs) ? timeNsOf(after) : undefined,
  };
}
