import { partId, type Tombstone, GRACE_MS, type GivenUpPart } from "../core/records/tombstone.ts";
import { takePruningBack } from "../engine/upkeep/take-pruning-back.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { storeTasks, isThere } from "./store-tasks.ts";
import { Tombstones } from "../store/tombstones.ts";
import { ChronicleError, type ErrorCode } from "../core/values/errors.ts";
import { meantBy } from "../core/values/meant-by.ts";
import { answer } from "../engine/log/answer.ts";
import { refuseAtOnce } from "../engine/capture/operation-queue.ts";
import { workspaceLayout } from "../storage/layout.ts";
import { makeFolders } from "../store/file-head-keeper.ts";
import { lastWorkspaceRecord } from "../store/last-workspace-record.ts";
import { listedWorkspace, type ListedWorkspace } from "../store/roots-cache.ts";
import { refuseOthersStore } from "../store/store-owner.ts";
import { SyncTokens } from "../store/sync-tokens.ts";
import { tombstoneOf } from "./note-given-up.ts";
import { endedName, moveWorkspace, withBeginning, withNames } from "../store/workspace-file.ts";
import { optional } from "../util/optional.ts";

/**
 * Brings back a part of a history and removes its note. If this withdraws a pruning, other prunings may be withdrawn
 * with it. Their notes are then removed as well. Returns the id of the workspace.
 */
async function unforgetPart(
  parts: StoreParts,
  { id, part }: { readonly id: string; readonly part: NonNullable<Tombstone["part"]> },
): Promise<string> {
  const { workspace } = part;
  const back = part.kind === "pruning" ? await withdrawPrunings(parts, workspace, part.event) : [];
  const ids = back.map((event) => partId(workspace, { kind: "pruning", event }));
  const notes = new Tombstones(parts);
  for (const one of new Set([id, ...ids])) notes.remove(one);
  return workspace;
}

async function withdrawPrunings(parts: StoreParts, workspace: string, event: number): Promise<readonly number[]> {
  const { context, close } = await openContext(parts, workspace, { tasks: storeTasks(parts, workspace) });
  try {
    return await takePruningBack(context, event);
  } finally {
    await close();
  }
}

/** A forgotten history, or a given-up part of a history, that can still be brought back. */
export interface ForgottenShape {
  /** The id of the forgotten workspace, or the id of the part. */
  id: string;
  /** The kind of a part: the contents of a pruning, or archived events. Absent for a whole history. */
  what?: GivenUpPart["kind"];
  name?: string;
  /** The first folder of the workspace. Empty if the workspace had none. */
  path: string;
  /** The time at which the history or part was given up; `null` if unknown. */
  forgotten: string | null;
  /**
   * The end of the grace period. The first `gc` after this time frees the history or part. `null` if the note is lost.
   * No `gc` frees a history without a note.
   */
  until: string | null;
}

/**
 * Forgets a workspace: writes a note beside the key, and moves the workspace's folder to the forgotten histories. With
 * `now`, also frees the history at once, for good. Throws `NOT_FOUND` if another process has forgotten it already.
 */
export async function forgetWorkspace(
  parts: StoreParts,
  workspace: ListedWorkspace,
  how: { readonly now: boolean },
): Promise<void> {
  const { id } = workspace;
  if (how.now) await refuseWhileOpen(parts, id);
  const stones = new Tombstones(parts);
  const stone = await tombstoneOf(parts, workspace, { grace: how.now ? 0 : GRACE_MS });
  const { layout } = parts;
  await withNames(parts, async () => {
    if (!isThere(parts, id)) throw forgottenAlready(id);
    makeFolders(parts.backends.disk, layout.forgotten);
    const to = `${layout.forgotten}/${id}`;
    const before = async (): Promise<void> => {
      // Check again under the lock, because another process may have begun to work in the workspace since the first
      // check.
      if (how.now) await refuseWhileOpen(parts, id);
      stones.put(stone);
    };
    await moveWorkspace(parts, id, { to, before });
    if (how.now) free(parts, stones, stone);
  });
}

