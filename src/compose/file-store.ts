import type {
  CreateOptions,
  DoctorShape,
  ForgetOptions,
  InitOptions,
  InitShape,
  MarkChanges,
  MarkOptions,
  MarksShape,
  OpenByIdOptions,
  OpenOptions,
  StoreApi,
  StoreOptions,
} from "../api/store-api.ts";
import type { DuShape, GcShape, SnapshotShape, WorkspaceShape } from "../api/shapes.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import { ChronicleError, withCode } from "../core/values/errors.ts";
import { wholePath, placeOfRoot } from "../core/tree/root-place.ts";
import { FORMAT_VERSION, type RootRecord } from "../core/records/workspace-record.ts";
import { agentView, forbidden, recordRefusal } from "../engine/actions/agent-view.ts";
import { adoptFolder } from "../engine/commit/adopt.ts";
import { answer } from "../engine/log/answer.ts";
import { setArchived } from "../engine/upkeep/archived.ts";
import { takeBaseline } from "../engine/capture/baseline.ts";
import { finishTorn } from "../engine/capture/operate.ts";
import { readForkSource, type ForkSource } from "../engine/undo/fork.ts";
import { addedNames, toldProtectedFiles } from "../engine/state/protected.ts";
import { refuseOtherFormat } from "../store/last-workspace-record.ts";
import { listSnapshots, snapshotShape } from "../engine/read/snapshot.ts";
import { keepToBudget } from "../engine/upkeep/private-budget.ts";
import { openQueue } from "../engine/undo/open-queue.ts";
import { Workspace } from "../engine/workspace.ts";
import type { Backends } from "../store/backends.ts";
import { clearUnbegun, checkName, createWorkspace } from "./create-workspace.ts";
import { examine } from "./doctor.ts";
import { makeFolders } from "../store/file-head-keeper.ts";
import { fillNewFolder, refuseSingleFile } from "./fill-new-folder.ts";
import { forgetWorkspace, freeForgotten } from "./forgotten.ts";
import { identityAt } from "../store/folder-identity.ts";
import { boundTo, movedTo, nearestAround, trackedFurther, type FoundWorkspace } from "./folder-workspace.ts";
import { openContext, type HowToOpen, type OpenedContext, type StoreParts } from "./open-context.ts";
import { openMirror } from "./open-mirror.ts";
import { openParts, notePartsOf } from "./open-parts.ts";
import type { RootsCache, ListedWorkspace } from "../store/roots-cache.ts";
import { refuseUnsafe, resolved, rootsFrom } from "../store/roots.ts";
import { refuseOthersStore } from "../store/store-owner.ts";
import { FileMarks } from "../store/file-marks.ts";
import { keptBeside } from "./kept-beside.ts";
import { collectStore, isThere, refuseToForget, storeTasks, storeUsage } from "./store-tasks.ts";
import { withBeginning, withNames, writeWorkspaceFile } from "../store/workspace-file.ts";
import { workspaceShape } from "./workspace-shape.ts";
import { agentsName, checkActorName, refuseClaimedName } from "../core/records/actor-name.ts";
import { meantBy } from "../core/values/meant-by.ts";
import { refuseFurther, refuseOtherKind, refuseWithin } from "../store/refuse-place.ts";
import { optional } from "../util/optional.ts";

const LIST_THEM = "`chronicle workspaces` lists them";

class FileStore implements StoreApi {
  readonly #parts: StoreParts;
  readonly #options: StoreOptions;
  readonly #cache: RootsCache;
  readonly #open = new Set<OpenedContext>();

  constructor(parts: StoreParts, options: StoreOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#cache = parts.roots;
  }

  get home(): string {
    return this.#options.home;
  }

