import type { NodeKind } from "../../disk/disk.ts";
import { emptyFile, type SimFile } from "./sim-file.ts";

/** One file, folder, link or special file of a simulated disk, whatever its names are. */
export interface SimNode {
  readonly id: number;
  readonly kind: NodeKind;
  readonly dev: number;
  /** Only the state with this token may change the record in place; others take a copy first. */
  owner: object;
  mode: number;
  mtimeNs: bigint;
  ctimeNs: bigint;
  /** How many names lead here. */
  nlink: number;
  /** Descriptors that are open. */
  open: number;
  /** What `mode` and `mtimeNs` are after a crash that spares nothing. */
  savedMode: number;
  savedMtimeNs: bigint;
  /** A folder's names, as text with one character a byte, and the nodes they lead to. */
  names: Map<string, number>;
  /** The folder that holds a folder. */
  parent: number;
  /** A file's content. */
  file: SimFile;
  /** Where a symbolic link leads. */
  target: Buffer;
  /** Bytes of the disk's budget that this node takes. */
  charged: number;
}

/** One name that an operation changed: the node it led to before and after; 0 for none. */
export interface NameSlot {
  readonly folder: number;
  readonly name: string;
  readonly before: number;
  readonly after: number;
}

/** One operation on names, whole or not at all: two slots for a rename, one for anything else. */
export type NameChange = readonly NameSlot[];

export const ROOT = 1;

const NO_NAMES: Map<string, number> = new Map();
const NO_TARGET = Buffer.alloc(0);
const NO_FILE = emptyFile();

/**
 * Everything that a simulated disk holds. Forking copies one map; nodes are copied when one side first changes them.
 */
export class SimState {
  nodes = new Map<number, SimNode>();
  /** Changes of names that no `syncFolder` has made durable yet, oldest first. */
  pendingNames: NameChange[] = [];
  /** Those of them that a sync has failed to make durable: no later one does, but with a later change of the same name. */
  lostNames = new Set<NameChange>();
  usedBytes = 0;
  clockNs = 1_700_000_000_000_000_000n;
  #nextId = ROOT;
  /** Nodes that nothing leads to, but that a crash could bring back while names are pending. */
  #unused = new Set<number>();
  #token: object = {};

  /** Who may change shared bytes in place: this state, until it is forked. */
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

  /** A node, for reading. */
  node(id: number): SimNode {
    const node = this.nodes.get(id);
    if (node === undefined) throw new Error(`The simulated disk has no node ${id}.`);
    return node;
  }

  /** A node, for changing it. Records read before may be stale afterwards. */
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

  /** Charges `bytes` more (or fewer) of the budget to a node. */
  charge(node: SimNode, bytes: number): void {
    const charged = Math.max(0, node.charged + bytes);
    this.usedBytes += charged - node.charged;
    node.charged = charged;
  }

  /** Gives back what a node took once no name and no descriptor leads to it. */
  releaseUnused(node: SimNode): void {
    if (node.nlink > 0 || node.open > 0) return;
    this.charge(node, -node.charged);
    this.#unused.add(node.id);
  }

  /**
   * Makes the names in a folder durable, or only the first `count` of its pending changes. A change drags along what it
   * rests on: earlier changes of the same names, in other folders too.
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

  /** How many changes of names in a folder are pending. */
  pendingOf(folder: number): number {
    return this.#pendingIn(folder).length;
  }

  /** A sync of a folder failed: what was changed in it may or may not reach the disk, and no later sync will say so. */
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

/** Names one name of one folder. */
export function slotKey(slot: NameSlot): string {
  return `${slot.folder}/${slot.name}`;
}
