import type { ConfigShape } from "../../api/shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { CaptureLimits, FilterOptions } from "../../core/filter/filter.ts";
import { isNamePattern } from "../../core/filter/protected-names.ts";
import { encodeWorkspace, type RootRecord, type WorkspaceRecord } from "../../core/records/workspace-record.ts";
import { withCommit, refuseMoved } from "./commit.ts";
import type { Context } from "../log/context.ts";
import { workspaceRecord } from "../log/own-record.ts";

type RootConfig = Omit<ConfigShape, "keepAside" | "recordPrompts" | "protectedNames">;

function configShape({
  filter,
  limits,
}: {
  readonly filter: FilterOptions;
  readonly limits: CaptureLimits;
}): RootConfig {
  return {
    useGitignore: filter.useGitignore,
    excludePatterns: [...filter.excludePatterns],
    excludeGlobs: [...filter.excludeGlobs],
    forceInclude: [...filter.forceInclude],
    ...limits,
  };
}

/**
 * Returns the options of the first root and of the workspace. Throws `NOT_FOUND` if the folder was moved since the
 * workspace was opened, and `LOG_DAMAGED` if the workspace has no root.
 */
export async function configOf(context: Context): Promise<ConfigShape> {
  await refuseMoved(context);
  return shapeOf(await workspaceRecord(context));
}

function shapeOf({ roots: [first], keepsAside, recordsPrompts, protectedNames = [] }: WorkspaceRecord): ConfigShape {
  if (first === undefined) throw new ChronicleError("LOG_DAMAGED", "the workspace has no root");
  const [keepAside, recordPrompts] = [keepsAside !== false, recordsPrompts !== false];
  return { ...configShape(first), keepAside, recordPrompts, protectedNames: [...protectedNames] };
}

/**
 * Returns a root with some options changed. Throws `USAGE` for a limit that is not a whole number from 0 up, and for a
 * pattern that is not well-formed text.
 */
export function changedRoot(root: RootRecord, change: Partial<RootConfig>): RootRecord {
  const merged = { ...configShape(root), ...change };
  for (const key of ["maxEntries", "maxBytes", "maxFileSize"] as const) {
    if (!Number.isSafeInteger(merged[key]) || merged[key] < 0) {
      throw new ChronicleError("USAGE", `${key} is not a whole number from 0 up: ${merged[key]}`, {
        hint: "0 means no limit",
      });
    }
  }
  const { maxEntries, maxBytes, maxFileSize, ...filter } = merged;
  const patterns = [...filter.excludePatterns, ...filter.excludeGlobs, ...filter.forceInclude];
  if (!patterns.every((one) => one.isWellFormed())) {
    throw new ChronicleError("USAGE", "a pattern is not well-formed text", {
      hint: "give text without lone surrogates",
    });
  }
  return { ...root, filter, limits: { maxEntries, maxBytes, maxFileSize } };
}

/**
 * Changes the given options of the workspace and of every root, and returns all options. An option that is not given
 * keeps its value. The new options take effect at the next open, and at the next scan of a run, a watch or a followed
 * folder. Throws `USAGE` for an invalid option.
 */
export async function configure(context: Context, change: Partial<ConfigShape>): Promise<ConfigShape> {
  return withCommit(context, async (commit) => {
    const { keepsAside, recordsPrompts, protectedNames: known = [], ...before } = await workspaceRecord(context);
    const { keepAside = keepsAside !== false, recordPrompts = recordsPrompts !== false, ...others } = change;
    const { protectedNames = known, ...ofRoots } = others;
    refuseNames(protectedNames);
    const roots = before.roots.map((root) => changedRoot(root, ofRoots));
    const record: WorkspaceRecord = {
      ...before,
      roots,
      ...(keepAside ? {} : { keepsAside: false }),
      ...(recordPrompts ? {} : { recordsPrompts: false }),
      ...(protectedNames.length === 0 ? {} : { protectedNames }),
    };
    const recordId = `workspace:${context.workspaceId}`;
    await commit.append([{ op: "upsert", recordId, record: encodeWorkspace(record) }]);
    return shapeOf(record);
  });
}

/**
 * The maximum number of patterns in `protectedNames`. The number is limited because each recorded name is matched
 * against every pattern.
 */
const MOST_NAMES = 100;

function refuseNames(patterns: readonly string[]): void {
  const wrong = patterns.find((one) => !one.isWellFormed() || !isNamePattern(one));
  if (wrong !== undefined || patterns.length > MOST_NAMES) {
    const what = wrong === undefined ? `more than ${MOST_NAMES} patterns` : JSON.stringify(wrong.slice(0, 100));
    throw new ChronicleError("USAGE", `protectedNames: ${what}`, {
      hint: "give names of files, without folders: secrets.json, *.secret; a name with ! in front is no secret",
    });
  }
}
