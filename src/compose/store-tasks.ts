import type { HistoryCopy, StoreTasks, NeededElsewhere } from "../engine/log/context.ts";
import { mirrorParts } from "./mirror-places.ts";
import { type StoreParts, openContext, restoreWorkers, traitsOf } from "./open-context.ts";
import { openMirror, historiesOf, type MarkedHistory } from "./open-mirror.ts";
import type { DuShape, GcShape } from "../api/shapes.ts";
import { workspaceLayout } from "../storage/layout.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { LoggedErasure } from "../core/records/erasures.ts";
import type { Hash } from "../core/values/hash.ts";
import { wholePath } from "../core/tree/root-place.ts";
import type { Disk } from "../disk/disk.ts";
import { refuseOwnFolders } from "../disk/refuse-own-folders.ts";
import type { EventLog, LogPosition } from "../storage/event-log.ts";
import { FileReplicaCursors } from "../replication/origin/file-replica-cursors.ts";
import { FileWithheldContents } from "../replication/replica/withheld-contents.ts";
import { aliveContents, type AliveOptions } from "../engine/upkeep/alive.ts";
import { freeGitFolders } from "../engine/capture/git-work.ts";
import { answer } from "../engine/log/answer.ts";
import type { GivenUp } from "../engine/log/history-needs.ts";
import { salvagedContents } from "../engine/upkeep/salvaged-contents.ts";
import { oldestSeq } from "../engine/log/history-start.ts";
import { signingFault, unsigned } from "../engine/log/signing.ts";
import type { SigningFault } from "../engine/log/signing-fault.ts";
import { givenUpInLog, prunedForGood } from "../engine/log/recorded-prunings.ts";
import { emptyWorktree, refuseFilled } from "../store/empty-worktree.ts";
import { FreedErasures } from "../store/freed-erasures.ts";
import { newFolders } from "../store/new-folder.ts";
import { repairSource } from "../store/repair-sources.ts";
import { noteGivenUp } from "./note-given-up.ts";
import { treeSize } from "../store/store-gauge.ts";
import { FileOffRecord } from "../store/file-off-record.ts";
import { faultOfWorkspaceFile } from "../store/workspace-file.ts";
import { optional } from "../util/optional.ts";

export function storeTasks(parts: StoreParts, workspaceId: string): StoreTasks {
  const { configFolder, layout, backends } = parts;
  const refuseOwn = (what: string, given: string): void =>
    refuseOwnFolders(backends.disk, wholePath("the folder", given), what, [layout.home, configFolder]);
  const tasks: StoreTasks = {
    home: parts.layout.home,
    isThere: () => isThere(parts, workspaceId),
    fileFaults: () => {
      const { workspaceJson, offRecord } = parts.layout.workspace(workspaceId);
      const { disk } = parts.backends;
      const fault = faultOfWorkspaceFile(disk, workspaceJson, workspaceId);
      const ofNotes = new FileOffRecord(disk, offRecord).fault();
      return [
        ...(fault === undefined ? [] : [{ where: "workspace.json", fault }]),
        ...(ofNotes === undefined ? [] : [{ where: "off-record.json", fault: ofNotes }]),
      ];
    },
    withheld: () => {
      const { withheld } = parts.layout.workspace(workspaceId).upstream;
      return new FileWithheldContents(parts.backends.disk, withheld).list();
    },
    leftOut: () => {
      const { withheld } = parts.layout.workspace(workspaceId);
      return new FileWithheldContents(parts.backends.disk, withheld).list();
    },
    copy: () => openCopy(parts, workspaceId, tasks),
    scratchIndex: parts.backends.scratchIndex,
    collect: (options) => collectStore(parts, options),
    neededElsewhere: (hashes, { due = false } = {}) => neededElsewhere(parts, workspaceId, { hashes, due }),
    stored: (hashes) => parts.blobs.has(hashes),
    repairSource: (place) => repairSource(parts.backends, place),
    setAside: (files) => setAside(parts, files),
    refuseFilled: async (folder) => {
      refuseOwn("a restore", folder);
      refuseFilled(parts.backends.disk, folder);
    },
    emptyWorktree: async (folder) => {
      refuseOwn("a restore", folder);
      return emptyWorktree(parts.backends, folder, {
        workers: restoreWorkers(parts),
        traitsOf: traitsOf(parts, false),
      });
    },
    usage: () => storeUsage(parts),
    replicas: async () => {
      const cursors = new FileReplicaCursors(backends.disk, layout.workspace(workspaceId).replicas);
      return cursors.list().map(([id, { sequence: seq }]) => ({ id, seq }));
    },
    newFolder: async (folder, stem, files) => {
      refuseOwn("a backup", folder);
      return newFolders(parts.backends.disk)(folder, stem, files);
    },
    noteGivenUp: async (what) => noteGivenUp(parts, workspaceId, what),
    takes: (options) => parts.gauge.takes(options),
    grew: (bytes) => parts.gauge.grew(bytes),
  };
  return tasks;
}

