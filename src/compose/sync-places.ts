import { basename, join } from "node:path";
import type { ConflictShape } from "../api/conflict-shape.ts";
import type { StoreApi } from "../api/store-api.ts";
import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import { ROOT } from "../core/values/path.ts";
import type { FolderIdentity, ReplicaRecord } from "../core/records/replica-record.ts";
import type { Disk } from "../disk/disk.ts";
import type { Channel } from "../replication/channel.ts";
import { findReplicaRecord } from "../replication/folder/cycle/find-replica-record.ts";
import type {
  AskedOrigin,
  BeginOptions,
  OpenSyncPlace,
  SyncPlace,
  SyncPlaces,
} from "../replication/folder/sync/sync-places.ts";
import { NODE_TIMERS } from "../util/timers.ts";
import { dialOrigin } from "../replication/replica/dial-origin.ts";
import { rulesForNames } from "../worktree/files/folder-probe.ts";
import { answer } from "../engine/log/answer.ts";
import { listConflicts } from "../engine/undo/conflicts.ts";
import type { Context } from "../engine/log/context.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { openReplica } from "./open-replica.ts";
import { refuseOwnFolders } from "../disk/refuse-own-folders.ts";
import { refuseProcessPath } from "../store/refuse-process-path.ts";
import { refuseSystemFolder } from "../store/refuse-system-folder.ts";
import { RootsCache } from "../store/roots-cache.ts";
import { checkAgainstOrigin, checkFolderIdentity } from "./folder-identity-check.ts";
import { storeTasks } from "./store-tasks.ts";
import { SyncTokens } from "../store/sync-tokens.ts";
import { watchLog } from "../store/watch-log.ts";
import { optional } from "../util/optional.ts";

/** A replica's view of its origin. */
export interface KnownOrigin {
  readonly url: string;
  /** The id of the workspace there, or its name if it has not answered so far. */
  readonly workspace: string | undefined;
  readonly token: string | undefined;
}

/** The syncs of a store of this machine. Tokens are files (0600) in `sync-tokens/` of the configuration folder. */
export class FileSyncPlaces implements SyncPlaces {
  readonly #store: StoreApi;
  readonly #parts: StoreParts;

  constructor(store: StoreApi, parts: StoreParts) {
    this.#store = store;
    this.#parts = parts;
  }

