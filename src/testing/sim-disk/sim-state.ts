import type { NodeKind } from "../../disk/disk.ts";
import { emptyFile, type SimFile } from "./sim-file.ts";

/** One file, folder, link or special file of a simulated disk, independent of its names. */
export interface SimNode {
  readonly id: number;
  readonly kind: NodeKind;
  readonly dev: number;
  /** Only the state with this token may change the record in place; others copy it first. */
  owner: object;
  mode: number;
  mtimeNs: bigint;
  ctimeNs: bigint;
  /** Number of names that lead here. */
  nlink: number;
  /** Number of open descriptors. */
  open: number;
  /** The values of `mode` and `mtimeNs` after a crash that loses everything unsynced. */
  savedMode: number;
  savedMtimeNs: bigint;
  /** A folder's names, as text with one character per byte, and their nodes. */
  names: Map<string, number>;
  /** A folder's parent. */
  parent: number;
  /** A file's content. */
  file: SimFile;
  /** The target of a symbolic link. */
  target: Buffer;
  /** Bytes of the disk's budget that this node uses. */
  charged: number;
}

/** One name that an operation changed, with its node before and after; 0 for none. */
export interface NameSlot {
  readonly folder: number;
  readonly name: string;
  readonly before: number;
  readonly after: number;
}

/** One atomic operation on names: two slots for a rename, one for any other. */
export type NameChange = readonly NameSlot[];

export const ROOT = 1;

const NO_NAMES: Map<string, number> = new Map();
const NO_TARGET = Buffer.alloc(0);
const NO_FILE = emptyFile();

/** The whole state of a simulated disk. Forking copies one map; nodes are copied when one side first changes them. */
export class SimState {
  nodes = new Map<number, SimNode>();
  /** Changes of names that no `syncFolder` has made durable yet, oldest first. */
  pendingNames: NameChange[] = [];
  /**
   * The changes of `pendingNames` that a failed sync has lost. A later sync makes such a change durable only together
   * with a later change of the same name.
   */
  lostNames = new Set<NameChange>();
  usedBytes = 0;
  clockNs = 1_700_000_000_000_000_000n;
  #nextId = ROOT;
  /** Nodes without names and descriptors. A crash could bring them back while changes of names are pending. */
  #unused = new Set<number>();
  #token: object = {};

  /** The token that permits changing shared bytes in place. This state holds it until it is forked. */
  get token(): object {
    return this.#token;
  }

  fork(): SimState {
    const twin = new SimState();
    twin.nodes = new Map(this.nodes);
    twin.pendingNames = [...this.pendingNames];
    twin.lostNames = new Set(this.lostNames);
    twin.usedBytes = this.usedBytes;
    twin.clockNs = this.clockNs;
    twin.#nextId = this.#nextId;
    twin.#unused = new Set(this.#unused);
    this.#token = {};
    return twin;
  }

  /** Returns a node for reading. */
  node(id: number): SimNode {
    const node = this.nodes.get(id);
    if (node === undefined) throw new Error(`The simulated disk has no node ${id}.`);
    return node;
  }

  /**
   * Returns a node for changing it, copied if it was shared. A node that was read before may be outdated afterwards.
   */
  own(id: number): SimNode {
    const node = this.node(id);
    if (node.owner === this.#token) return node;
    const copy: SimNode = { ...node, owner: this.#token };
    if (node.kind === "dir") copy.names = new Map(node.names);
    if (node.kind === "file") copy.file = { ...node.file, pending: [...node.file.pending] };
    this.nodes.set(id, copy);
    return copy;
  }

  /** Makes a node that has no name yet. */
  make(kind: NodeKind, mode: number, dev: number): SimNode {
    const id = this.#nextId++;
    const times = { mtimeNs: this.clockNs, ctimeNs: this.clockNs, savedMtimeNs: this.clockNs };
    const counts = { nlink: 0, open: 0, parent: 0, charged: 0 };
    const names = kind === "dir" ? new Map<string, number>() : NO_NAMES;
    const file = kind === "file" ? emptyFile() : NO_FILE;
    const owner = this.#token;
    const node = { id, kind, dev, owner, mode, savedMode: mode, ...times, ...counts, names, file, target: NO_TARGET };
    this.nodes.set(id, node);
    return node;
  }

  /** Changes names, as one operation that is not durable yet. */
  changeNames(change: NameChange): void {
    for (const slot of change) {
      const folder = this.own(slot.folder);
      folder.mtimeNs = folder.ctimeNs = this.clockNs;
      if (slot.after === 0) folder.names.delete(slot.name);
      else folder.names.set(slot.name, slot.after);
      if (slot.after !== 0) this.#gainName(slot.after, slot.folder);
    }
    for (const slot of change) if (slot.before !== 0) this.#loseName(slot.before);
    this.pendingNames.push(change);
  }

  /** Charges `bytes` of the budget to a node. A negative number releases them. */
  charge(node: SimNode, bytes: number): void {
    const charged = Math.max(0, node.charged + bytes);
    this.usedBytes += charged - node.charged;
    node.charged = charged;
  }

  /** Releases a node's budget once no name and no descriptor leads to it. */
  releaseUnused(node: SimNode): void {
    if (node.nlink > 0 || node.open > 0) return;
    this.charge(node, -node.charged);
    this.#unused.add(node.id);
  }

  /**
   * Makes the names in a folder durable, or only the first `count` of its pending changes. With a change, also makes
   * durable the changes on which it depends: earlier changes of the same names, even in other folders.
   */
  saveNames(folder: number, count = Number.POSITIVE_INFINITY): void {
    const own = this.#pendingIn(folder).filter((change) => !this.lostNames.has(change));
    const wanted = new Set(own.slice(0, count));
    if (wanted.size === 0) return;
    const slots = new Set<string>();
    for (const change of this.pendingNames.toReversed()) {
      if (!wanted.has(change) && !change.some((slot) => slots.has(slotKey(slot)))) continue;
      wanted.add(change);
      for (const slot of change) slots.add(slotKey(slot));
    }
    this.pendingNames = this.pendingNames.filter((change) => !wanted.has(change));
    for (const change of wanted) this.lostNames.delete(change);
    if (this.pendingNames.length === 0) this.#forgetUnused();
  }

  /** Returns the number of pending changes of names in a folder. */
  pendingOf(folder: number): number {
    return this.#pendingIn(folder).length;
  }

  /**
   * Marks the changes of a folder's names as lost after a failed sync. They may or may not reach the disk, and no later
   * sync reports that.
   */
  loseNames(folder: number): void {
    for (const change of this.#pendingIn(folder)) this.lostNames.add(change);
  }

  #pendingIn(folder: number): NameChange[] {
    return this.pendingNames.filter((change) => change.some((slot) => slot.folder === folder));
  }

  #gainName(id: number, folder: number): void {
    const node = this.own(id);
    node.nlink++;
    node.ctimeNs = this.clockNs;
    if (node.kind === "dir") node.parent = folder;
  }

  #loseName(id: number): void {
    const node = this.own(id);
    node.nlink--;
    node.ctimeNs = this.clockNs;
    this.releaseUnused(node);
  }

  #forgetUnused(): void {
    for (const id of this.#unused) {
      const node = this.nodes.get(id);
      if (node !== undefined && node.nlink === 0 && node.open === 0) this.nodes.delete(id);
    }
    this.#unused.clear();
  }
}

/** Returns a key for one name of one folder. */
export function slotKey(slot: NameSlot): string {
  return `${slot.folder}/${slot.name}`;
}