/** The reason why a history proves nothing: it is not signed, or its log is damaged or contradicts the kept head. */
interface Unproved {
  readonly fault?: SigningFault;
  readonly damage?: ChronicleError;
}

/**
 * Returns the reason why a history proves nothing; `undefined` if the history is signed and not damaged. Also returns
 * `undefined` for a workspace that is gone or cannot be opened. If the log of such a workspace cannot be read, a later
 * step of the collection throws.
 */
async function unprovedIn(parts: StoreParts, id: string): Promise<Unproved | undefined> {
  try {
    const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id), readOnly: true });
    try {
      return await answer(context, async ({ head, damage }) => {
        // Ignore the damage of a log without events: such a log has no state that a person could accept.
        if (damage !== undefined) return head.seq === 0 ? undefined : { damage };
        const fault = await signingFault(context);
        return fault === undefined ? undefined : { fault };
      });
    } finally {
      await close();
    }
  } catch (error) {
    if (error instanceof ChronicleError || !isThere(parts, id)) return undefined;
    throw error;
  }
}

/**
 * Throws `REFUSED` if a history is not signed, or contradicts its head. The log of such a history can be the proof that
 * somebody changed the history.
 */
export async function refuseToForget(parts: StoreParts, id: string): Promise<void> {
  const what = "forgetting a history";
  const { fault, damage } = (await unprovedIn(parts, id)) ?? {};
  if (fault !== undefined) throw unsigned(fault, what, id);
  if (damage?.code !== "ROLLBACK_DETECTED") return;
  throw new ChronicleError(
    "REFUSED",
    `${what} is refused while the history contradicts its signed head: ${damage.message}`,
    {
      ...optional({ hint: damage.hint }),
      data: { ...damage.data, workspace: id },
      cause: damage,
    },
  );
}

/** Throws if any history proves nothing, because the contents could then be the only proof of the recorded state. */
async function refuseUnproved(parts: StoreParts): Promise<void> {
  for (const id of workspaceIds(parts)) {
    const { fault, damage } = (await unprovedIn(parts, id)) ?? {};
    if (fault !== undefined) throw blockedBy(id, unsigned(fault, "freeing contents", id));
    if (damage !== undefined) throw blockedBy(id, damage);
  }
}

/**
 * Frees the contents that no history needs. Marks the needed contents twice: first without a lock, and then with the
 * collector's lock held. The second pass reads only the lines that were appended since the first. Throws and frees
 * nothing if a history cannot be read or has become shorter. Keeps all contents that a damaged forgotten history still
 * names.
 */
export async function collectStore(parts: StoreParts, options: { readonly waitMs?: number } = {}): Promise<GcShape> {
  await refuseUnproved(parts);
  const { alive, damaged, erasures, mark } = marker(parts);
  await mark();
  // A thorough collection also removes erased contents from packs that hold needed contents.
  const freed = new FreedErasures(parts.backends.disk, parts.layout.freedErasures);
  const needed = { alive, blobs: parts.blobs };
  const thorough = !(await freed.hasAll(erasures, needed));
  const report = await parts.blobs.collect((hash) => alive.has(hash), { ...options, thorough, whenLocked: mark });
  if (thorough && report.pendingBlobs === 0) await freed.put(erasures, needed);
  const gitBytes = await freeAllGitFolders(parts);
  parts.gauge.lookAgain();
  return {
    freed_blobs: report.freedBlobs,
    freed_bytes: report.freedBytes + gitBytes,
    pending_blobs: report.pendingBlobs,
    pending_bytes: report.pendingBytes,
    ...(damaged.size === 0 ? {} : { damaged: [...damaged].map(([workspace, detail]) => ({ workspace, detail })) }),
  };
}

