import type { Entry } from "../values/entry.ts";
import type { Hash } from "../values/hash.ts";
import { folderHash, workspaceRoot, type TreeChild } from "./merkle.ts";
import { compareNames, parentOf, pathInRoot, ROOT, type WorkspacePath } from "../values/path.ts";

/**
 * A path in the tree. If the entry of a folder is removed, the node keeps its children. These children do not count for
 * the root until the folder has an entry again.
 */
interface Node {
  entry: Pick<Entry, "kind" | "mode" | "hash"> | undefined;
  /** The number of the iteration of `entry`; 0 if unknown. */
  iteration: number;
  children: Map<string, Node> | undefined;
  /** The folder's hash; `undefined` if something beneath the folder has changed since the hash was computed. */
  treeHash: Hash | undefined;
}

function newNode(): Node {
  return { entry: undefined, iteration: 0, children: undefined, treeHash: undefined };
}

/**
 * The present state of a workspace, as a tree that computes the Merkle root. After a change, only the folders on the
 * changed path are hashed again, and only when the root is requested. The tree knows the number of the last iteration
 * of each path, but no earlier states.
 */
export class LiveTree {
  readonly #root = newNode();
  readonly #gone = new Map<WorkspacePath, number>();

  /** Sets the next state of a path; `undefined` removes the path. `iteration` is the number of that state. */
  set(path: WorkspacePath, entry: Entry | undefined, iteration = 0): void {
    const parts = path.split("/");
    const way: Node[] = [this.#root];
    let node = this.#root;
    for (const part of parts) {
      node.treeHash = undefined;
      node.children ??= new Map();
      let child = node.children.get(part);
      if (child === undefined) node.children.set(part, (child = newNode()));
      node = child;
      way.push(node);
    }
    node.treeHash = undefined;
    node.entry = entry === undefined ? undefined : { kind: entry.kind, mode: entry.mode, hash: entry.hash };
    node.iteration = iteration;
    if (entry === undefined) this.#gone.set(path, iteration);
    else if (this.#gone.size > 0) this.#gone.delete(path);
    prune(way, parts);
  }

  /** Returns the number of a path's last iteration, as given to `set`; `undefined` if the path was never set. */
  iterationOf(path: WorkspacePath): number | undefined {
    const node = this.#node(path);
    return node?.entry === undefined ? this.#gone.get(path) : node.iteration;
  }

  /**
   * Returns the reason why the state of a path contradicts the states around it; `undefined` if there is no
   * contradiction. An existing path must be in an existing folder, and only a folder may have existing paths beneath
   * it.
   */
  misplaced(path: WorkspacePath): string | undefined {
    const node = this.#node(path);
    if (node === undefined) return undefined;
    const folder = parentOf(path);
    const isThere = node.entry !== undefined;
    if (isThere && !isRootFolder(folder) && this.#node(folder)?.entry?.kind !== "dir") return "its folder is not there";
    const isHolding = node.entry?.kind !== "dir" && (node.children?.size ?? 0) > 0;
    return isHolding ? `it is ${node.entry?.kind ?? "gone"}, but something beneath it is there` : undefined;
  }

  #node(path: WorkspacePath): Node | undefined {
    let node: Node | undefined = this.#root;
    for (const part of path.split("/")) node = node?.children?.get(part);
    return node;
  }

  /** Returns the workspace's Merkle root. `furtherRoots` has the ids of all tracked roots after the first. */
  root(furtherRoots: readonly string[] = []): Hash {
    const further = furtherRoots.map((id) => ({ id, hash: hashOf(this.#child(pathInRoot(id, ROOT))) }));
    return workspaceRoot(hashOf(this.#root), further);
  }

  /**
   * Computes the hashes of the changed folders. Yields once for about every `step` names, so that the caller can do
   * other work in between. When the generator ends, the root is known, unless a path was set in the meantime.
   */
  *computing(step: number): Generator<void, void> {
    let left = step;
    for (const folder of changedFolders(this.#root)) {
      left -= (folder.children?.size ?? 0) + 1;
      hashOf(folder);
      if (left > 0) continue;
      left = step;
      yield;
    }
  }

  /**
   * Returns the hash of a folder or of a further root (`pathInRoot(id, ROOT)`); `undefined` if there is no such folder.
   */
  folderHash(path: WorkspacePath): Hash | undefined {
    const node = path === ROOT ? this.#root : this.#node(path);
    if (isRootFolder(path)) return hashOf(node ?? newNode());
    return node?.entry?.kind === "dir" ? hashOf(node) : undefined;
  }

  #child(name: string): Node {
    return this.#root.children?.get(name) ?? newNode();
  }
}

/** Returns true for the folder of a tracked root, which has no entry of its own. */
function isRootFolder(path: WorkspacePath): boolean {
  return path === ROOT || (path.startsWith("\0") && !path.includes("/"));
}

function prune(way: readonly Node[], parts: readonly string[]): void {
  for (let depth = parts.length; depth > 0; depth -= 1) {
    const node = way[depth];
    if (node === undefined || node.entry !== undefined || (node.children?.size ?? 0) > 0) return;
    way[depth - 1]?.children?.delete(parts[depth - 1] ?? "");
  }
}

/** Yields the folders whose hashes are unknown, each after the folders in it. */
function* changedFolders(folder: Node): Generator<Node, void> {
  if (folder.treeHash !== undefined) return;
  for (const child of folder.children?.values() ?? []) if (child.children !== undefined) yield* changedFolders(child);
  yield folder;
}

function hashOf(folder: Node): Hash {
  if (folder.treeHash !== undefined) return folder.treeHash;
  const children: TreeChild[] = [];
  for (const [name, node] of folder.children ?? []) {
    const { entry } = node;
    // Names with a NUL are further tracked roots. Such roots are not children of the first root.
    if (entry === undefined || name.startsWith("\0")) continue;
    children.push({ name, kind: entry.kind, mode: entry.mode, hash: entry.hash ?? hashOf(node) });
  }
  children.sort((a, b) => compareNames(a.name, b.name));
  folder.treeHash = folderHash(children);
  return folder.treeHash;
}
