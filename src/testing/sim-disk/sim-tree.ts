import { createHash } from "node:crypto";
import type { NodeKind } from "../../disk/disk.ts";
import { contentOf, durableFile } from "./sim-file.ts";
import { ROOT, type SimNode, type SimState } from "./sim-state.ts";

/**
 * An item at one path of a tree: a file (its content, or an object with content, mode and time), a link, a folder or a
 * FIFO.
 */
type SimTreeItem =
  | string
  | Uint8Array
  | { readonly content: string | Uint8Array; readonly mode?: number; readonly mtimeMs?: number }
  | { readonly symlink: string | Uint8Array }
  | { readonly folder: number }
  | { readonly special: number };

/**
 * Absolute paths and their items. Parents are made with mode 0o755, and files have 0o644 by default. The number of a
 * folder or a FIFO is its mode.
 */
export type SimTree = Readonly<Record<string, SimTreeItem>>;

/** Puts a tree on a disk, durably. */
export function plantTree(state: SimState, tree: SimTree): void {
  for (const [path, item] of Object.entries(tree)) {
    const names = Buffer.from(path, "utf8").toString("latin1").split("/");
    const components = names.filter((name) => name !== "");
    const last = components.pop();
    if (last === undefined) throw new Error(`The tree's path '${path}' names nothing.`);
    plantItem(state, folderAt(state, components), last, item);
  }
}

/** Makes the missing folders of a path, durably. Returns the id of the last one. */
export function folderAt(state: SimState, components: readonly string[]): number {
  let at = ROOT;
  for (const name of components) {
    at = state.node(at).names.get(name) ?? plantNode(state, at, name, { kind: "dir", mode: 0o755 }).id;
  }
  return at;
}

/** Adds a node with a name, durably. */
export function plantNode(
  state: SimState,
  folder: number,
  name: string,
  { kind, mode, dev }: { readonly kind: NodeKind; readonly mode: number; readonly dev?: number },
): SimNode {
  const node = state.make(kind, mode, dev ?? state.node(folder).dev);
  state.changeNames([{ folder, name, before: 0, after: node.id }]);
  state.saveNames(folder);
  const parent = state.own(folder);
  parent.savedMtimeNs = parent.mtimeNs;
  return state.own(node.id);
}

function plantItem(state: SimState, folder: number, name: string, item: SimTreeItem): void {
  if (typeof item === "string" || item instanceof Uint8Array) return plantItem(state, folder, name, { content: item });
  if ("folder" in item) {
    const known = state.node(folder).names.get(name);
    const node =
      known === undefined ? plantNode(state, folder, name, { kind: "dir", mode: item.folder }) : state.own(known);
    node.mode = node.savedMode = item.folder;
  } else if ("symlink" in item) {
    plantNode(state, folder, name, { kind: "symlink", mode: 0o777 }).target = Buffer.from(item.symlink);
  } else if ("special" in item) {
    plantNode(state, folder, name, { kind: "special", mode: item.special });
  } else {
    const node = plantNode(state, folder, name, { kind: "file", mode: item.mode ?? 0o644 });
    node.file = durableFile(Buffer.from(item.content));
    state.charge(node, node.file.size);
    if (item.mtimeMs !== undefined) node.mtimeNs = node.savedMtimeNs = BigInt(item.mtimeMs) * 1_000_000n;
  }
}

/** Returns the names on the path from the root to a node. If a file has several names, returns one of these paths. */
export function namesTo(state: SimState, id: number): string[] {
  if (id === ROOT) return [];
  for (const folder of state.nodes.values()) {
    if (folder.nlink === 0) continue;
    for (const [name, child] of folder.names) if (child === id) return [...namesTo(state, folder.id), name];
  }
  throw new Error(`Nothing leads to node ${id} of the simulated disk.`);
}

/**
 * Returns everything below a folder, sorted by path: `file 644 1 12 <sha256>` (links, size), `dir 755`, `symlink ->
 * target`.
 */
export function dumpTree(state: SimState, from: number): Readonly<Record<string, string>> {
  const lines: [string, string][] = [];
  const visit = (folder: number, prefix: string): void => {
    for (const [name, id] of state.node(folder).names) {
      const path = prefix + Buffer.from(name, "latin1").toString("utf8");
      const node = state.node(id);
      lines.push([path, describe(node)]);
      if (node.kind === "dir") visit(id, `${path}/`);
    }
  };
  visit(from, "");
  return Object.fromEntries(lines.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function describe(node: SimNode): string {
  const mode = node.mode.toString(8);
  if (node.kind === "symlink") return `symlink -> ${node.target.toString("utf8")}`;
  if (node.kind !== "file") return `${node.kind} ${mode}`;
  const hash = createHash("sha256").update(contentOf(node.file)).digest("hex");
  return `file ${mode} ${node.nlink} ${node.file.size} ${hash}`;
}
