import { displayPath, type WorkspacePath } from "../../src/core/values/path.ts";

/**
 * The tracked roots of a history. The model names paths as people do: those of a further root begin with `@<id>:`, which
 * has no `/`, so that each root is a tree of its own.
 */
export interface ModelRoot {
  /** `""` for the first one. */
  readonly id: string;
  readonly folder: string;
  /** The one file that is tracked in the folder. */
  readonly only?: string;
}

/** A folder; a folder and a file; two folders and a file; a file and a folder. */
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

/** What a caller names a root by. */
export function givenRoot({ folder, only }: ModelRoot): string {
  return only === undefined ? folder : `${folder}/${only}`;
}

/** A path on the disk. */
export function onDisk(roots: readonly ModelRoot[], path: string): string {
  const id = /^@([a-z]+):/.exec(path)?.[1] ?? "";
  const root = roots.find((one) => one.id === id);
  if (root === undefined) throw new Error(`no root has ${path}`);
  return `${root.folder}/${id === "" ? path : path.slice(id.length + 2)}`;
}

/** The folder of the root in which a path lies. */
export function folderOf(roots: readonly ModelRoot[], path: string): string {
  const id = /^@([a-z]+):/.exec(path)?.[1] ?? "";
  return roots.find((one) => one.id === id)?.folder ?? "";
}

/** A path of a root, as the model names it. */
export function inRoot({ id }: ModelRoot, inner: string): string {
  return id === "" ? inner : `@${id}:${inner}`;
}

/** A path of the log, as the model names it. */
export function shown(path: WorkspacePath): WorkspacePath {
  return displayPath(path) as WorkspacePath;
}

/** What a script says of a path (`1>d/x`: in the second root), as a path of these roots. */
function placed(roots: readonly ModelRoot[], text: string): string {
  const [, at = "0", path = ""] = /^(?:(\d)>)?(.*)$/s.exec(text) ?? [];
  const root = roots[Number(at) % roots.length];
  if (root === undefined) return path;
  // All that can be in the place of a single file: also a folder, with something in it.
  return inRoot(root, root.only === undefined ? path : path.endsWith("/z") ? `${root.only}/z` : root.only);
}

/** A script with its paths in these roots. */
export function placedIn<T>(roots: readonly ModelRoot[], script: T): T {
  const isPath = (key: string): boolean => key === "path" || key === "to";
  const text = JSON.stringify(script, (key, value: unknown) =>
    isPath(key) && typeof value === "string" ? placed(roots, value) : value,
  );
  return JSON.parse(text) as T;
}
