import type {
  Disk,
  DiskPath,
  DiskSpace,
  FileStat,
  FileSystem,
  FolderItem,
  OpenHow,
  Owner,
  WatchUse,
} from "../../disk/disk.ts";
import {
  checkOpens,
  lastChange,
  openFile,
  readBytes,
  saveNode,
  syncFile,
  syncNames,
  truncateFile,
  writeSome,
} from "./sim-bytes.ts";
import { crashed, type CrashFate } from "./sim-crash.ts";
import { systemError } from "./sim-error.ts";
import type { SimPlan } from "./sim-faults.ts";
import { contentOf } from "./sim-file.ts";
import { pathText, SimMachine, type SimDiskOptions } from "./sim-machine.ts";
import { cloneFile, linkName, makeFolder, removeFolder, renameName, symlinkName, unlinkName } from "./sim-names.ts";
import { errnoOf } from "../../core/values/errors.ts";
import type { SimPlace } from "./sim-path.ts";
import { SimState, type SimNode } from "./sim-state.ts";
import { dumpTree, folderAt, namesTo, plantNode, plantTree, type SimTree } from "./sim-tree.ts";

const BOUNDLESS_BYTES = 2 ** 40;

/**
 * A disk in memory that behaves like Linux. It is deterministic, and it can lose power, become full and fail.
 *
 * Its durability is stricter than that of most file systems. The bytes, mode and time of a file survive a crash after a
 * `sync` of the file. A name survives after a `syncFolder` of the folder that the operation changed. A rename is one
 * operation that can change two folders, so a `syncFolder` of either is enough. If the name of a new file survived but
 * its bytes did not, the file is empty. `crash` returns the disk found afterwards.
 */
export class SimDisk implements Disk {
  readonly #machine: SimMachine;

  constructor(options: SimDiskOptions = {}, state: SimState = newState(options)) {
    this.#machine = new SimMachine(options, state);
  }

  /** Makes a disk with this tree on it, durably. */
  static fromTree(tree: SimTree, options: SimDiskOptions = {}): SimDisk {
    const state = newState(options);
    plantTree(state, tree);
    return new SimDisk(options, state);
  }

  /** Number of operations counted so far. */
  get operations(): number {
    return this.#machine.faults.operations;
  }

  /** True if the plan has stopped the machine. */
  get stopped(): boolean {
    return this.#machine.faults.stopped;
  }

  /** Number of open descriptors. */
  get openDescriptors(): number {
    return this.#machine.descriptors.count;
  }

  /** The plan that decides about each counted operation from here on. `undefined`: every operation happens. */
  get plan(): SimPlan | undefined {
    return this.#machine.faults.plan;
  }

  set plan(plan: SimPlan | undefined) {
    this.#machine.faults.plan = plan;
  }