/**
 * Frees, in all workspaces, the kept parts of git folders that no repository has any more. Returns the number of bytes
 * that were freed.
 */
async function freeAllGitFolders(parts: StoreParts): Promise<number> {
  const { disk } = parts.backends;
  let bytes = 0;
  for (const id of workspaceIds(parts)) {
    if (disk.lstat(parts.layout.workspace(id).keptGit) === undefined) continue;
    try {
      const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id), readOnly: true });
      try {
        bytes += await freeGitFolders(context);
      } finally {
        await close();
      }
    } catch (error) {
      // The workspace was forgotten meanwhile.
      if (isThere(parts, id)) throw error;
    }
  }
  return bytes;
}

interface Marker {
  readonly alive: ReadonlySet<Hash>;
  /** Maps the id of a forgotten workspace to the damage of its history. */
  readonly damaged: ReadonlyMap<string, string>;
  /**
   * Maps a history and an event to the erasure that the event records. Only erasures whose grace period is over are
   * listed.
   */
  readonly erasures: ReadonlyMap<string, LoggedErasure>;
  readonly mark: () => Promise<void>;
}

/** The position up to which a history is marked. `begins` is the seq of the oldest line at the time of the mark. */
interface MarkedTo extends NonNullable<AliveOptions["from"]> {
  readonly begins: number;
}

/**
 * Returns an object that marks the needed contents of all histories of the store. Each further call of `mark` reads
 * only the lines that were appended since the last call.
 */
function marker(parts: StoreParts): Marker {
  const alive = new Set<Hash>();
  const damaged = new Map<string, string>();
  const erasures = new Map<string, LoggedErasure>();
  const now = parts.backends.now();
  const ends = new Map<string, MarkedTo>();
  const markOne = async (history: MarkedHistory): Promise<void> => {
    const { key, anchor } = history;
    const log = await history.openLog();
    try {
      const { seq, hash: last, bytes } = log.head;
      const workspaceId = await history.workspaceOf(log);
      if (workspaceId === undefined) return;
      const begins = await oldestSeq(log);
      const end = ends.get(key);
      // Read the whole history again if lines were dropped with an archive since the last mark. Also read the whole
      // history again if a pruning or an erasure was withdrawn, because the withdrawal makes contents needed again.
      const isSame = end?.begins === begins && !(await isSomeWithdrawnIn(log, workspaceId, end.position));
      const from = isSame ? end : undefined;
      const anchors = from === undefined ? await history.known() : [];
      const givenUp = from === undefined ? await givenUpForGood(log, workspaceId, now) : undefined;
      const options = from === undefined ? { anchors, ...givenUp, anchor, now } : { anchors, from, now };
      for await (const hash of aliveContents(log, parts.blobs, options)) alive.add(hash);
      for (const one of givenUp?.erasures?.all ?? []) erasures.set(`${key} ${one.recordId} ${one.seq}`, one);
      if (seq > 0) ends.set(key, { begins, position: { seq: seq + 1, offset: bytes }, prev: { seq, hash: last } });
    } finally {
      await log.close();
    }
  };
  const salvage = async (history: MarkedHistory): Promise<void> => {
    const log = await history.openLog();
    try {
      const damagedHistory = { log, anchor: history.anchor, now };
      for await (const hash of salvagedContents(parts.blobs, damagedHistory)) alive.add(hash);
    } finally {
      await log.close();
    }
  };
  const markIn = async (at: StoreParts): Promise<void> => {
    for (const id of workspaceIds(at)) {
      try {
        for (const history of historiesOf(at, id)) await markOne(history);
      } catch (error) {
        // If the workspace was forgotten or unforgotten meanwhile, another pass marks it at its new place.
        if (!isThere(at, id)) continue;
        if (at === parts) throw blockedBy(id, error);
        if (!(error instanceof ChronicleError) || !DAMAGE.includes(error.code)) throw blockedByForgotten(id, error);
        for (const history of historiesOf(at, id)) await salvage(history);
        damaged.set(id, error.message);
      }
    }
  };
  const mark = async (): Promise<void> => {
    await markIn(parts);
    await markIn(ofForgotten(parts));
    // Repeat the first pass, because both passes miss a history that is brought back between them.
    await markIn(parts);
  };
  return { alive, damaged, erasures, mark };
}