  async list(): Promise<SyncPlace[]> {
    const { layout } = this.#parts;
    const places: SyncPlace[] = [];
    for (const id of namesIn(this.#disk, layout.workspaces)) {
      if (this.#disk.lstat(layout.workspace(id).upstream.folder) === undefined) continue;
      const place = await this.#look(id);
      if (place?.record !== undefined) places.push(place);
    }
    return places;
  }

  async begin(folder: string, { force = false, follows }: BeginOptions = {}): Promise<string> {
    refuseProcessPath(this.#disk, folder);
    const { layout, configFolder } = this.#parts;
    refuseOwnFolders(this.#disk, folder, "a sync", [layout.home, configFolder]);
    // Check before anything is made, and once more for the end of a link.
    if (!force) refuseSystemFolder(folder);
    if (follows !== undefined) await this.#refuseWithin(folder, follows);
    makeWithFolders(this.#disk, folder);
    const real = this.#disk.realpath(folder);
    if (!force) refuseSystemFolder(real);
    // A history can be of one file, but a sync cannot.
    if (this.#disk.lstat(real)?.kind !== "dir") {
      throw new ChronicleError("USAGE", `${folder} is a file`, {
        hint: "a sync takes a folder: name one, there or to be made",
      });
    }
    const { workspace } = await this.#store.init({ roots: [folder], force });
    await workspace.close();
    return workspace.id;
  }

  /** What was made there would be a part of all that follow the same, before anybody noticed. */
  async #refuseWithin(
    folder: string,
    { url, workspace, answered }: NonNullable<BeginOptions["follows"]>,
  ): Promise<void> {
    const place = placeOf(this.#disk, folder);
    const halt = answered === undefined ? undefined : await checkAgainstOrigin(this.#parts, answered, place);
    if (halt !== undefined) {
      throw new ChronicleError("UNSAFE", halt.detail ?? halt.reason, {
        hint: "nothing was made: choose a folder that lies beside it",
        data: { folder },
      });
    }
    for (const { folder: around, record } of await this.list()) {
      const isSame = record?.url === url && record.workspace === workspace && isGoing(record);
      if (!isSame || !place.startsWith(`${around}/`)) continue;
      throw new ChronicleError("UNSAFE", `${folder} lies in another folder that follows this origin (${around})`, {
        hint: "it would hold itself without end: choose a folder that lies beside it",
        data: { folder, other: around },
      });
    }
  }

  async open(id: string): Promise<OpenSyncPlace> {
    await using opening = new AsyncDisposableStack();
    const hold = opening.use(await openReplica(this.#parts, id));
    const { context, mirror, options } = hold;
    const folder = folderOf(context);
    const record = await findReplicaRecord(context);
    const { log: ownLog } = this.#parts.layout.workspace(id);
    opening.move();
    return {
      id,
      folder,
      record,
      conflicts: () => answer(context, () => conflictsOf(context, true)),
      parts: {
        context,
        mirror,
        session: options,
        identity: () => identityOf(this.#disk, folder),
        nameRules: rulesForNames(context.worktree.traitsOf(ROOT)),
        apart: this.#apart(id, folder),
        watchOwn: (onGrown) => watchLog(this.#disk, ownLog, { timers: NODE_TIMERS, onGrown }),
        beforeMove: () => new RootsCache(this.#parts.backends, this.#parts.layout).drop(id),
      },
      [Symbol.asyncDispose]: () => hold[Symbol.asyncDispose](),
    };
  }

  /** Returns a check that passes at most once: a folder that stood apart does so for as long as it is open. */
  #apart(id: string, folder: string): NonNullable<OpenSyncPlace["parts"]["apart"]> {
    let isApart = false;
    return async ({ origin, url }) => {
      if (isApart) return undefined;
      const others = (await this.list()).filter(({ record }) => record?.origin === origin && isGoing(record));
      const beside = others.filter((one) => one.id !== id).map((one) => one.folder);
      const halt = await checkFolderIdentity(this.#parts, { id, folder, url, beside });
      isApart = halt === undefined;
      return halt;
    };
  }

  keepToken(id: string, token: string | undefined): void {
    if (token === undefined) this.#tokens.remove(id);
    else this.#tokens.keep(id, token);
  }

  tokenOf(id: string): string | undefined {
    return this.#tokens.get(id);
  }

  /** Returns the origin of a workspace's sync, and the token for it; `undefined` if it follows none. */
  async originOf(id: string): Promise<KnownOrigin | undefined> {
    const record = (await this.#look(id))?.record;
    if (record === undefined) return undefined;
    const workspace = record.origin === "" ? record.workspace : record.origin;
    return { url: record.url, workspace, token: this.#tokens.get(id) };
  }

  async find(folder: string): Promise<SyncPlace | undefined> {
    const place = placeOf(this.#disk, folder);
    return (await this.list()).find((one) => one.folder === place);
  }

  connect(id: string, record: Pick<ReplicaRecord, "url" | "workspace">, signal: AbortSignal): Promise<Channel> {
    return this.dial({ ...record, token: this.#tokens.get(id) }, signal);
  }

  dial({ url, workspace, token }: AskedOrigin, signal: AbortSignal): Promise<Channel> {
    const named = workspace === undefined ? {} : { workspace };
    return dialOrigin({ url, ...named, ...optional({ token }) }, signal);
  }

  /** Returns `undefined` if it is not there any more, or cannot be read; `chronicle workspaces` says why. */
  async #look(id: string): Promise<SyncPlace | undefined> {
    try {
      const { context, close } = await openContext(this.#parts, id, {
        readOnly: true,
        tasks: storeTasks(this.#parts, id),
      });
      try {
        return await answer(context, async () => ({
          id,
          folder: folderOf(context),
          record: await findReplicaRecord(context),
          conflicts: await conflictsOf(context, false),
        }));
      } finally {
        await close();
      }
    } catch (error) {
      if (error instanceof ChronicleError) return undefined;
      throw error;
    }
  }

  get #disk(): Disk {
    return this.#parts.backends.disk;
  }

  get #tokens(): SyncTokens {
    return new SyncTokens(this.#disk, this.#parts.configFolder);
  }
}

/** True if a sync counts: one that may not go on itself keeps no other from it. */
function isGoing({ stopped, halted }: ReplicaRecord): boolean {
  return stopped !== true && halted?.reason !== "nested";
}

function folderOf({ worktree }: Context): string {
  return worktree.roots[0]?.folder ?? "";
}

async function conflictsOf(context: Context, patch: boolean): Promise<ConflictShape[]> {
  return (await listConflicts(context, { patch })).filter(({ cause }) => cause === "sync");
}

/** Returns the identity of a folder; `undefined` if there is none, or it cannot be read. */
function identityOf(disk: Disk, folder: string): FolderIdentity | undefined {
  const stat = disk.lstat(folder);
  if (stat?.kind !== "dir") return undefined;
  const birth = disk.birthOf(folder);
  return { dev: String(stat.dev), ino: String(stat.ino), ...optional({ birth }) };
}

function namesIn(disk: Disk, folder: string): string[] {
  try {
    return disk.list(folder).map(({ name }) => name.toString());
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}

/** Returns the present or future place of a folder, with the links on the way resolved. */
function placeOf(disk: Disk, folder: string): string {
  if (disk.lstat(folder) !== undefined) return disk.realpath(folder);
  return join(placeOf(disk, join(folder, "..")), basename(folder));
}

/** Makes a user's folder, with those above it, with the mode that other programs use. */
function makeWithFolders(disk: Disk, folder: string): void {
  if (disk.lstat(folder) !== undefined) return;
  makeWithFolders(disk, join(folder, ".."));
  disk.makeFolder(folder, 0o755);
}
