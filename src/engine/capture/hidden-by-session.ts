import type { FilterSpec } from "../../core/filter/filter.ts";
import { explainPath } from "../../core/filter/ignore.ts";
import type { OmittedChange } from "../../core/records/omitted-change.ts";
import { nameOf, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import type { Capture } from "./capture.ts";
import type { Context } from "../log/context.ts";
import { isDerived } from "../log/database-units.ts";
import type { OmittedPaths } from "../facts/omitted-changes.ts";

/** The known state before a session. */
export interface BeforeSession {
  readonly omitted: OmittedPaths;
  /** The filters in force, one per root. */
  readonly filters: readonly FilterSpec[];
}

/**
 * Paths that have come to be during a session and that only rules which came to be in it leave out: by the rules before it,
 * they would have been recorded.
 */
export async function hiddenBySession(
  context: Context,
  { omitted: known, filters }: BeforeSession,
  { coverage }: Pick<Capture, "coverage">,
): Promise<OmittedChange[]> {
  const left = coverage.omitted.filter(
    ({ path, reason, detail = "" }) => reason === "excluded" && detail.startsWith("gitignore") && !known.has(path),
  );
  const fresh: typeof left = [];
  for (const one of left) if (!(await isDerived(context, one.path))) fresh.push(one);
  const stats = await context.worktree.stats(fresh.map(({ path }) => path));
  return fresh.flatMap(({ path, reason, detail }, i) => {
    const stat = stats[i];
    const spec = filterOf(context, filters, path);
    if (typeof stat !== "object" || spec === undefined) return [];
    if (!explainPath(spec, splitRoot(path).path, stat.kind === "dir").tracked) return [];
    const why = detail === undefined ? {} : { detail };
    return [{ path, type: "created", reason, ...why, kept: false, lost: false } as const];
  });
}

function filterOf({ worktree }: Context, filters: readonly FilterSpec[], path: WorkspacePath): FilterSpec | undefined {
  const { root } = splitRoot(path);
  return filters[worktree.roots.findIndex((one) => one.id === root)];
}

/** True if the path decides what is left out. Such a file is recorded, even if it leaves itself out. */
export function isRuleFile({ path }: Pick<OmittedChange, "path">): boolean {
  return nameOf(splitRoot(path).path) === ".gitignore";
}
