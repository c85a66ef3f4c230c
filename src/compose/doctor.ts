import type { DoctorCheck, DoctorShape, StoreOptions } from "../api/store-api.ts";
import { ChronicleError, errnoOf, codedError } from "../core/values/errors.ts";
import { isSharedFileSystem, lackedBy } from "../core/tree/folder-traits.ts";
import { pathInRoot, ROOT } from "../core/values/path.ts";
import { isHosted } from "../engine/log/context.ts";
import { optional } from "../util/optional.ts";
import { addAll } from "../util/long-lists.ts";
import { holdsNothing } from "./create-workspace.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { fullBudgets } from "./kept-beside.ts";
import { isThere, storeTasks, workspaceIds } from "./store-tasks.ts";
import { argumentOfShown, quotePath } from "../core/shell/quote-command.ts";
import { answer } from "../engine/log/answer.ts";
import { leftOutByNow } from "../engine/facts/omitted-changes.ts";
import { shownPath } from "../engine/log/shape.ts";
import type { SigningReason } from "../api/shapes.ts";
import { NEARLY_FULL, nearlyFullNote } from "../engine/facts/private-use.ts";
import { findDamage } from "../engine/log/chain-fault.ts";
import { signingShape } from "../engine/log/signing.ts";
import type { Disk } from "../disk/disk.ts";
import { FileWitnessNotes } from "../replication/replica/witness-notes.ts";
import { ConfinedFs } from "../worktree/files/confined-fs.ts";
import { accessCheck } from "../store/store-owner.ts";
import { storeLayout } from "../storage/layout.ts";
import { storeOfHead } from "../store/file-head-keeper.ts";
import { forgottenIn } from "./forgotten.ts";
import { Tombstones } from "../store/tombstones.ts";

const UNWATCHED = "other machines may change it without notice to this one, so all of it is scanned each time";

/** The free space, in bytes, below which the check fails. */
const LOW_SPACE = 256 * 1024 * 1024;

export async function examine(parts: StoreParts, options: StoreOptions): Promise<DoctorShape> {
  const { disk } = parts.backends;
  const faults = await historyFaults(parts);
  const checks: DoctorCheck[] = [
    { name: "node", ok: true, detail: `Node ${process.versions.node} on ${process.platform}` },
    confinement(disk, options.home),
    privacy(disk, "store", options.home),
    ...sharedStoreCheck(disk, options.home),
    keyCheck(disk, options.configFolder, faults),
    accessCheck(disk, options),
    spaceCheck(disk, options.home),
    await watcherCheck(),
    await blobCheck(parts),
    ...copiesCheck(parts),
    ...faults.map(({ check }) => check),
    ...forgottenCheck(parts),
    ...(await budgetChecks(parts)),
    ...(await leftOutChecks(parts)),
    ...(await twiceBegunChecks(parts)),
    ...(await folderChecks(parts)),
  ];
  return { ok: checks.every((check) => check.ok), store: options.home, checks };
}

function confinement(disk: Disk, home: string): DoctorCheck {
  using fs = new ConfinedFs(disk, home);
  const name = "confined access";
  if (fs.confined) return { name, ok: true, detail: "paths are resolved beneath open folders" };
  return {
    name,
    ok: false,
    detail: "best effort only: this platform has no /proc/self/fd",
    hint: "do not record folders that others may swap for links",
  };
}

function privacy(disk: Disk, name: string, path: string): DoctorCheck {
  const mode = disk.lstat(path)?.mode;
  if (mode === undefined) return { name, ok: true, detail: `${path} is made at first use` };
  const shown = mode.toString(8);
  if ((mode & 0o077) === 0) return { name, ok: true, detail: `${path} (${shown})` };
  return {
    name,
    ok: false,
    detail: `${path} can be read by others (${shown})`,
    hint: `chmod go-rwx ${quotePath(path)}`,
  };
}

/**
 * Reports a store on a file system that several machines share, because locks and databases only protect against other
 * processes of the same machine.
 */
function sharedStoreCheck(disk: Disk, home: string): DoctorCheck[] {
  const { kind } = disk.fileSystemOf(home);
  if (!isSharedFileSystem(kind)) return [];
  return [{ name: "store", ok: true, detail: `${home} is on ${kind}: one machine at a time may use it` }];
}

/**
 * Checks the key. A missing key is a fault if the configuration folder has signed heads, or if a history needs the key.
 * In other cases, no key has been made yet.
 */