/**
 * Returns the prunings and erasures of a history that are final at the time `now`, because their grace period is over.
 */
export async function givenUpForGood(log: EventLog, workspaceId: string, now: number): Promise<Required<GivenUp>> {
  const { prunings, erasures } = await givenUpInLog(log, workspaceId, { due: now });
  return { pruning: prunedForGood(prunings, now), erasures };
}

/** True if a line from `from` on withdraws a pruning or an erasure. */
async function isSomeWithdrawnIn(log: EventLog, workspaceId: string, from: LogPosition): Promise<boolean> {
  const { prunings, erasures } = await givenUpInLog(log, workspaceId, { from });
  return prunings.some(({ cause }) => cause === "brought-back") || erasures.isSomeWithdrawn;
}

interface AskedNeeds {
  readonly hashes: ReadonlySet<Hash>;
  /**
   * True if an erased content counts as needed until the grace period of its erasure is over. False if an erased
   * content is no longer needed as soon as it is erased.
   */
  readonly due: boolean;
}

/**
 * Returns which of the asked contents are needed by other workspaces of the store, and which are needed by the
 * workspace's own mirror.
 */
async function neededElsewhere(parts: StoreParts, own: string, asked: AskedNeeds): Promise<NeededElsewhere> {
  const found = new Map<string, Set<Hash>>();
  let upstream: readonly Hash[] | undefined;
  const read = new Set<string>();
  // The third pass finds a history that was brought back during the first two passes.
  for (const [pass, at] of [parts, ofForgotten(parts), parts].entries()) {
    for (const id of workspaceIds(at)) {
      if (pass === 2 && read.has(id)) continue;
      const contents = await neededBy(at, id, { ...asked, own, isForgotten: at !== parts });
      if (pass === 0 && isThere(at, id)) read.add(id);
      if (id === own) upstream = contents;
      else if (contents !== undefined && contents.length > 0)
        found.set(id, new Set([...(found.get(id) ?? []), ...contents]));
    }
  }
  const workspaces = [...found].map(([id, contents]) => ({ id, contents: [...contents] }));
  return { workspaces, upstream };
}

/**
 * Returns those of the asked contents that any history of one workspace needs. The history `own` is not read. Returns
 * `undefined` if the workspace has no other history than `own`.
 */
async function neededBy(
  parts: StoreParts,
  id: string,
  { own, isForgotten, ...asked }: AskedNeeds & { readonly own: string; readonly isForgotten: boolean },
): Promise<readonly Hash[] | undefined> {
  try {
    const others = historiesOf(parts, id).filter(({ key }) => key !== own);
    if (others.length === 0) return undefined;
    const needed = new Set<Hash>();
    for (const history of others) for (const hash of await neededIn(parts, history, asked)) needed.add(hash);
    return [...needed];
  } catch (error) {
    // The workspace was forgotten or brought back meanwhile, and so has another place. Another pass reads the workspace
    // at its new place.
    if (!isThere(parts, id)) return [];
    const [whose, hint] = isForgotten
      ? [`the forgotten history ${id}`, hintForForgotten(id)]
      : [`workspace ${id}`, hintFor(id, error)];
    throw unreadable(error, { id, what: `it is not known which of these contents ${whose} needs`, hint });
  }
}

