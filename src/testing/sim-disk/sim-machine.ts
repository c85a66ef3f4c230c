import type { DiskPath, FileStat, NodeKind } from "../../disk/disk.ts";
import { SimDescriptors, type SimDescriptor } from "./sim-descriptors.ts";
import { systemError } from "./sim-error.ts";
import { SimFaults, type SimPlan } from "./sim-faults.ts";
import { findPath, resolvePath, type FollowLast, type SimPathView, type SimPlace } from "./sim-path.ts";
import type { NameSlot, SimNode, SimState } from "./sim-state.ts";

/** Options of a simulated disk, all optional. Forks and crashed disks keep all but `onOperation`. */
export interface SimDiskOptions {
  /** Decides about each counted operation; see `SimPlan`. */
  readonly onOperation?: SimPlan;
  /** True to count reading operations too, and ask the plan about them. Default false. */
  readonly countsReads?: boolean;
  /**
   * The number of bytes of content that fit on the disk. If a write does not fit, only a part of it is written, and the
   * next write fails with `ENOSPC`. Default: no limit.
   */
  readonly capacityBytes?: number;
  /** True to refuse with `EACCES` what the owner's permission bits do not allow. Default false, as for root. */
  readonly enforceModes?: boolean;
  /** Returns the time in nanoseconds. Default: a counter that each change advances by a microsecond. */
  readonly clock?: () => bigint;
  /** True if `clone` works. Default true. */
  readonly clones?: boolean;
  /** True if `syncAll` works. Default false, as on the operating system's disk. */
  readonly syncsAll?: boolean;
  /**
   * True if later syncs do not cover the names of a failed `syncFolder`, as with the bytes of a failed `sync`. Default
   * false.
   */
  readonly losesNames?: boolean;
  /** The maximum number of bytes that one `read` or `write` moves. Default: no limit. */
  readonly mostBytes?: number;
  /** The maximum number of open descriptors. A further `open` fails with `EMFILE`. Default 1024. */
  readonly mostDescriptors?: number;
  /**
   * Absolute paths of folders that are separate file systems. They are made at the start. A rename or link between them
   * fails with `EXDEV`. Default: none.
   */
  readonly mounts?: readonly string[];
  /** The owner of everything. Default 1000. */
  readonly uid?: number;
}

/** A right to a node, as given by its owner's permission bits. */
type SimRight = "read" | "write" | "search";

const BIT: Readonly<Record<SimRight, number>> = { read: 0o400, write: 0o200, search: 0o100 };

/** The common part of a simulated disk's operations: its state, faults and descriptors, and the checks of a kernel. */
export class SimMachine {
  readonly options: SimDiskOptions;
  readonly state: SimState;
  readonly faults: SimFaults;
  readonly descriptors: SimDescriptors;
  readonly #view: SimPathView;

  constructor(options: SimDiskOptions, state: SimState) {
    this.options = options;
    this.state = state;
    this.faults = new SimFaults(options.onOperation, options.countsReads === true);
    this.descriptors = new SimDescriptors(options.mostDescriptors ?? 1024);
    this.#view = {
      state,
      nodeOfDescriptor: (fd) => this.descriptors.find(fd)?.node,
      checkSearch: (folder, path) => this.check(folder, "search", path),
    };
  }

  /** Resolves a path. Not counted as an operation, and also works on a stopped machine. */
  resolve(path: DiskPath, follow: FollowLast): SimPlace {
    return resolvePath(this.#view, path, follow);
  }

  /** Like `resolve`; returns `undefined` if a folder on the way is missing. */
  find(path: DiskPath, follow: FollowLast): SimPlace | undefined {
    return findPath(this.#view, path, follow);
  }

  /** Returns the node of a place; throws `ENOENT` if there is none. */
  existing(place: SimPlace, call: string, path: DiskPath): SimNode {
    if (place.node === 0) throw systemError("ENOENT", call, pathText(path));
    return this.state.node(place.node);
  }

  descriptor(fd: number, call: string): SimDescriptor {
    this.faults.checkRunning(call);
    const found = this.descriptors.find(fd);
    if (found === undefined) throw systemError("EBADF", call);
    return found;
  }

  /** Throws `EACCES` if permissions are enforced and the owner lacks this right. */
  check(node: SimNode, right: SimRight, path: string): void {
    if (this.options.enforceModes === true && (node.mode & BIT[right]) === 0) throw systemError("EACCES", right, path);
  }

  /** Throws unless names in the folder of this place may be changed. */
  checkFolderWritable(place: SimPlace, path: string): void {
    const folder = this.state.node(place.folder);
    this.check(folder, "write", path);
    this.check(folder, "search", path);
  }

  /** Returns the place for a new name; throws `EEXIST` if it is taken and `ENOENT` if its folder was removed. */
  newName(path: DiskPath, call: string): SimPlace {
    this.faults.checkRunning(call);
    const place = this.resolve(path, "new");
    if (place.node !== 0) throw systemError("EEXIST", call, pathText(path));
    if (this.state.node(place.folder).nlink === 0) throw systemError("ENOENT", call, pathText(path));
    this.checkFolderWritable(place, pathText(path));
    return place;
  }

  /** Makes a node with a name. */
  add(place: SimPlace, kind: NodeKind, mode: number): SimNode {
    this.tick();
    const node = this.state.make(kind, mode & 0o7777, this.state.node(place.folder).dev);
    this.state.changeNames([slotOf(place, node.id)]);
    return this.state.own(node.id);
  }

  /** Changes names as one operation. */
  change(...slots: NameSlot[]): void {
    this.tick();
    this.state.changeNames(slots);
  }

  /** Advances the time, as every change does. */
  tick(): void {
    this.state.clockNs = this.options.clock?.() ?? this.state.clockNs + 1000n;
  }

  statOf(node: SimNode): FileStat {
    return {
      kind: node.kind,
      mode: node.mode,
      size: node.kind === "symlink" ? node.target.length : node.file.size,
      mtimeNs: node.mtimeNs,
      ctimeNs: node.ctimeNs,
      ino: BigInt(node.id),
      dev: BigInt(node.dev),
      nlink: node.kind === "dir" ? node.nlink * 2 : node.nlink,
      uid: this.options.uid ?? 1000,
      gid: this.options.uid ?? 1000,
    };
  }
}

/** Returns the change that makes this place lead to `after` (0: to nothing). */
export function slotOf(place: SimPlace, after: number): NameSlot {
  return { folder: place.folder, name: place.name, before: place.node, after };
}

/** Returns a path for messages and plans; bytes that are not UTF-8 become U+FFFD. */
export function pathText(path: DiskPath): string {
  return typeof path === "string" ? path : path.toString("utf8");
}