function keyCheck(disk: Disk, folder: string, faults: readonly HistoryFault[]): DoctorCheck {
  const file = `${folder}/key.pem`;
  const isUsed = headsIn(disk, folder).length > 0 || faults.some(({ reason }) => reason === "no-key");
  if (disk.lstat(file) !== undefined || !isUsed) return privacy(disk, "key", file);
  return {
    name: "key",
    ok: false,
    detail: `the signing key is gone: there is no file ${file}`,
    hint: "restore it from a copy; if there is no copy, `chronicle verify` says what can be proved, and a person continues with `chronicle head --accept`",
  };
}

function headsIn(disk: Disk, folder: string): string[] {
  const heads = disk.lstat(`${folder}/heads`) === undefined ? [] : disk.list(`${folder}/heads`);
  return heads.map((item) => item.name.toString()).filter((id) => HEAD.test(id));
}

function spaceCheck(disk: Disk, home: string): DoctorCheck {
  const { freeBytes } = disk.space(home);
  const detail = `${Math.floor(freeBytes / 1024 ** 2)} MiB free`;
  if (freeBytes >= LOW_SPACE) return { name: "space", ok: true, detail };
  return {
    name: "space",
    ok: false,
    detail,
    hint: "free some space, or move the store's folder to another disk and name it with --store",
  };
}

/** Returns a check for each workspace that has nearly used up its budget for what is kept beside its history. */
async function budgetChecks(parts: StoreParts): Promise<DoctorCheck[]> {
  const found = await fullBudgets(parts, NEARLY_FULL).catch((error: unknown) => {
    if (error instanceof ChronicleError) return error;
    throw error;
  });
  if (found instanceof ChronicleError) {
    return [{ name: "kept beside", ok: false, detail: found.message, ...optional({ hint: found.hint }) }];
  }
  return found.budgets.map(({ workspace, used_bytes: used, budget_bytes: budget }) => ({
    name: "kept beside",
    ok: true,
    workspace,
    detail: `workspace ${workspace}: ${nearlyFullNote(used, budget)}`,
    hint: "raise max_private_bytes in config.yaml if older work must stay undoable; `chronicle du` shows what is used",
  }));
}

async function watcherCheck(): Promise<DoctorCheck> {
  try {
    await import("@parcel/watcher");
    return { name: "watcher", ok: true, detail: "changes are noticed as they happen" };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { name: "watcher", ok: false, detail, hint: "runs are recorded by scanning every few seconds instead" };
  }
}

/** Checks the mirrors of all syncs, including stopped syncs. Reports only the first contradiction. */
function copiesCheck({ backends: { disk }, layout }: StoreParts): DoctorCheck[] {
  const ids = disk.lstat(layout.workspaces) === undefined ? [] : disk.list(layout.workspaces);
  const copies = ids
    .map(({ name }) => name.toString())
    .filter((id) => disk.lstat(layout.workspace(id).upstream.folder) !== undefined);
  if (copies.length === 0) return [];
  const name = "syncs";
  for (const id of copies) {
    const detail = contradictionOf(disk, layout.workspace(id).upstream.witness);
    if (detail === undefined) continue;
    const hint = "the origin's history or this copy was changed: run `chronicle verify` on both";
    return [{ name, ok: false, detail: `workspace ${id}: ${detail}`, hint, workspace: id }];
  }
  const many = copies.length === 1 ? "1 workspace follows an origin" : `${copies.length} workspaces follow an origin`;
  return [{ name, ok: true, detail: many }];
}

/**
 * Returns the text of a mirror's note about a contradiction, or the error message if the note is damaged. Returns
 * `undefined` if there is no note.
 */
function contradictionOf(disk: Disk, path: string): string | undefined {
  try {
    const note = new FileWitnessNotes(disk, path).get();
    return note && `the origin's history contradicts what is held here: ${note.reason}`;
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    return error.message;
  }
}

async function blobCheck({ isReadOnly }: StoreParts): Promise<DoctorCheck> {
  if (!isReadOnly()) return { name: "blobs", ok: true, detail: "the store can be written" };
  return {
    name: "blobs",
    ok: false,
    detail: "the store cannot be written: it is opened for reading only",
    hint: "check its permissions and the disk",
  };
}

/**
 * True if the store that is noted beside a head contains the head's history or has forgotten it. The noted store can be
 * another store than the examined one, because several stores can keep their heads in one folder.
 */
function isInOtherStore({ backends: { disk }, configFolder }: StoreParts, id: string): boolean {
  const home = storeOfHead(disk, configFolder, id);
  if (home === undefined) return false;
  const layout = storeLayout(home);
  return [layout.workspace(id).folder, `${layout.forgotten}/${id}`].some((folder) => disk.lstat(folder) !== undefined);
}

