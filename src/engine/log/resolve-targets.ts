import { posix } from "node:path";
import { sortTargets, type ActionTargets, type Target } from "../../core/records/action-targets.ts";
import { splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import type { Context } from "./context.ts";

type Touched = Exclude<ActionTargets, { readonly kind: "none" }>;

/**
 * Resolves the targets that a tool names to what it would reach. Links on the way are resolved; a link at the end also
 * adds its target. So a workspace that is named through a link is still recognised, and so is a link in it that leads
 * out. A link that is exchanged after this leads nowhere: files to keep are opened without following links.
 */
export function resolveTargets(context: Context, targets: Touched): Touched {
  const { roots } = context.worktree;
  const deep = new Set(targets.outsideDeep);
  const named: Target[] = [
    ...targets.paths.map((path) => ({ path: absoluteOf(context, path), deep: false })),
    ...targets.outside.map((path) => ({ path, deep: deep.has(path) })),
  ];
  const reached = named.map((one) => ({ one, real: context.outside.resolve(one.path) }));
  if (reached.every(({ one, real }) => real.name === one.path && real.end === one.path)) return targets;
  const all = reached.flatMap(({ one, real }): Target[] => {
    const target = { path: real.name, deep: one.deep };
    return real.end === real.name ? [target] : [target, { path: real.end, deep: false }];
  });
  const { wholeWorkspace, ...sorted } = sortTargets(all, { roots });
  const swept = [...(targets.swept ?? []), ...(sorted.swept ?? [])];
  return { kind: wholeWorkspace ? "workspace" : targets.kind, ...sorted, ...(swept.length === 0 ? {} : { swept }) };
}

/** Returns the absolute path of a path of the workspace. */
export function absoluteOf({ worktree }: Context, path: WorkspacePath): string {
  const { root, path: inner } = splitRoot(path);
  const folder = worktree.roots.find((one) => one.id === root)?.folder ?? "/";
  return posix.join(folder, inner);
}
