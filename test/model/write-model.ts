import { sha256 } from "../../src/core/values/hash.ts";

/** The state of a path in the model. */
export interface Held {
  readonly kind: "file" | "dir";
  readonly text: string;
  readonly mode: number;
}

export type Tree = ReadonlyMap<string, Held>;

/** A write that the model computes. `ifMatch`: the condition of the write. */
export type ModelWrite =
  | {
      readonly kind: "put";
      readonly path: string;
      readonly text: string;
      readonly mode?: number;
      readonly ifMatch?: string;
    }
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "delete"; readonly path: string; readonly ifMatch?: string }
  | { readonly kind: "move"; readonly path: string; readonly to: string; readonly overwrite: boolean };

/** The tree after a write and the number of paths that it changed, or the code of the error that refuses the write. */
export type Expected = { readonly tree: Tree; readonly changed: number } | { readonly code: string };

const FOLDER: Held = { kind: "dir", text: "", mode: 0o755 };

/** Computes what a write must do, by the plainest possible rules. */
export function expectedOf(tree: Tree, write: ModelWrite): Expected {
  const present = tree.get(write.path);
  const condition = write.kind === "put" || write.kind === "delete" ? write.ifMatch : undefined;
  if (condition !== undefined && !holds(condition, present)) return { code: "PRECONDITION_FAILED" };
  switch (write.kind) {
    case "put": {
      if (present?.kind === "dir") return { code: "REFUSED" };
      return grown(tree, write.path, { kind: "file", text: write.text, mode: write.mode ?? present?.mode ?? 0o644 });
    }
    case "folder":
      if (present?.kind === "file") return { code: "REFUSED" };
      return grown(tree, write.path, present ?? FOLDER);
    case "delete": {
      if (present === undefined) return { code: "NOT_FOUND" };
      return ended(tree, new Map([...tree].filter(([path]) => !isIn(path, write.path))));
    }
    case "move":
      return moved(tree, write);
  }
}

/**
 * True if the condition holds: `none` for an absent path, `*` for a present one, or the SHA-256 of the content (`""`
 * for a folder).
 */
function holds(condition: string, present: Held | undefined): boolean {
  if (condition === "none") return present === undefined;
  if (present === undefined) return false;
  return condition === "*" || condition === (present.kind === "dir" ? "" : sha256(present.text));
}

function moved(tree: Tree, { path, to, overwrite }: Extract<ModelWrite, { kind: "move" }>): Expected {
  if (!tree.has(path)) return { code: "NOT_FOUND" };
  if (to === path) return { tree, changed: 0 };
  const inTheWay = tree.get(to);
  if (isIn(to, path) || inTheWay?.kind === "dir" || (inTheWay !== undefined && !overwrite)) return { code: "REFUSED" };
  const folders = withFolders(tree, to);
  if (folders === undefined) return { code: "REFUSED" };
  const next = new Map([...folders].filter(([one]) => !isIn(one, path)));
  for (const [one, held] of tree) if (isIn(one, path)) next.set(to + one.slice(path.length), held);
  return ended(tree, next);
}

function grown(tree: Tree, path: string, held: Held): Expected {
  const folders = withFolders(tree, path);
  return folders === undefined ? { code: "REFUSED" } : ended(tree, new Map([...folders, [path, held]]));
}

/** Returns the tree with all folders above a path. `undefined` if a file is in the place of one. */
function withFolders(tree: Tree, path: string): Map<string, Held> | undefined {
  const next = new Map(tree);
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) {
    const folder = path.slice(0, at);
    if (next.get(folder)?.kind === "file") return undefined;
    if (!next.has(folder)) next.set(folder, FOLDER);
  }
  return next;
}

function ended(before: Tree, tree: Tree): Expected {
  const paths = new Set([...before.keys(), ...tree.keys()]);
  const changed = [...paths].filter((path) => textOf(before.get(path)) !== textOf(tree.get(path))).length;
  return { tree, changed };
}

/** Returns the state of a path as text, for comparisons. `""` if it is absent. */
export function textOf(held: Held | undefined): string {
  return held === undefined ? "" : `${held.kind} ${held.mode.toString(8)} ${held.text}`;
}

/** True if the path is the folder itself, or in it. */
function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
