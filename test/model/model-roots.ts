import { displayPath, type WorkspacePath } from "../../src/core/values/path.ts";

/**
 * A tracked root of a history. The model names paths as people do. A path of a further root begins with `@<id>:`. This
 * prefix has no `/`, so each root is a tree of its own.
 */
export interface ModelRoot {
  /** The id of the root. `""` for the first one. */
  readonly id: string;
  readonly folder: string;
  /** If the root is a single file: its name in the folder. No other file of the folder is tracked then. */
  readonly only?: string;
}

/** The sets of roots that histories are played in. */
export const LAYOUTS: Readonly<Record<string, readonly ModelRoot[]>> = {
  one: [{ id: "", folder: "/proj" }],
  two: [
    { id: "", folder: "/proj" },
    { id: "two", folder: "/two" },
  ],
  three: [
    { id: "", folder: "/proj" },
    { id: "c", folder: "/single", only: "c" },
    { id: "two", folder: "/two" },
  ],
  file: [
    { id: "", folder: "/proj", only: "shared" },
    { id: "two", folder: "/two" },
  ],
};

/** Returns the path that a caller gives for a root. */
export function givenRoot({ folder, only }: ModelRoot): string {
  return only === undefined ? folder : `${folder}/${only}`;
}

/** Returns where a path of the model lies on the disk. */
export function onDisk(roots: readonly ModelRoot[], path: string): string {
  const id = /^@([a-z]+):/.exec(path)?.[1] ?? "";
  const root = roots.find((one) => one.id === id);
  if (root === undefined) throw new Error(`no root has ${path}`);
  return `${root.folder}/${id === "" ? path : path.slice(id.length + 2)}`;
}

/** Returns the folder of the root in which a path of the model lies. */
export function folderOf(roots: readonly ModelRoot[], path: string): string {
  const id = /^@([a-z]+):/.exec(path)?.[1] ?? "";
  return roots.find((one) => one.id === id)?.folder ?? "";
}

/** Returns the model's name of a path of a root. */
export function inRoot({ id }: ModelRoot, inner: string): string {
  return id === "" ? inner : `@${id}:${inner}`;
}

/** Returns the model's name of a path of the log. */
export function shown(path: WorkspacePath): WorkspacePath {
  return displayPath(path) as WorkspacePath;
}

/**
 * Returns the path that a script means in these roots. `1>d/x` is `d/x` in the second root. Roots are counted modulo
 * their number.
 */
function placed(roots: readonly ModelRoot[], text: string): string {
  const [, at = "0", path = ""] = /^(?:(\d)>)?(.*)$/s.exec(text) ?? [];
  const root = roots[Number(at) % roots.length];
  if (root === undefined) return path;
  // In a root that is a single file, every path means that file, or something in a folder in its place.
  return inRoot(root, root.only === undefined ? path : path.endsWith("/z") ? `${root.only}/z` : root.only);
}

/** Returns a script with all paths replaced by the paths that they mean in these roots (see `placed`). */
export function placedIn<T>(roots: readonly ModelRoot[], script: T): T {
  const isPath = (key: string): boolean => key === "path" || key === "to";
  const text = JSON.stringify(script, (key, value: unknown) =>
    isPath(key) && typeof value === "string" ? placed(roots, value) : value,
  );
  return JSON.parse(text) as T;
}
