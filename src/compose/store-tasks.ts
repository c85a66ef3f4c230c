import type { DuShape, GcShape } from "../api/shapes.ts";
import { workspaceLayout } from "../storage/files/layout.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { LoggedErasure } from "../core/records/erasures.ts";
import type { Hash } from "../core/values/hash.ts";
import { wholePath } from "../core/tree/whole-path.ts";
import type { Disk } from "../disk/disk.ts";
import { refuseOwnFolders } from "../disk/refuse-own-folders.ts";
import type { EventLog, LogPosition } from "../storage/event-log.ts";
import { FileWithheldContents } from "../replication/replica/withheld-contents.ts";
import { aliveContents, type AliveOptions } from "../engine/upkeep/alive.ts";
import { answer } from "../engine/log/answer.ts";
import type { GivenUp } from "../engine/log/history-needs.ts";
import type { NeededElsewhere, StoreTasks } from "../engine/log/context.ts";
import { salvagedContents } from "../engine/upkeep/salvaged-contents.ts";
import { oldestSeq } from "../engine/log/history-start.ts";
import { signingFault, unsigned } from "../engine/log/signing.ts";
import type { SigningFault } from "../engine/log/signing-fault.ts";
import { givenUpInLog, prunedForGood } from "../engine/log/recorded-prunings.ts";
import { emptyWorktree, refuseFilled } from "../store/empty-worktree.ts";
import { FreedErasures } from "../store/freed-erasures.ts";
import { historiesOf, type MarkedHistory } from "./marked-histories.ts";
import { mirrorParts } from "./mirror-places.ts";
import { openCopy } from "./open-copy.ts";
import { newFolders } from "../store/new-folder.ts";
import { openContext, restoreWorkers, traitsOf, type StoreParts } from "./open-context.ts";
import { repairSource } from "../store/repair-sources.ts";
import { noteGivenUp } from "./note-given-up.ts";
import { treeSize } from "../store/tree-size.ts";
import { faultOfWorkspaceFile } from "../store/workspace-file.ts";
import { optional } from "../util/optional.ts";