async function neededIn(parts: StoreParts, history: MarkedHistory, { hashes, due }: AskedNeeds): Promise<Hash[]> {
  const log = await history.openLog();
  try {
    const workspaceId = hashes.size === 0 ? undefined : await history.workspaceOf(log);
    if (workspaceId === undefined) return [];
    const { anchor } = history;
    const now = parts.backends.now();
    const { prunings, erasures } = await givenUpInLog(log, workspaceId, due ? { due: now } : {});
    const options = { anchors: [], pruning: prunedForGood(prunings, now), erasures, anchor, now };
    const needed = new Set<Hash>();
    for await (const hash of aliveContents(log, parts.blobs, options)) if (hashes.has(hash)) needed.add(hash);
    return [...needed];
  } finally {
    await log.close();
  }
}

/** Returns parts of the same store in which the forgotten histories take the place of the workspaces. */
export function ofForgotten(parts: StoreParts): StoreParts {
  const { layout } = parts;
  const { forgotten } = layout;
  return {
    ...parts,
    layout: { ...layout, workspaces: forgotten, workspace: (id) => workspaceLayout(`${forgotten}/${id}`) },
  };
}

/**
 * Sets damaged files of the blob store aside. A file stays in place if it has the only copy of a content that a history
 * needs, even though this copy is damaged. If a history cannot be read, all contents count as needed.
 */
async function setAside(parts: StoreParts, files: ReadonlySet<string>): Promise<readonly string[]> {
  const { alive, mark } = marker(parts);
  let isKnown = true;
  const look = async (): Promise<void> => {
    try {
      if (isKnown) await mark();
    } catch (error) {
      if (!(error instanceof ChronicleError)) throw error;
      isKnown = false;
    }
  };
  await look();
  const aside = await parts.blobs.setAside({
    files,
    keep: (hash) => !isKnown || alive.has(hash),
    whenLocked: look,
    waitMs: parts.waitMs,
  });
  parts.gauge.lookAgain();
  return aside;
}

/** The codes of errors that keep their own hint: another format, an unsigned history, a contradicted head. */
const WITH_OWN_HINT: readonly string[] = ["FORMAT_UNSUPPORTED", "REFUSED", "ROLLBACK_DETECTED"];

/**
 * Returns the error of a collection that an unreadable workspace prevents. One unreadable history blocks the whole
 * store, because histories share contents.
 */
function blockedBy(id: string, error: unknown): unknown {
  return unreadable(error, { id, what: `nothing was freed, because of workspace ${id}`, hint: hintFor(id, error) });
}

/** The errors of a damaged history whose contents can be salvaged. */
const DAMAGE: readonly string[] = ["LOG_DAMAGED", "ROLLBACK_DETECTED", "BLOB_MISSING", "INTEGRITY_VIOLATION"];

/**
 * Returns the error of a collection that a forgotten history prevents. Nothing is freed, because an unreadable
 * forgotten history may need any content.
 */
function blockedByForgotten(id: string, error: unknown): unknown {
  const what = `nothing was freed, because of the forgotten history ${id}`;
  return unreadable(error, { id, what, hint: hintForForgotten(id) });
}

interface Unreadable {
  readonly id: string;
  readonly what: string;
  readonly hint: string;
}

function unreadable(error: unknown, { id, what, hint }: Unreadable): unknown {
  if (!(error instanceof ChronicleError)) return error;
  return new ChronicleError(error.code, `${what}: ${error.message}`, {
    hint,
    data: { ...error.data, workspace: id },
    cause: error,
  });
}

function hintFor(id: string, error: unknown): string {
  if (error instanceof ChronicleError && error.hint !== undefined && WITH_OWN_HINT.includes(error.code))
    return error.hint;
  return `\`chronicle -w ${id} verify\` lists what is damaged; put it back from a copy, or give the workspace up with \`chronicle forget ${id}\``;
}

function hintForForgotten(id: string): string {
  return `\`chronicle unforget\` says until when it is kept; to give it up earlier: \`chronicle unforget ${id}\`, then \`chronicle forget ${id} --now\``;
}

