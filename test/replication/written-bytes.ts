import { createHash } from "node:crypto";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import type { OriginNode, ReplicaNode } from "../../src/testing/sync-nodes.ts";
import { filesOf } from "./folder-tree.ts";

type SimNode = OriginNode | ReplicaNode;

/** Files in this folder are made once; nobody changes or deletes them. */
export const LASTING = "lasting/";

/** What is found of contents at one moment, were the power of all machines to go: by the hashes of contents. */
interface Found {
  readonly named: ReadonlySet<string>;
  readonly inFolders: ReadonlyMap<SimNode, ReadonlySet<string>>;
}

/** What is looked at when a machine was put back. */
interface PutBackLook {
  readonly nodes: readonly SimNode[];
  /** What was in its folder: path → content. */
  readonly before: ReadonlyMap<string, string>;
  readonly isFolderAlone: boolean;
}

/**
 * What people have written, and where it has to be found. A content that somebody has put into a folder is in that folder, or some
 * log names it, until whoever works there takes it away himself. A content that a log names is named for ever. Only somebody who
 * puts a machine back to an earlier state may take more than that: what nobody else has then, is gone.
 */
export class WrittenBytes {
  /** The contents in each folder that people have put there, and not taken away: hash → where, and what it is. */
  readonly #folders = new Map<SimNode, Map<string, string>>();
  /** Is in a base, which is no line of a log. */
  readonly #based = new Set<string>();
  /** Files that nobody deletes: path → content. */
  readonly #lasting = new Map<string, string>();
  #named: ReadonlySet<string> = new Set();

  /** A machine begins with what is in its folder. */
  begun(node: SimNode): void {
    for (const text of filesOf(node.machine.disk).values()) this.#based.add(hashOf(text));
  }

  /** A machine is a copy of another one. */
  copied(node: SimNode): void {
    this.#folders.set(node, new Map(contentsOf(node.machine.disk)));
  }

  /** Somebody has changed a folder. */
  edited(node: SimNode, before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): void {
    const own = this.#folders.get(node) ?? new Map<string, string>();
    this.#folders.set(node, own);
    const there = new Set(after.values());
    for (const text of before.values()) if (!there.has(text)) own.delete(hashOf(text));
    for (const [path, text] of after) {
      if (before.get(path) === text) continue;
      own.set(hashOf(text), `${path}: ${text}`);
      if (path.startsWith(LASTING)) this.#lasting.set(path, text);
    }
  }

  /** An origin without a folder has said that it has this. */
  acknowledged(path: string, text: string): void {
    this.#named = new Set(this.#named).add(hashOf(text));
    if (path.startsWith(LASTING)) this.#lasting.set(path, text);
  }

  /** Throws where something is found no more. */
  check(nodes: readonly SimNode[]): void {
    const { named, inFolders } = findAll(nodes);
    for (const hash of this.#named) if (!named.has(hash)) throw new Error(`no log names ${hash} any more`);
    for (const [node, contents] of this.#folders) {
      for (const [hash, told] of contents) {
        if (named.has(hash) || this.#based.has(hash) || inFolders.get(node)?.has(hash) === true) continue;
        throw new Error(`lost, of machine ${nodes.indexOf(node)}: ${told}`);
      }
    }
    this.#named = named;
  }

  /**
   * Somebody has put a machine back: what only it had had since then is nobody's any more. `isFolderAlone`: what went from the folder
   * somebody has deleted there, as far as anybody can see.
   */
  putBack(node: SimNode, { nodes, before, isFolderAlone }: PutBackLook): void {
    const { named, inFolders } = findAll(nodes);
    this.#named = named;
    const here = inFolders.get(node) ?? new Set();
    for (const [hash] of this.#folders.get(node) ?? []) if (!here.has(hash)) this.#folders.get(node)?.delete(hash);
    const now = filesOf(seen(node));
    const folders = nodes.map((one) => filesOf(seen(one)));
    for (const [path, text] of this.#lasting) {
      const isTaken = isFolderAlone && before.has(path) && !now.has(path);
      const isFound = named.has(hashOf(text)) || folders.some((files) => files.has(path));
      if (isTaken || !isFound) this.#lasting.delete(path);
    }
  }

  /** The files that nobody has deleted: path → content. */
  get lasting(): ReadonlyMap<string, string> {
    return this.#lasting;
  }
}

function findAll(nodes: readonly SimNode[]): Found {
  const named = new Set<string>();
  const inFolders = new Map<SimNode, ReadonlySet<string>>();
  for (const node of nodes) {
    const disk = node.machine.copy("forget");
    for (const hash of namedIn(disk, "/store/workspaces")) named.add(hash);
    inFolders.set(node, new Set([...contentsOf(disk).keys(), ...contentsOf(seen(node)).keys()]));
  }
  return { named, inFolders };
}

/** The disk as programs saw it last: a machine without power cannot be asked, and its disk can be read all the same. */
function seen({ machine }: SimNode): SimDisk {
  return machine.disk.stopped ? machine.copy("keep") : machine.disk;
}

/** The contents that logs name, and what was moved away from them. */
function* namedIn(disk: SimDisk, folder: string): Generator<string> {
  for (const { name, kind } of disk.list(folder)) {
    const path = `${folder}/${name.toString()}`;
    if (kind === "dir") yield* namedIn(disk, path);
    else if (path.endsWith(".wal") || path.includes("/quarantine/")) {
      const text = disk.content(path)?.toString() ?? "";
      for (const [, hash] of text.matchAll(/"hash":"([0-9a-f]{64})"/g)) yield hash ?? "";
    }
  }
}

function contentsOf(disk: SimDisk): Map<string, string> {
  return new Map([...filesOf(disk)].map(([path, text]) => [hashOf(text), `${path}: ${text}`]));
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