function forgottenAlready(id: string): ChronicleError {
  return new ChronicleError("NOT_FOUND", `another process has just forgotten the workspace ${id}`, {
    hint: "`chronicle unforget` lists what can be brought back",
    data: { workspace: id },
  });
}

/**
 * Brings back a forgotten history, or a given-up part of a history, by its id, its name, or a unique prefix of its id.
 * Returns the id of the workspace. Throws `NOT_FOUND` if nothing matches, `AMBIGUOUS` if several match, and `UNSAFE` if
 * another workspace has the id, name or folder of the history now.
 */
export async function unforgetWorkspace(parts: StoreParts, asked: string): Promise<string> {
  refuseOthersStore(parts.backends.disk, { home: parts.layout.home, configFolder: parts.configFolder });
  const folder = await folderOfForgotten(parts, forgottenBy(forgottenIn(parts), asked).id);
  const back = (): Promise<string> => bringBack(parts, asked);
  // A new history of the folder is invisible while its baseline is being recorded.
  return folder === undefined ? back() : withBeginning(parts, folder, back);
}

function bringBack(parts: StoreParts, asked: string): Promise<string> {
  return withNames(parts, async () => {
    const { disk } = parts.backends;
    const found = forgottenBy(forgottenIn(parts), asked);
    const part = new Tombstones(parts).get(found.id)?.part;
    if (part !== undefined) return unforgetPart(parts, { id: found.id, part });
    const one = { ...found, ...(await ownNames(parts, found.id)) };
    const all = await parts.roots.list();
    const inTheWay = all.find(
      ({ id, name, folders }) =>
        id === one.id || (name !== undefined && name === one.name) || (one.path !== "" && folders[0] === one.path),
    );
    if (inTheWay !== undefined) throw blockedBy(one, inTheWay);
    parts.backends.move(`${parts.layout.forgotten}/${one.id}`, parts.layout.workspace(one.id).folder);
    disk.syncFolder(parts.layout.workspaces);
    disk.syncFolder(parts.layout.forgotten);
    new Tombstones(parts).remove(one.id);
    return one.id;
  });
}

/** Returns the first root's folder; `undefined` if the history has none, or if its record cannot be read. */
async function folderOfForgotten({ backends, layout }: StoreParts, id: string): Promise<string | undefined> {
  const { last } = await lastWorkspaceRecord(backends, workspaceLayout(`${layout.forgotten}/${id}`), id);
  return last?.record.roots.find(({ folder }) => folder !== "")?.folder;
}

/**
 * Returns the folder and the name from the history's own workspace record, because the note about the forgotten history
 * may be lost. Returns an empty object if the record cannot be read.
 */
async function ownNames(
  { backends, layout }: StoreParts,
  id: string,
): Promise<Partial<Pick<ForgottenShape, "path" | "name">>> {
  const { last } = await lastWorkspaceRecord(backends, workspaceLayout(`${layout.forgotten}/${id}`), id);
  if (last === undefined) return {};
  const { name, folders } = listedWorkspace(id, last.record, last.seq);
  return { path: folders[0] ?? "", ...optional({ name }) };
}

function forgottenBy(all: readonly ForgottenShape[], asked: string): ForgottenShape {
  const exact = all.find(({ id }) => id === asked) ?? all.find(({ name }) => name === asked);
  const matching = exact === undefined ? meantBy(all, asked, ({ id }) => id) : [exact];
  const [only] = matching;
  const hint = "`chronicle unforget` lists those that can be brought back";
  if (only === undefined || asked === "")
    throw new ChronicleError("NOT_FOUND", `no forgotten history is called ${JSON.stringify(asked)}`, { hint });
  if (matching.length === 1) return only;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(asked)} stands for ${matching.length} histories`, { hint });
}

function blockedBy(one: ForgottenShape, { id, name }: ListedWorkspace): ChronicleError {
  const what = name !== undefined && name === one.name ? `is called ${name}` : `is the history of ${one.path}`;
  return new ChronicleError("UNSAFE", `${one.id} stays forgotten: workspace ${id} ${what} now`, {
    hint: `forget that workspace first (it can be brought back as well): \`chronicle forget ${id}\``,
    data: { workspace: id, forgotten: one.id },
  });
}

