import type { ActionRequest } from "../../src/api/action-api.ts";
import { onDisk, type ModelRoot } from "./model-roots.ts";
import type { Begin } from "./model-steps.ts";
import type { Touch, Tree } from "./model-tree.ts";
import type { Step } from "./model-undo.ts";

/** Requests to the engine, computed from the steps of a script. */

export function actorOf(who: number): string {
  return who === 0 ? "ann" : "bob";
}

export function sessionOf(who: number): string {
  return `s-${actorOf(who)}`;
}

/** Returns the request that begins an action. */
export function requestOf(roots: readonly ModelRoot[], what: Begin): ActionRequest {
  const { type, who, turn, depth, owned } = what;
  const [path, to] = [named(roots, what.path), named(roots, what.to)];
  const isCommand = type === "run_command" || type === "rm";
  const command = type === "rm" ? `rm -rf ${path}` : "make";
  const several = type.startsWith("move") || type === "copy_file";
  return {
    type: isCommand ? "run_command" : type,
    payload: isCommand ? { command } : several ? { source: path, destination: to } : { path },
    actor: actorOf(who),
    session: sessionOf(who),
    turn: `t-${actorOf(who)}-${turn}`,
    depth,
    ...(owned ? {} : { pid: null }),
  };
}

/** Returns a path as a tool names it: relative in the first root, absolute in every other one. */
function named(roots: readonly ModelRoot[], path: string): string {
  return path.startsWith("@") ? onDisk(roots, path) : path;
}

/**
 * How a tool changes the paths that its action declares, by the type of the action. Types that are not listed edit
 * them.
 */
export const HOW: Readonly<Record<string, Touch["how"]>> = {
  delete_file: "remove",
  delete_directory: "remove",
  create_directory: "folder",
};

/** Returns the scope and the paths that a request declares. */
export function targetsOf({ type, path, to }: Begin): {
  readonly scope: "paths" | "workspace";
  readonly paths: readonly string[];
} {
  if (type === "run_command") return { scope: "workspace", paths: [] };
  if (type === "rm" || type === "some_tool") return { scope: "workspace", paths: [path] };
  if (type === "copy_file") return { scope: "paths", paths: [to] };
  return { scope: "paths", paths: type.startsWith("move") ? [path, to] : [path] };
}

/** Resolves links among the folders of a path, if they lead to a folder of the tree. */
export function realPath(tree: Tree, path: string): string {
  const names = path.split("/");
  for (let i = 1; i < names.length; i += 1) {
    const target = [...names.slice(0, i - 1), tree.get(names.slice(0, i).join("/"))?.replace(/^-> /, "")].join("/");
    if (tree.get(target) === "dir") return realPath(tree, [target, ...names.slice(i)].join("/"));
  }
  return path;
}

/** Returns the paths of these steps whose state after the last step differs from that before the first, sorted. */
export function netPaths(steps: readonly Step[]): string[] {
  const paths = [...new Set(steps.map((step) => step.path))];
  return paths
    .filter((path) => {
      const own = steps.filter((step) => step.path === path);
      return own[0]?.before !== own.at(-1)?.after;
    })
    .sort();
}

/** Chooses an item: 0 is the last one, 1 the one before. Returns `undefined` if there are none. */
export function pickOf<T>(all: readonly T[], pick: number): T | undefined {
  return all[all.length - 1 - (pick % Math.max(1, all.length))];
}

/** True if a path is the folder itself, or in it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