  /** Returns the disk found after a power loss at this moment. This one stays as it is. */
  crash(fate: CrashFate, options: SimDiskOptions = {}): SimDisk {
    return new SimDisk(this.#inherited(options), crashed(this.#machine.state, fate));
  }

  /** Returns a second disk in the same state, including unsynced changes, without open descriptors. Cheap. */
  fork(options: SimDiskOptions = {}): SimDisk {
    const state = this.#machine.state.fork();
    if (this.openDescriptors > 0) {
      for (const node of [...state.nodes.values()]) if (node.open > 0) closeAll(state, node.id);
    }
    return new SimDisk(this.#inherited(options), state);
  }

  /**
   * Returns everything below a folder, for comparisons: kind, mode, links, size and hash by relative path (see
   * `dumpTree`). Not counted as an operation.
   */
  dump(path = "/"): Readonly<Record<string, string>> {
    const node = this.#machine.existing(this.#machine.resolve(path, "always"), "dump", path);
    return dumpTree(this.#machine.state, node.id);
  }

  /**
   * Returns the bytes of a file. `undefined` if there is no file. Not counted as an operation, and also works on a
   * stopped machine.
   */
  content(path: DiskPath): Buffer | undefined {
    const place = this.#lookUp(path);
    const node = place && this.#machine.state.node(place.node);
    return node?.kind === "file" ? Buffer.from(contentOf(node.file)) : undefined;
  }

  open(path: DiskPath, how: OpenHow, mode = 0o600): number {
    return openFile(this.#machine, path, how, mode);
  }

  close(fd: number): void {
    this.#machine.faults.checkRunning("close");
    this.#machine.descriptors.remove(this.#machine.state, fd);
  }

  read(fd: number, into: Uint8Array, position: number | null): number {
    return readBytes(this.#machine, fd, into, position);
  }

  write(fd: number, bytes: Uint8Array, position: number | null): number {
    return writeSome(this.#machine, fd, bytes, position);
  }

  sync(fd: number): void {
    syncFile(this.#machine, fd);
  }

  /**
   * Syncs after other tasks of the event loop have run (`setImmediate`). What these write to the file in between is not
   * made durable.
   */
  async syncBeside(fd: number): Promise<void> {
    const last = lastChange(this.#machine, fd);
    await new Promise<void>((resolve) => setImmediate(resolve));
    syncFile(this.#machine, fd, { last });
  }

  syncFolder(path: DiskPath): void {
    const node = this.#existing(path, "trailing", "syncFolder");
    checkOpens(this.#machine, node, "folder", pathText(path));
    this.#machine.descriptors.checkRoom(pathText(path));
    syncNames(this.#machine, "syncFolder", node.id, pathText(path));
  }

  async syncFolderBeside(path: DiskPath): Promise<void> {
    this.syncFolder(path);
  }

  syncAll(path: DiskPath): boolean {
    const { dev } = this.#existing(path, "always", "syncAll");
    if (this.#machine.options.syncsAll !== true) return false;
    const { state } = this.#machine;
    const saveAll = () => {
      for (const node of [...state.nodes.values()]) if (node.dev === dev) saveNode(this.#machine, node.id);
    };
    this.#machine.faults.mutate("syncAll", pathText(path), { whole: saveAll });
    return true;
  }

  async syncAllBeside(path: DiskPath): Promise<boolean> {
    return this.syncAll(path);
  }

  truncate(fd: number, length: number): void {
    truncateFile(this.#machine, fd, length);
  }

  fstat(fd: number): FileStat {
    return this.#machine.statOf(this.#machine.state.node(this.#machine.descriptor(fd, "fstat").node));
  }

  lstat(path: DiskPath): FileStat | undefined {
    this.#machine.faults.observe("lstat", pathText(path));
    const place = this.#lookUp(path);
    if (place === undefined) return undefined;
    const stat = this.#machine.statOf(this.#machine.state.node(place.node));
    return place.end === "anchor" ? { ...stat, kind: "symlink" } : stat;
  }

  list(path: DiskPath): FolderItem[] {
    this.#machine.faults.observe("list", pathText(path));
    const node = this.#existing(path, "always", "list");
    checkOpens(this.#machine, node, "folder", pathText(path));
    const items: FolderItem[] = [];
    for (const [name, id] of node.names) {
      items.push({ name: Buffer.from(name, "latin1"), kind: this.#machine.state.node(id).kind });
    }
    return items;
  }

  makeFolder(path: DiskPath, mode = 0o700): void {
    makeFolder(this.#machine, path, mode);
  }

  removeFolder(path: DiskPath): void {
    removeFolder(this.#machine, path);
  }

  unlink(path: DiskPath): void {
    unlinkName(this.#machine, path);
  }

  /** Removes the names after other tasks of the event loop have run (`setImmediate`). */
  async unlinkAllBeside(paths: readonly DiskPath[]): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    for (const path of paths) this.unlink(path);
  }

  rename(from: DiskPath, to: DiskPath): void {
    renameName(this.#machine, from, to);
  }

  link(from: DiskPath, to: DiskPath): void {
    linkName(this.#machine, from, to);
  }

  symlink(target: Buffer, path: DiskPath): void {
    symlinkName(this.#machine, target, path);
  }

  readlink(path: DiskPath): Buffer {
    const node = this.#existing(path, "trailing", "readlink");
    if (node.kind !== "symlink") throw systemError("EINVAL", "readlink", pathText(path));
    return Buffer.from(node.target);
  }

  chmod(fd: number, mode: number): void {
    this.#setAttribute("chmod", this.#machine.descriptor(fd, "chmod"), (node) => {
      node.mode = mode & 0o7777;
    });
  }

  letOwnerRead(path: DiskPath): void {
    const { id, kind } = this.#existing(path, "trailing", "chmod");
    if (kind !== "dir") throw systemError("ENOTDIR", "chmod", pathText(path));
    this.#setAttribute("chmod", { node: id, path: pathText(path) }, (node) => {
      node.mode |= 0o400;
    });
  }

  /** Does nothing, because everything on this disk belongs to one user. */
  keepTo(): void {}

  makesFor(): boolean {
    return true;
  }

  give(fd: number, { uid }: Owner): boolean {
    return this.fstat(fd).uid === uid;
  }

  /** Returns all folders, because there are no groups and no access control lists. */
  makesAlike(folders: readonly string[]): Promise<ReadonlySet<string> | undefined> {
    return Promise.resolve(new Set(folders));
  }

  setMtime(fd: number, mtimeNs: bigint): void {
    this.#setAttribute("setMtime", this.#machine.descriptor(fd, "setMtime"), (node) => {
      node.mtimeNs = mtimeNs;
    });
  }

  clone(from: DiskPath, to: DiskPath): boolean {
    return cloneFile(this.#machine, from, to);
  }

  space(path: DiskPath): DiskSpace {
    this.#existing(path, "always", "space");
    const totalBytes = this.#machine.options.capacityBytes ?? BOUNDLESS_BYTES;
    return { totalBytes, freeBytes: Math.max(0, totalBytes - this.#machine.state.usedBytes) };
  }

  fileSystemOf(path: DiskPath): FileSystem {
    this.#existing(path, "always", "statfs");
    return { kind: "sim", isLinux: true, mount: "sim" };
  }

  someNames(path: DiskPath, most: number): Buffer[] {
    return this.list(path)
      .slice(0, most)
      .map(({ name }) => name);
  }

  checkWrite(path: DiskPath): void {
    this.#machine.faults.observe("checkWrite", pathText(path));
    this.#machine.check(this.#existing(path, "always", "access"), "write", pathText(path));
  }

  /** Always returns `undefined`. No birth times are needed, because this disk never reuses an inode. */
  birthOf(): undefined {
    return undefined;
  }

  watchFolder(): undefined {
    return undefined;
  }

  watchLosses(): number {
    return 0;
  }

  onWatchLoss(): Disposable {
    return { [Symbol.dispose]: () => undefined };
  }

  watchUse(): WatchUse {
    return { open: 0, most: Infinity };
  }

  realpath(path: string): string {
    // The kernel reports no path for a folder that was opened and then removed. So nothing below it is found either.
    const anchor = /^\/proc\/self\/fd\/\d+/.exec(path)?.[0] ?? "/";
    if (this.#existing(anchor, "always", "realpath").nlink === 0) throw systemError("ENOENT", "realpath", path);
    const node = this.#existing(path, "always", "realpath");
    const { state } = this.#machine;
    const place = this.#machine.resolve(path, "always");
    const names = place.end === "name" ? [...namesTo(state, place.folder), place.name] : namesTo(state, node.id);
    return Buffer.from(`/${names.join("/")}`, "latin1").toString("utf8");
  }

  #inherited(options: SimDiskOptions): SimDiskOptions {
    const { onOperation: _, ...kept } = this.#machine.options;
    return { ...kept, ...options };
  }

  #existing(path: DiskPath, follow: "always" | "trailing", call: string): SimNode {
    this.#machine.faults.checkRunning(call);
    return this.#machine.existing(this.#machine.resolve(path, follow), call, path);
  }

  #lookUp(path: DiskPath): SimPlace | undefined {
    try {
      const place = this.#machine.find(path, "trailing");
      return place === undefined || place.node === 0 ? undefined : place;
    } catch (error) {
      if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
      throw error;
    }
  }

  #setAttribute(
    call: "chmod" | "setMtime",
    { node: id, path }: { readonly node: number; readonly path: string },
    change: (node: SimNode) => void,
  ): void {
    this.#machine.faults.mutate(call, path, {
      whole: () => {
        this.#machine.tick();
        const node = this.#machine.state.own(id);
        change(node);
        node.ctimeNs = this.#machine.state.clockNs;
      },
    });
  }
}

function closeAll(state: SimState, id: number): void {
  const node = state.own(id);
  node.open = 0;
  state.releaseUnused(node);
}

/** Makes the state of an empty disk: the root folder, and the mounted file systems. */
function newState(options: SimDiskOptions): SimState {
  const state = new SimState();
  state.make("dir", 0o755, 1).nlink = 1;
  for (const [index, path] of (options.mounts ?? []).entries()) {
    const components = Buffer.from(path, "utf8")
      .toString("latin1")
      .split("/")
      .filter((name) => name !== "");
    const last = components.pop();
    if (last === undefined) continue;
    plantNode(state, folderAt(state, components), last, { kind: "dir", mode: 0o755, dev: index + 2 });
  }
  return state;
}