/** Returns the histories and parts that can be brought back, ordered by the time at which they were given up. */
export function forgottenIn(parts: StoreParts): ForgottenShape[] {
  const stones = new Tombstones(parts);
  const histories = forgottenIds(parts).map((id): ForgottenShape => shapeOf(id, stones.get(id)));
  const given = partsGivenUp(parts, stones).filter(({ until }) => Date.parse(until) > parts.backends.now());
  const shapes = [...histories, ...given.map((one) => shapeOf(one.id, one))];
  return shapes.sort((a, b) => (a.forgotten ?? "").localeCompare(b.forgotten ?? ""));
}

function shapeOf(id: string, stone: Tombstone | undefined): ForgottenShape {
  const { name, path = "", forgotten = null, until = null, part } = stone ?? {};
  const what = part === undefined ? {} : { what: part.kind };
  return { id, ...what, ...optional({ name }), path, forgotten, until };
}

/** Returns the notes of given-up parts whose histories are in the store. */
function partsGivenUp(parts: StoreParts, stones: Tombstones): Tombstone[] {
  return stones.list().filter(({ part }) => part !== undefined && isThere(parts, part.workspace));
}

function forgottenIds({ backends: { disk }, layout }: StoreParts): string[] {
  if (disk.lstat(layout.forgotten)?.kind !== "dir") return [];
  const folders = disk.list(layout.forgotten).filter(({ kind }) => kind === "dir");
  return folders.map(({ name }) => name.toString());
}

/** Frees the histories whose grace period is over. A history without a note stays. */
export async function freeForgotten(parts: StoreParts): Promise<void> {
  const stones = new Tombstones(parts);
  const isOver = ({ until }: Tombstone): boolean => Date.parse(until) <= parts.backends.now();
  // Remove only the note of a pruning here. A collection frees the pruned contents once the pruning's event is old
  // enough.
  for (const one of partsGivenUp(parts, stones)) if (one.part?.kind === "pruning" && isOver(one)) stones.remove(one.id);
  const over = (): Tombstone[] =>
    forgottenIds(parts)
      .flatMap((id) => stones.get(id) ?? [])
      .filter(isOver);
  if (over().length === 0) return;
  await withNames(parts, async () => {
    for (const stone of over()) free(parts, stones, stone);
  });
}

/**
 * Frees a forgotten history. The caller must hold the lock that `withNames` takes. After a crash, the next holder of
 * this lock finishes the removal.
 */
function free(parts: StoreParts, stones: Tombstones, stone: Tombstone): void {
  const { backends, layout, configFolder } = parts;
  const { disk } = backends;
  const ended = `${layout.workspaces}/${endedName(stone.id)}`;
  stones.put({ ...stone, freed: new Date(backends.now()).toISOString() });
  backends.move(`${layout.forgotten}/${stone.id}`, ended);
  disk.syncFolder(layout.workspaces);
  disk.syncFolder(layout.forgotten);
  new SyncTokens(disk, configFolder).remove(stone.id);
  for (const one of stones.list()) if (one.part?.workspace === stone.id) stones.remove(one.id);
  backends.removeFolder(ended);
}

const UNREADABLE: readonly ErrorCode[] = [
  "BLOB_CORRUPT",
  "BLOB_MISSING",
  "FORMAT_UNSUPPORTED",
  "INTEGRITY_VIOLATION",
  "LOG_DAMAGED",
  "ROLLBACK_DETECTED",
];

/**
 * Throws `REFUSED` while a process is at work in a workspace. Does nothing if the history is damaged or has another
 * format. Throws any other error that prevents the check.
 */
async function refuseWhileOpen(parts: StoreParts, id: string): Promise<void> {
  try {
    const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id), readOnly: true });
    try {
      await answer(context, ({ head }) => refuseAtOnce(context, head));
    } finally {
      await close();
    }
  } catch (error) {
    if (!(error instanceof ChronicleError) || !UNREADABLE.includes(error.code)) throw error;
  }
}