function withoutHistory(parts: StoreParts, ids: readonly string[]): Pick<DoctorCheck, "detail" | "hint"> {
  const { backends, layout, configFolder } = parts;
  const places = Map.groupBy(ids, (id) => storeOfHead(backends.disk, configFolder, id) ?? layout.home);
  const named = [...places].map(([home, of]) => `${of.join(", ")} (of the store ${home})`);
  return {
    detail: `${ids.length} signed ${ids.length === 1 ? "head" : "heads"} without a history: ${named.join("; ")}`,
    hint:
      `put ${[...places.keys()].join(" and ")} back from a copy; if you removed a history yourself, ` +
      `remove its head from ${configFolder}/heads as well`,
  };
}

/** Matches the file names of heads that are in force: the ids of workspaces. Replaced heads have other names. */
const HEAD = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Reports the first of these that exists:
 * - a forgotten history that was not freed, but is gone from the store
 * - signed heads whose histories are missing
 * - forgotten histories, or parts of histories, that can be brought back
 */
function forgottenCheck(parts: StoreParts): DoctorCheck[] {
  const { backends, layout, configFolder } = parts;
  const { disk } = backends;
  const name = "forgotten";
  const isHere = (id: string): boolean =>
    [layout.workspace(id).folder, `${layout.forgotten}/${id}`].some((folder) => disk.lstat(folder) !== undefined);
  const stones = new Tombstones(parts).list().filter(({ part }) => part === undefined);
  const freed = stones.filter((one) => one.freed !== undefined).map(({ id }) => id);
  const gone = stones.find(({ id }) => !freed.includes(id) && !isHere(id));
  if (gone !== undefined) {
    const when = `it was forgotten at ${gone.forgotten}, and was to be kept until ${gone.until}`;
    const detail = `the history ${gone.id} of ${gone.path || gone.name || "no folder"} is gone from the store: ${when}`;
    return [{ name, ok: false, detail, hint: `put ${layout.forgotten}/${gone.id} back from a copy` }];
  }
  const others = new Tombstones(parts).listOfAllStores().map(({ id }) => id);
  const orphans = headsIn(disk, configFolder).filter((id) => !isHere(id));
  const missing = orphans.filter((id) => !others.includes(id) && !isInOtherStore(parts, id));
  if (missing.length > 0) return [{ name, ok: false, ...withoutHistory(parts, missing) }];
  const kept = forgottenIn(parts).length;
  if (kept === 0) return [];
  const detail = `${kept} ${kept === 1 ? "history or part of one" : "histories or parts of them"} can be brought back: \`chronicle unforget\``;
  return [{ name, ok: true, detail }];
}

/** Returns one check for each notable property of the folders of all workspaces. */
async function folderChecks(parts: StoreParts): Promise<DoctorCheck[]> {
  const checks: DoctorCheck[] = [];
  for (const id of workspaceIds(parts)) addAll(checks, await folderChecksOf(parts, id));
  return checks;
}

/**
 * Reports each folder with several workspaces, because commands in the folder use only the first of them. Before
 * `withBeginning` existed, two processes that began to record a folder at the same time each made a workspace.
 */
async function twiceBegunChecks({ roots }: StoreParts): Promise<DoctorCheck[]> {
  const used = (await roots.list()).filter(({ folders, archived }) => folders.length > 0 && archived !== true);
  const byFolder = Map.groupBy(used, ({ folders }) => folders[0] ?? "");
  return [...byFolder].flatMap(([folder, [first, ...others]]) =>
    others.map(({ id }) => ({
      name: "folder with two workspaces",
      ok: false,
      detail: `${folder} belongs to two workspaces: commands there use ${first?.id ?? ""}, and not ${id}`,
      hint: `see what ${id} has recorded: chronicle -w ${id} list; if you do not need it: chronicle forget ${id}`,
      workspace: id,
    })),
  );
}

/**
 * Returns no check for a workspace that cannot be opened, because `historyFaults` reports it, unless it is locked. Also
 * returns no check if the traits cannot be read. No check reports unreadable traits.
 */
async function folderChecksOf(parts: StoreParts, id: string): Promise<DoctorCheck[]> {
  try {
    const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id), readOnly: true });
    try {
      const { worktree } = context;
      if (isHosted(worktree.roots)) return [];
      return worktree.roots.flatMap(({ id: root, folder }) => {
        const traits = worktree.traitsOf(pathInRoot(root, ROOT));
        const { fileSystem, source } = traits;
        const lacked = lackedBy(traits);
        const details = [
          ...(lacked.length === 0
            ? []
            : [`${folder} is on ${fileSystem}, which cannot hold ${lacked.join(", ")} (${source})`]),
          ...(isSharedFileSystem(fileSystem) ? [`${folder} is on ${fileSystem}: ${UNWATCHED}`] : []),
        ];
        return details.map((detail) => ({ name: "file system", ok: true, detail, workspace: id }));
      });
    } finally {
      await close();
    }
  } catch (error) {
    if (error instanceof ChronicleError || errnoOf(error) !== undefined) return [];
    throw error;
  }
}