/** True if the store has a folder of this id. Folders that are still being made or removed have other names. */
export function isThere({ backends, layout }: StoreParts, id: string): boolean {
  return backends.disk.lstat(layout.workspace(id).folder) !== undefined;
}

export function workspaceIds({ backends, layout }: StoreParts): string[] {
  if (backends.disk.lstat(layout.workspaces) === undefined) return [];
  const folders = backends.disk.list(layout.workspaces).filter((item) => item.kind === "dir");
  return folders.map((item) => item.name.toString()).filter((name) => !name.includes("."));
}

/** Returns the disk usage of a store. `other_bytes` is the size of everything that is not a content, log or index. */
export async function storeUsage(parts: StoreParts): Promise<DuShape> {
  const { backends, layout, blobs } = parts;
  const { disk } = backends;
  const contents = { count: 0, content_bytes: 0, stored_bytes: 0 };
  for await (const blob of blobs.list()) {
    contents.count += 1;
    contents.content_bytes += blob.size;
    contents.stored_bytes += blob.storedBytes;
  }
  // Round the sum, because a blob's share of its block is a fraction.
  contents.stored_bytes = Math.round(contents.stored_bytes);
  const places = workspaceIds(parts).map((id) => layout.workspace(id));
  const mirrors = places.flatMap(({ upstream }) =>
    mirrorParts(backends, upstream).map((anchor) => upstream.mirror(anchor?.seq ?? 0)),
  );
  const logBytes =
    sumOf(
      places,
      ({ log, archive, upstream }) => sizeOf(disk, log) + treeSize(disk, archive) + treeSize(disk, upstream.former),
    ) + sumOf(mirrors, ({ log }) => sizeOf(disk, log));
  const indexBytes =
    databaseSize(disk, layout.blobs.index) + sumOf([...places, ...mirrors], ({ index }) => databaseSize(disk, index));
  const named = contents.stored_bytes + logBytes + indexBytes;
  const otherBytes = Math.max(0, treeSize(disk, layout.home) - named);
  const { packs, large, quarantine } = layout.blobs;
  const quarantines = [...places, ...mirrors].map((one) => one.quarantine);
  return {
    blobs: contents,
    log_bytes: logBytes,
    index_bytes: indexBytes,
    other_bytes: otherBytes,
    other_parts: {
      cache_bytes: treeSize(disk, layout.caches),
      stat_cache_bytes: sumOf(places, ({ statCache }) => sizeOf(disk, statCache)),
      unused_bytes: Math.max(0, treeSize(disk, packs) + treeSize(disk, large) - contents.stored_bytes),
      quarantine_bytes: sumOf([quarantine, ...quarantines], (folder) => treeSize(disk, folder)),
      forgotten_bytes: treeSize(disk, layout.forgotten),
    },
    total_bytes: named + otherBytes,
    store: layout.home,
  };
}

function sumOf<T>(items: readonly T[], sizeOfItem: (item: T) => number): number {
  return items.reduce((sum, item) => sum + sizeOfItem(item), 0);
}

function sizeOf(disk: Disk, path: string): number {
  return disk.lstat(path)?.size ?? 0;
}

function databaseSize(disk: Disk, path: string): number {
  return sumOf(["", "-wal", "-shm"], (suffix) => sizeOf(disk, path + suffix));
}

/**
 * Opens a workspace's mirror of its origin's history for verification. Returns `undefined` if the workspace follows no
 * origin, or if the mirror is empty.
 */
async function openCopy(parts: StoreParts, id: string, tasks: StoreTasks): Promise<HistoryCopy | undefined> {
  const files = parts.layout.workspace(id).upstream;
  const [start] = mirrorParts(parts.backends, files)
    .slice(-1)
    .map((anchor) => ({ seq: anchor?.seq ?? 0 }));
  // A part without an anchor has nothing to verify until it has a line.
  if (start === undefined || (start.seq === 0 && !parts.backends.hasLog(files.mirror(0).log))) return undefined;
  const { context, close } = await openMirror(parts, id, { tasks });
  return {
    context,
    where: start.seq === 0 ? "upstream/" : `upstream/from-${start.seq}/`,
    [Symbol.asyncDispose]: close,
  };
}