  init(options: InitOptions): Promise<{ readonly workspace: WorkspaceApi; readonly result: InitShape }> {
    return withCode(() => this.#init(options));
  }

  open(options: OpenOptions): Promise<WorkspaceApi> {
    return withCode(() => this.#openFolder(options));
  }

  async #init(
    options: InitOptions,
    role?: OpenOptions["role"],
  ): Promise<{ readonly workspace: WorkspaceApi; readonly result: InitShape }> {
    this.#checkWritable();
    const roots = rootsFrom(this.#parts.backends.disk, options);
    for (const { folder, only } of roots) {
      // A single file may lie in a personal folder, because the caller has named exactly this file.
      const force = options.force === true || only !== undefined;
      refuseUnsafe(this.#parts.backends.disk, folder, { ...this.#options, force });
    }
    const [first] = roots;
    if (first === undefined) throw new ChronicleError("USAGE", "there is no folder to track", { hint: "name one" });
    await this.#refuseAgentsForce(options, first);
    const find = (): Promise<ListedWorkspace | undefined> => this.#existing(roots, first, options);
    // A new history of the folder is invisible while its baseline is being recorded, so an adoption waits for it.
    const existing = await (options.adopt === undefined ? find() : withBeginning(this.#parts, first.folder, find));
    if (existing !== undefined) return this.#initialised(await this.#openId(existing.id), false, role);
    await this.#refuseOtherFormats();
    return withBeginning(this.#parts, first.folder, async () => {
      const begun = await find();
      const opened = begun === undefined ? await this.#begin(roots, options) : await this.#openId(begun.id);
      return this.#initialised(opened, begun === undefined, role);
    });
  }

  /**
   * Returns the workspace that `init` continues: the workspace to adopt, or else the existing workspace of the first
   * root. Returns `undefined` if there is none. Throws an error if that workspace does not track all the roots.
   */
  async #existing(
    roots: readonly RootRecord[],
    first: RootRecord,
    options: InitOptions,
  ): Promise<ListedWorkspace | undefined> {
    const { adopt } = options;
    const found = adopt === undefined ? await this.#workspaceOf(first, false) : await this.#byId(adopt);
    if (found === undefined) return undefined;
    refuseFurther(found, roots);
    return adopt === undefined ? this.#workspaceOf(first, true) : this.#takeOver(found, first, options);
  }

  async #initialised(
    opened: OpenedContext,
    created: boolean,
    role?: OpenOptions["role"],
  ): Promise<{ readonly workspace: WorkspaceApi; readonly result: InitShape }> {
    const [[baseline], secrets] = await answer(opened.context, async ({ damage }) => {
      const snapshots = await listSnapshots(opened.context);
      return [snapshots, await toldProtectedFiles(opened.context, damage)] as const;
    });
    if (baseline === undefined) throw new ChronicleError("IO", "the baseline was not recorded");
    const snapshot: SnapshotShape = snapshotShape(baseline);
    const workspace = this.#workspace(opened, role);
    const { id, path } = workspace;
    return { workspace, result: { workspace: id, path, created, snapshot, protected: secrets } };
  }

  async #openFolder(options: OpenOptions): Promise<WorkspaceApi> {
    const folder = resolved(this.#parts.backends.disk, wholePath("folder", options.folder));
    const isUpstream = options.upstream === true;
    const readOnly = options.readOnly === true || isUpstream;
    if (!readOnly) this.#checkWritable();
    const found = await this.#enclosing(folder, readOnly);
    const { client } = options;
    if (found !== undefined && isUpstream) {
      return this.#workspace(await this.#openUpstream(found.id, { client, role: options.role }), options.role);
    }
    if (found !== undefined) {
      const opened = await this.#openId(found.id, { readOnly, movedTo: found.movedTo, client });
      return this.#workspace(opened, options.role);
    }
    if (options.create !== true || isUpstream) {
      await this.#refuseOtherFormats();
      throw await this.#noneHolds(folder);
    }
    const progress = options.onProgress === undefined ? {} : { onProgress: options.onProgress };
    const forced = options.force === undefined ? {} : { force: options.force };
    const { workspace } = await this.#init({ roots: [folder], ...forced, ...progress }, options.role);
    return workspace;
  }

  /**
   * Throws `FORMAT_UNSUPPORTED` if the history of any workspace has a format that this version cannot read. The folder
   * of such a workspace is unknown, and may be the requested one.
   */
  async #refuseOtherFormats(): Promise<void> {
    const { backends, layout } = this.#parts;
    for (const { id, problem, folders } of await this.#cache.list())
      if (problem !== undefined && folders.length === 0) await refuseOtherFormat(backends, layout.workspace(id), id);
  }

  async #noneHolds(folder: string): Promise<ChronicleError> {
    const damaged = (await this.#cache.list()).filter(({ problem, folders }) => problem && folders.length === 0);
    const ids = damaged.map(({ id }) => id).join(", ");
    const hint =
      ids === ""
        ? "`chronicle init` begins one here; `chronicle workspaces` lists all workspaces"
        : `it may be the folder of ${ids}, whose record cannot be read: \`chronicle workspaces\` says why; otherwise, \`chronicle init\` begins one here`;
    return new ChronicleError("NOT_FOUND", `no workspace holds ${folder}`, { hint, data: { folder } });
  }

  create(options: CreateOptions = {}): Promise<{ readonly workspace: WorkspaceApi; readonly result: InitShape }> {
    return withCode(async () => {
      const { name, from } = options;
      this.#checkWritable();
      if (name !== undefined) checkName(name);
      // The lease keeps the source's contents in the store until the fork's own log names them.
      using _lease = await this.#parts.blobs.lease();
      const source = from === undefined ? undefined : await this.#sourceOf(from);
      const id = await createWorkspace(this.#parts, this.#cache, { ...optional({ name }), source });
      return await this.#initialised(await this.#openId(id), true);
    });
  }

  archive(id: string, archived = true): Promise<WorkspaceShape> {
    return withCode(async () => {
      this.#checkWritable();
      const { id: whole } = await this.#byId(id);
      await this.#refuseAgent(archived ? "archive" : "unarchive", (one) => one === whole);
      // Drop the cache entry before the log changes. Other processes, and this store after a crash, then read the log.
      this.#cache.drop(whole);
      await this.#with(whole, ({ context }) => setArchived(context, archived));
      return (await this.#shape(await this.#byId(whole, true))) ?? this.#notFound(whole);
    });
  }

  openById(id: string, options: OpenByIdOptions = {}): Promise<WorkspaceApi> {
    return withCode(async () => {
      const { role, exact, readOnly = false, client, actor, upstream = false } = options;
      checkActorName(actor);
      if (!readOnly && !upstream) this.#checkWritable();
      if ((role ?? this.#options.role) === "agent") refuseClaimedName(actor);
      const { id: whole } = await this.#byId(id, exact);
      if (upstream) return this.#workspace(await this.#openUpstream(whole, { client, actor, role }), role);
      const opened = await this.#openId(whole, { readOnly, client, actor });
      await finishTorn(opened.context);
      return this.#workspace(opened, role);
    });
  }

  async workspaces(): Promise<WorkspaceShape[]> {
    const shapes: (WorkspaceShape | undefined)[] = [];
    for (const one of await this.#cache.list()) shapes.push(await this.#shape(one));
    return shapes.filter((shape) => shape !== undefined);
  }

  forget(id: string, { now = false }: ForgetOptions = {}): Promise<WorkspaceShape> {
    return withCode(async () => {
      this.#checkWritable();
      const found = await this.#byId(id);
      await this.#refuseAgent("forget", (one) => one === found.id);
      const shape = (await this.#shape(found)) ?? this.#notFound(id);
      await refuseToForget(this.#parts, found.id);
      await forgetWorkspace(this.#parts, found, { now });
      return shape;
    });
  }

  marks(id: string, { person }: MarkOptions = {}): Promise<MarksShape> {
    return withCode(async () => {
      const { id: whole } = await this.#byId(id, true);
      return this.#marksOf(whole, person).read();
    });
  }

  mark(id: string, changes: MarkChanges, { person }: MarkOptions = {}): Promise<void> {
    return withCode(async () => {
      this.#checkWritable();
      const { id: whole } = await this.#byId(id, true);
      // The lock keeps other processes from writing the same file, and from forgetting the workspace meanwhile.
      await withNames(this.#parts, async () => {
        if (!isThere(this.#parts, whole)) this.#notFound(id);
        this.#marksOf(whole, person).change(changes);
      });
    });
  }

  gc(): Promise<GcShape> {
    return withCode(async () => {
      this.#checkWritable();
      await this.#refuseAgent("gc", () => true);
      await freeForgotten(this.#parts);
      await clearUnbegun(this.#parts);
      return collectStore(this.#parts);
    });
  }

  du({ kept = true }: { readonly kept?: boolean } = {}): Promise<DuShape> {
    return withCode(async () => {
      const usage = await storeUsage(this.#parts);
      return kept ? { ...usage, kept_beside: await keptBeside(this.#parts) } : usage;
    });
  }

  doctor(): Promise<DoctorShape> {
    return withCode(() => examine(this.#parts, this.#options));
  }

  async close(): Promise<void> {
    for (const opened of this.#open) await opened.close();
    this.#open.clear();
    await this.#parts.blobs.close();
  }

  /** Throws `UNSAFE` if the store belongs to another user. */
  #checkWritable(): void {
    refuseOthersStore(this.#parts.backends.disk, this.#options);
  }

  async #begin(roots: readonly RootRecord[], options: InitOptions): Promise<OpenedContext> {
    const { backends, layout } = this.#parts;
    const id = backends.newId();
    const files = layout.workspace(id);
    makeFolders(backends.disk, files.folder);
    writeWorkspaceFile(backends.disk, files.workspaceJson, id);
    const opened = await this.#openId(id, { roots });
    const [first] = roots;
    const record = {
      format: FORMAT_VERSION,
      created: new Date(backends.now()).toISOString(),
      roots,
      ...identityAt(backends.disk, first?.folder ?? "/"),
    };
    try {
      await takeBaseline(
        opened.context,
        record,
        options.onProgress === undefined ? {} : { onProgress: options.onProgress },
      );
    } catch (error) {
      this.#open.delete(opened);
      await opened.close();
      // Remove the log first, because no process finds a workspace without a log.
      if (backends.hasLog(files.log)) {
        backends.removeLog(files.log);
        backends.disk.syncFolder(files.folder);
      }
      backends.removeFolder(files.folder);
      throw error;
    }
    return opened;
  }

  async #openId(id: string, how: HowToOpen = {}): Promise<OpenedContext> {
    try {
      const opened = await openContext(this.#parts, id, { ...how, tasks: storeTasks(this.#parts, id) });
      this.#open.add(opened);
      return opened;
    } catch (error) {
      // Another process may have forgotten the workspace before it was opened.
      if (isThere(this.#parts, id)) throw error;
      return this.#notFound(id);
    }
  }

  async #openUpstream(
    id: string,
    how: HowToOpen & { readonly role: OpenOptions["role"] | undefined },
  ): Promise<OpenedContext> {
    const { role = this.#options.role, ...rest } = how;
    // Names that a person has protected in this workspace also hide contents of the origin's history from agents.
    const ownNames = (): Promise<readonly string[]> =>
      this.#with(id, ({ context }) => answer(context, () => addedNames(context)));
    const secretNames = role === "agent" ? await ownNames() : undefined;
    const found = await openMirror(this.#parts, id, { ...rest, tasks: storeTasks(this.#parts, id) });
    const opened = { ...found, context: { ...found.context, secretNames } };
    this.#open.add(opened);
    return opened;
  }

  /**
   * Returns the API of an opened workspace. If the caller or the whole store has the role of an agent, returns an
   * agent's view.
   */
  #workspace(opened: OpenedContext, role: OpenOptions["role"]): WorkspaceApi {
    const queue = openQueue(opened.context, keepToBudget, async () => {
      this.#open.delete(opened);
      await opened.close();
    });
    if (role !== "agent" && this.#options.role !== "agent") return new Workspace(opened.context, queue);
    const { caller } = opened.context;
    const agent = { ...caller, role: "agent", actor: agentsName(undefined, caller.actor) } as const;
    const context = { ...opened.context, caller: agent };
    return agentView(new Workspace(context, queue), context);
  }

  /**
   * Throws `FORBIDDEN` if an agent asks for an operation that is reserved for people. Records the attempt in each
   * workspace for which `concerned` is true.
   */
  async #refuseAgent(what: string, concerned: (id: string) => boolean): Promise<void> {
    if (this.#options.role !== "agent") return;
    for (const { id } of await this.#cache.list()) {
      if (concerned(id)) await this.#with(id, ({ context }) => recordRefusal(context, what, []));
    }
    throw forbidden(what);
  }

  /**
   * Throws `FORBIDDEN` if an agent asks to move a history to another folder (`adopt`), or to override a safety check
   * (`force`).
   */
  async #refuseAgentsForce({ adopt, force }: InitOptions, root: RootRecord): Promise<void> {
    if (this.#options.role !== "agent" || (adopt === undefined && force !== true)) return;
    const all = await this.#cache.list();
    const meant =
      adopt === undefined ? all.find((one) => one.folders[0] === placeOfRoot(root)) : await this.#byId(adopt);
    await this.#refuseAgent(adopt === undefined ? "init --force" : "init --adopt", (id) => id === meant?.id);
  }

  async #byId(id: string, exact = false): Promise<ListedWorkspace> {
    const all = await this.#cache.list();
    const meant = all.find((one) => one.id === id) ?? all.find((one) => one.name === id);
    const matching = meant !== undefined ? [meant] : exact ? [] : meantBy(all, id, (one) => one.id);
    const [only] = matching;
    if (only === undefined || id === "") return this.#notFound(id);
    if (matching.length === 1) return only;
    throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(id)} stands for ${matching.length} workspaces`, {
      hint: LIST_THEM,
    });
  }

  #marksOf(id: string, person = "owner"): FileMarks {
    const { backends, layout } = this.#parts;
    const own = this.#options.role === "agent" ? `agent of ${person}` : person;
    return new FileMarks(backends.disk, layout.workspace(id).marks, own);
  }

  #notFound(id: string): never {
    throw new ChronicleError("NOT_FOUND", `there is no workspace ${JSON.stringify(id)}`, { hint: LIST_THEM });
  }

  async #sourceOf({ workspace, moment }: NonNullable<CreateOptions["from"]>): Promise<ForkSource> {
    const { id } = await this.#byId(workspace);
    return this.#with(id, ({ context }) => readForkSource(context, moment), { readOnly: moment !== "now" });
  }

  async #with<T>(id: string, work: (opened: OpenedContext) => Promise<T>, how: HowToOpen = {}): Promise<T> {
    const opened = await this.#openId(id, how);
    try {
      return await work(opened);
    } finally {
      this.#open.delete(opened);
      await opened.close();
    }
  }

  /**
   * Returns the workspace of this root, if there is one. Finds the workspace by its path, by the identity of a moved
   * folder, or through a bind mount. With `mayAdopt`, records the new place of a moved folder.
   */
  async #workspaceOf(
    root: RootRecord,
    mayAdopt: boolean,
    listed?: readonly ListedWorkspace[],
  ): Promise<FoundWorkspace | undefined> {
    const all = listed ?? (await this.#cache.list());
    const here = all.find((one) => one.folders[0] === placeOfRoot(root));
    if (here !== undefined) return here;
    const moved = movedTo(this.#parts, root, all);
    if (moved === undefined) return boundTo(this.#parts, root, all);
    refuseWithin(moved, root);
    return mayAdopt ? this.#adopt(moved.id, root) : { ...moved, movedTo: root.folder };
  }

  async #enclosing(folder: string, readOnly: boolean): Promise<FoundWorkspace | undefined> {
    const all = await this.#cache.list();
    return nearestAround(this.#parts, folder, async (root) => {
      return (await this.#workspaceOf(root, !readOnly, all)) ?? trackedFurther(placeOfRoot(root), all);
    });
  }

  /**
   * Carries out `init --adopt`. A workspace without a folder gets its files in the new folder (see `fillNewFolder`).
   * Throws `UNSAFE` if the new folder has a history of its own, or if the old folder still exists. `force` permits an
   * old folder that still exists, and a new folder whose own history began at another place.
   */
  async #takeOver(found: ListedWorkspace, root: RootRecord, { force }: InitOptions): Promise<ListedWorkspace> {
    const folder = placeOfRoot(root);
    const [old] = found.folders;
    if (old === folder) return found;
    if (old === undefined) refuseSingleFile(found, root);
    else refuseOtherKind(found, root);
    refuseWithin(found, root);
    const all = await this.#cache.list();
    const moved = movedTo(this.#parts, root, all);
    const own = all.find((one) => one.folders[0] === folder) ?? (force === true ? undefined : moved);
    if (own !== undefined && own.id !== found.id) {
      throw new ChronicleError("UNSAFE", `${folder} has a history of its own already: workspace ${own.id}`, {
        hint: `choose another folder, or give that history up first: \`chronicle forget ${own.id}\``,
        data: { folder, workspace: own.id },
      });
    }
    if (old === undefined) {
      await this.#fill(found.id, root);
      return this.#adopt(found.id, root);
    }
    const isGone = moved?.id === found.id || this.#parts.backends.disk.lstat(old) === undefined;
    if (!isGone && force !== true) {
      throw new ChronicleError("UNSAFE", `${old}, to which this history belongs, still exists`, {
        hint: "leave out --adopt to begin a new history, or give --force to move this history here",
        data: { folder: old, workspace: found.id },
      });
    }
    return this.#adopt(found.id, root);
  }

  /**
   * Writes the files of a workspace without a folder into an empty folder. If the folder is not empty, checks that it
   * has these files.
   */
  #fill(id: string, root: RootRecord): Promise<void> {
    return this.#with(id, ({ context }) =>
      fillNewFolder(context, root.folder, (how, work) => this.#with(id, work, how)),
    );
  }

  async #adopt(id: string, root: RootRecord): Promise<ListedWorkspace> {
    const found = await this.#byId(id);
    this.#cache.drop(found.id);
    const place = { folder: root.folder, ...identityAt(this.#parts.backends.disk, root.folder) };
    await this.#with(found.id, ({ context }) => adoptFolder(context, place));
    return this.#byId(found.id, true);
  }

  #shape(one: ListedWorkspace): Promise<WorkspaceShape | undefined> {
    return workspaceShape(this.#parts, one, (id, work) => this.#with(id, work, { readOnly: true }));
  }
}

/**
 * Throws `USAGE` if a path is not absolute, or if the actor is invalid. Throws `FORBIDDEN` if an agent claims the name
 * of a person or of Chronicle.
 */
function checked(options: StoreOptions): StoreOptions {
  const { userHome, actor, role } = options;
  checkActorName(actor);
  if (role === "agent") refuseClaimedName(actor);
  return {
    ...options,
    home: wholePath("home", options.home),
    configFolder: wholePath("configFolder", options.configFolder),
    ...(userHome === undefined ? {} : { userHome: wholePath("userHome", userHome) }),
  };
}

/** Opens a store. Makes its missing folders (0700), unless these would belong to another user than the store. */
export function openFileStore(options: StoreOptions, backends: Backends): Promise<StoreApi> {
  return withCode(async () => {
    const whole = checked(options);
    const parts = await openParts(whole, backends);
    const store = new FileStore(parts, whole);
    notePartsOf(store, parts);
    return store;
  });
}