/** What an engine may ask of the whole store. */
export function storeTasks(parts: StoreParts, workspaceId: string): StoreTasks {
  const { configFolder, layout, backends } = parts;
  const refuseOwn = (what: string, given: string): void =>
    refuseOwnFolders(backends.disk, wholePath("the folder", given), what, [layout.home, configFolder]);
  const tasks: StoreTasks = {
    home: parts.layout.home,
    fileFaults: () => {
      const path = parts.layout.workspace(workspaceId).workspaceJson;
      const fault = faultOfWorkspaceFile(parts.backends.disk, path, workspaceId);
      return fault === undefined ? [] : [{ where: "workspace.json", fault }];
    },
    withheld: () => {
      const { withheld } = parts.layout.workspace(workspaceId).upstream;
      return new FileWithheldContents(parts.backends.disk, withheld).list();
    },
    copy: () => openCopy(parts, workspaceId, tasks),
    scratchIndex: parts.backends.scratchIndex,
    collect: (options) => collectStore(parts, options),
    neededElsewhere: (hashes, { due = false } = {}) => neededElsewhere(parts, workspaceId, { hashes, due }),
    stored: (hashes) => parts.blobs.has(hashes),
    repairSource: (place) => repairSource(parts.backends.disk, place),
    setAside: (files) => setAside(parts, files),
    refuseFilled: async (folder) => {
      refuseOwn("a restore", folder);
      refuseFilled(parts.backends.disk, folder);
    },
    emptyWorktree: async (folder) => {
      refuseOwn("a restore", folder);
      return emptyWorktree(parts.backends, folder, { crew: restoreWorkers(parts), traitsOf: traitsOf(parts, false) });
    },
    usage: () => storeUsage(parts),
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

/** Why a history proves nothing: it is not signed, or its log is damaged or contradicts the kept head. */
interface Unproved {
  readonly fault?: SigningFault;
  readonly damage?: ChronicleError;
}

/** `undefined` also for a workspace that is gone meanwhile, or cannot be opened: that is told where it is used. */
async function unprovedIn(parts: StoreParts, id: string): Promise<Unproved | undefined> {
  try {
    const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id), readOnly: true });
    try {
      return await answer(context, async ({ head, damage }) => {
        // Of a log that is gone nothing could be accepted.
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

/** Throws `REFUSED` where forgetting a history would remove what proves that it was changed. */
export async function refuseToForget(parts: StoreParts, id: string): Promise<void> {
  const what = "forgetting a history";
  const { fault, damage } = (await unprovedIn(parts, id)) ?? {};
  if (fault !== undefined) throw unsigned(fault, what, id);
  if (damage?.code !== "ROLLBACK_DETECTED") return;
  throw new ChronicleError("REFUSED", `${what} is refused while it contradicts its signed head: ${damage.message}`, {
    ...optional({ hint: damage.hint }),
    data: { ...damage.data, workspace: id },
    cause: damage,
  });
}

/** Throws where a history proves nothing: what is freed could be the only proof of what was recorded. */
async function refuseUnproved(parts: StoreParts): Promise<void> {
  for (const id of workspaceIds(parts)) {
    const { fault, damage } = (await unprovedIn(parts, id)) ?? {};
    if (fault !== undefined) throw unreadable(id, unsigned(fault, "freeing contents", id));
    if (damage !== undefined) throw unreadable(id, damage);
  }
}

/**
 * Marks over all workspaces without a lock, then, with the collector's lock held, only what was appended meanwhile.
 * Throws rather than free anything while a history cannot be read, or is shorter than it was. Of a forgotten one that is damaged
 * everything is kept that it still names.
 */
export async function collectStore(parts: StoreParts, options: { readonly waitMs?: number } = {}): Promise<GcShape> {
  await refuseUnproved(parts);
  const { alive, damaged, erasures, mark } = marker(parts);
  await mark();
  // Nothing of what was erased may stay in packs that hold other things.
  const freed = new FreedErasures(parts.backends.disk, parts.layout.freedErasures);
  const needed = { alive, blobs: parts.blobs };
  const thorough = !(await freed.hasAll(erasures, needed));
  const report = await parts.blobs.collect((hash) => alive.has(hash), { ...options, thorough, whenLocked: mark });
  if (thorough && report.pendingBlobs === 0) await freed.put(erasures, needed);
  parts.gauge.lookAgain();
  return {
    freed_blobs: report.freedBlobs,
    freed_bytes: report.freedBytes,
    pending_blobs: report.pendingBlobs,
    pending_bytes: report.pendingBytes,
    ...(damaged.size === 0 ? {} : { damaged: [...damaged].map(([workspace, detail]) => ({ workspace, detail })) }),
  };
}

/** What is needed, and what is to be done to know it. */
interface Marker {
  readonly alive: ReadonlySet<Hash>;
  /** What is damaged of histories that were forgotten, by workspace. */
  readonly damaged: ReadonlyMap<string, string>;
  /** The erasures whose time is over, by history and event. */
  readonly erasures: ReadonlyMap<string, LoggedErasure>;
  readonly mark: () => Promise<void>;
}

/** Up to where a history is marked, and the seq of its oldest line then. */
interface MarkedTo extends NonNullable<AliveOptions["from"]> {
  readonly begins: number;
}

/** Marks what all workspaces need; called once more, only what was appended since. */
function marker(parts: StoreParts): Marker {
  const alive = new Set<Hash>();
  const damaged = new Map<string, string>();
  const erasures = new Map<string, LoggedErasure>();
  const now = parts.backends.now();
  const ends = new Map<string, MarkedTo>();
  const markOne = async (history: MarkedHistory): Promise<void> => {
    const { key, anchor } = history;
    const log = history.openLog();
    try {
      const { seq, hash: last, bytes } = log.head;
      const workspaceId = await history.workspaceOf(log);
      if (workspaceId === undefined) return;
      const begins = await oldestSeq(log);
      const end = ends.get(key);
      // Lines that were dropped with an archive meanwhile are not gone on from. A pruning or an erasure that was taken back meanwhile needs
      // more than the first look has found.
      const isSame = end?.begins === begins && !(await isSomeBack(log, workspaceId, end.position));
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
    const log = history.openLog();
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
        // One that was moved meanwhile is met where it is now.
        if (!isThere(at, id)) continue;
        if (at === parts) throw unreadable(id, error);
        if (!(error instanceof ChronicleError) || !DAMAGE.includes(error.code)) throw unreadableForgotten(id, error);
        for (const history of historiesOf(at, id)) await salvage(history);
        damaged.set(id, error.message);
      }
    }
  };
  const mark = async (): Promise<void> => {
    await markIn(parts);
    await markIn(ofForgotten(parts));
    // One that was brought back meanwhile is in neither list.
    await markIn(parts);
  };
  return { alive, damaged, erasures, mark };
}

/** What a history has given up, and whose time is over. */
async function givenUpForGood(log: EventLog, workspaceId: string, now: number): Promise<Required<GivenUp>> {
  const { prunings, erasures } = await givenUpInLog(log, workspaceId, { due: now });
  return { pruning: prunedForGood(prunings, now), erasures };
}

/** Was something taken back in the lines from there on? */
async function isSomeBack(log: EventLog, workspaceId: string, from: LogPosition): Promise<boolean> {
  const { prunings, erasures } = await givenUpInLog(log, workspaceId, { from });
  return prunings.some(({ cause }) => cause === "brought-back") || erasures.isSomeWithdrawn;
}

/** Contents that others may need. */
interface AskedNeeds {
  readonly hashes: ReadonlySet<Hash>;
  /** Only erasures count whose time is over. */
  readonly due: boolean;
}

/** Which of these contents others need than the workspace itself: the store's other histories, and its copy of its origin's. */
async function neededElsewhere(parts: StoreParts, own: string, asked: AskedNeeds): Promise<NeededElsewhere> {
  const workspaces: { id: string; contents: readonly Hash[] }[] = [];
  let upstream: readonly Hash[] | undefined;
  for (const at of [parts, ofForgotten(parts)]) {
    for (const id of workspaceIds(at)) {
      const contents = await neededBy(at, id, { ...asked, own });
      if (id === own) upstream = contents;
      else if (contents !== undefined && contents.length > 0) workspaces.push({ id, contents });
    }
  }
  return { workspaces, upstream };
}

/** Of one workspace; `undefined`: it has no history but the own one. */
async function neededBy(
  parts: StoreParts,
  id: string,
  { own, ...asked }: AskedNeeds & { readonly own: string },
): Promise<readonly Hash[] | undefined> {
  try {
    const others = historiesOf(parts, id).filter(({ key }) => key !== own);
    if (others.length === 0) return undefined;
    const needed = new Set<Hash>();
    for (const history of others) for (const hash of await neededIn(parts, history, asked)) needed.add(hash);
    return [...needed];
  } catch (error) {
    // One that was moved meanwhile needs nothing here any more.
    if (isThere(parts, id)) throw unreadable(id, error);
    return [];
  }
}

async function neededIn(parts: StoreParts, history: MarkedHistory, { hashes, due }: AskedNeeds): Promise<Hash[]> {
  const log = history.openLog();
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

/** The same store, with the histories that were forgotten in the place of its own. */
function ofForgotten(parts: StoreParts): StoreParts {
  const { layout } = parts;
  const { forgotten } = layout;
  return {
    ...parts,
    layout: { ...layout, workspaces: forgotten, workspace: (id) => workspaceLayout(`${forgotten}/${id}`) },
  };
}

/**
 * Puts damaged files of the blob store aside. A damaged content that no workspace needs goes with them; while a history cannot be
 * read, any content may be needed.
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

/** Not damaged: a store of another format, one that is not signed, one that contradicts its head. Each says the way out itself. */
const OWN_WAY_OUT: readonly string[] = ["FORMAT_UNSUPPORTED", "REFUSED", "ROLLBACK_DETECTED"];

/** Contents are shared, so one history that cannot be read holds up the whole store: it is named. */
function unreadable(id: string, error: unknown): unknown {
  if (!(error instanceof ChronicleError)) return error;
  return new ChronicleError(error.code, `nothing was freed, because of workspace ${id}: ${error.message}`, {
    hint:
      OWN_WAY_OUT.includes(error.code) && error.hint !== undefined
        ? error.hint
        : `\`chronicle -w ${id} verify\` lists what is damaged; put it back from a copy, or give the workspace up with \`chronicle forget ${id}\``,
    data: { ...error.data, workspace: id },
    cause: error,
  });
}

/** What is wrong with a history that can be read all the same. */
const DAMAGE: readonly string[] = ["LOG_DAMAGED", "ROLLBACK_DETECTED", "BLOB_MISSING", "INTEGRITY_VIOLATION"];

/** Nothing is freed while a forgotten history cannot be read: any content may be one that it needs. */
function unreadableForgotten(id: string, error: unknown): unknown {
  if (!(error instanceof ChronicleError)) return error;
  return new ChronicleError(error.code, `nothing was freed, because of the forgotten history ${id}: ${error.message}`, {
    hint: `\`chronicle unforget\` says until when it is kept; to give it up before: \`chronicle unforget ${id}\`, then \`chronicle forget ${id} --now\``,
    data: { ...error.data, workspace: id },
    cause: error,
  });
}

/** Is there a workspace with this id? One that is half made or half removed is none. */
export function isThere({ backends, layout }: StoreParts, id: string): boolean {
  return backends.disk.lstat(layout.workspace(id).folder) !== undefined;
}

export function workspaceIds({ backends, layout }: StoreParts): string[] {
  if (backends.disk.lstat(layout.workspaces) === undefined) return [];
  const folders = backends.disk.list(layout.workspaces).filter((item) => item.kind === "dir");
  return folders.map((item) => item.name.toString()).filter((name) => !name.includes("."));
}

/** How much space the store takes. The parts add up to the total: `other_bytes` is what is left. */
export async function storeUsage(parts: StoreParts): Promise<DuShape> {
  const { backends, layout, blobs } = parts;
  const { disk } = backends;
  const contents = { count: 0, content_bytes: 0, stored_bytes: 0 };
  for await (const blob of blobs.list()) {
    contents.count += 1;
    contents.content_bytes += blob.size;
    contents.stored_bytes += blob.storedBytes;
  }
  // Shares of blocks are fractions.
  contents.stored_bytes = Math.round(contents.stored_bytes);
  const places = workspaceIds(parts).map((id) => layout.workspace(id));
  const mirrors = places.flatMap(({ upstream }) =>
    mirrorParts(disk, upstream).map((anchor) => upstream.mirror(anchor?.seq ?? 0)),
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
  return {
    blobs: contents,
    log_bytes: logBytes,
    index_bytes: indexBytes,
    other_bytes: otherBytes,
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