/** The maximum number of paths that one check names. */
const MOST_NAMED = 3;

/**
 * Reports recorded files that the rules now leave out, and whose contents could be erased. Returns one check for each
 * workspace with such files.
 */
async function leftOutChecks(parts: StoreParts): Promise<DoctorCheck[]> {
  const checks: DoctorCheck[] = [];
  for (const id of workspaceIds(parts)) addAll(checks, await leftOutChecksOf(parts, id));
  return checks;
}

/**
 * Returns no check for a workspace that cannot be opened, because `historyFaults` reports it, unless it is locked. Also
 * returns no check if the folder cannot be read. No check reports an unreadable folder.
 */
async function leftOutChecksOf(parts: StoreParts, id: string): Promise<DoctorCheck[]> {
  try {
    const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id), readOnly: true });
    try {
      const found = (await answer(context, () => leftOutByNow(context))).map(shownPath);
      return found.length === 0 ? [] : [leftOutCheck(id, found)];
    } finally {
      await close();
    }
  } catch (error) {
    if (error instanceof ChronicleError || errnoOf(error) !== undefined) return [];
    throw error;
  }
}

function leftOutCheck(id: string, found: readonly string[]): DoctorCheck {
  const [first = ""] = found;
  const shown = found.slice(0, MOST_NAMED).join(", ");
  const more = found.length > MOST_NAMED ? ` and ${found.length - MOST_NAMED} more` : "";
  const many = found.length === 1 ? "1 recorded file is" : `${found.length} recorded files are`;
  const command = `chronicle -w ${id} erase ${argumentOfShown(first)} --dry-run`;
  return {
    name: "left out",
    ok: true,
    workspace: id,
    detail: `${many} left out by the rules now, but ${found.length === 1 ? "its contents are" : "their contents are"} in the history: ${shown}${more}; \`${command}\` shows what an erasure would remove`,
  };
}

/** A report on a history that cannot be opened or written, is not signed, or has no event yet. */
interface HistoryFault {
  readonly check: DoctorCheck;
  /** The reason why the history is not signed; `null` for any other fault. */
  readonly reason: SigningReason | null;
}

/** Returns the faults of all histories. Reads each whole log, but no contents. */
async function historyFaults(parts: StoreParts): Promise<HistoryFault[]> {
  const faults: HistoryFault[] = [];
  for (const id of workspaceIds(parts)) {
    const fault = await faultOf(parts, id);
    if (fault !== undefined) faults.push(fault);
  }
  return faults;
}

async function faultOf(parts: StoreParts, id: string): Promise<HistoryFault | undefined> {
  try {
    const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id), readOnly: true });
    try {
      const { state, reason, detail, hint } = await answer(context, async ({ damage }) =>
        signingShape(context, damage ?? (await findDamage(context))),
      );
      // Throws if the off-record notes are damaged. Such notes are a fault, because they prevent every change.
      context.offRecord.read();
      if (state !== "read-only" && state !== "unsigned") return undefined;
      return { check: historyCheck(id, detail ?? state, hint), reason };
    } finally {
      await close();
    }
  } catch (error) {
    const known = codedError(error);
    if (!(known instanceof ChronicleError)) throw error;
    // `LOCKED` means that another process holds the lock. This error says nothing about the history.
    if (known.code === "LOCKED") return undefined;
    return (await isUnbegun(parts, { id, known }))
      ? { check: unbegunCheck(id), reason: null }
      : { check: historyCheck(id, known.message, known.hint), reason: null };
  }
}

/**
 * True if the workspace cannot be opened because nothing was ever recorded in it. `known` is the error of the attempt
 * to open it.
 */
async function isUnbegun(
  parts: StoreParts,
  { id, known }: { readonly id: string; readonly known: ChronicleError },
): Promise<boolean> {
  return known.code === "NOT_FOUND" && isThere(parts, id) && (await holdsNothing(parts, id));
}

function unbegunCheck(id: string): DoctorCheck {
  return {
    name: "history",
    ok: true,
    workspace: id,
    detail: `workspace ${id}: its \`init\` was interrupted or is still running, and nothing is recorded in it; \`chronicle gc\` removes it once it is a day old`,
  };
}

function historyCheck(id: string, detail: string, hint: string | null | undefined): DoctorCheck {
  return {
    name: "history",
    ok: false,
    workspace: id,
    detail: `workspace ${id}: ${detail}`,
    hint: hint ?? `\`chronicle -w ${id} verify\` says what is wrong with it`,
  };
}
