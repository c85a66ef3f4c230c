import type { ConfigShape } from "../api/shapes.ts";
import { ChronicleError } from "../core/errors.ts";
import type { CaptureLimits, FilterOptions } from "../core/filter.ts";
import type { Hash } from "../core/hash.ts";
import { decodeWorkspace, encodeWorkspace, type RootRecord, type WorkspaceRecord } from "../core/workspace-record.ts";
import { withCommit } from "./commit.ts";
import type { Context, HistoryContext } from "./context.ts";
import { readEvent } from "./read-events.ts";

/** What was read last, so that it is only read again when there is another one: each call of a hook asks for it. */
const records = new WeakMap<object, { readonly hash: Hash; readonly record: WorkspaceRecord }>();

/** The workspace record in force. Throws `NOT_FOUND` for an empty log, `INTEGRITY_VIOLATION` for an index without one. */
export async function workspaceRecord(context: HistoryContext): Promise<WorkspaceRecord> {
  const row = await context.index.record(`workspace:${context.workspaceId}`);
  if (row === undefined && context.log.head.seq > 0) {
    // Every log has one: the index is damaged, or is being filled by somebody else right now.
    throw new ChronicleError("INTEGRITY_VIOLATION", "the index does not know the workspace's own record");
  }
  if (row === undefined) {
    throw new ChronicleError("NOT_FOUND", "the workspace has no record of itself", { hint: "run `chronicle verify`" });
  }
  const read = records.get(context.index);
  if (read !== undefined && read.hash === row.hash) return read.record;
  const record = decodeWorkspace((await readEvent(context, row)).record);
  records.set(context.index, { hash: row.hash, record });
  return record;
}

/** The options of a root. */
type RootConfig = Omit<ConfigShape, "keepAside">;

/** The options of a root as programs see them. */
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

/** The options of the first root. */
export async function configOf(context: Context): Promise<ConfigShape> {
  return shapeOf(await workspaceRecord(context));
}

/** The options of the first root, and those of the workspace. */
function shapeOf({ roots: [first], keepsAside }: WorkspaceRecord): ConfigShape {
  if (first === undefined) throw new ChronicleError("LOG_DAMAGED", "the workspace has no root");
  return { ...configShape(first), keepAside: keepsAside !== false };
}

/** Options with some of them changed. Throws `USAGE` for a limit that is not a whole number, and a pattern that is no text. */
export function changedRoot(root: RootRecord, change: Partial<RootConfig>): RootRecord {
  const merged = { ...configShape(root), ...change };
  for (const key of ["maxEntries", "maxBytes", "maxFileSize"] as const) {
    if (!Number.isSafeInteger(merged[key]) || merged[key] < 0) {
      throw new ChronicleError("USAGE", `${key} is not a whole number: ${merged[key]}`, { hint: "0 means no limit" });
    }
  }
  const { maxEntries, maxBytes, maxFileSize, ...filter } = merged;
  const patterns = [...filter.excludePatterns, ...filter.excludeGlobs, ...filter.forceInclude];
  if (!patterns.every((one) => one.isWellFormed())) {
    throw new ChronicleError("USAGE", "a pattern is not well-formed text", {
      hint: "give text without half surrogates",
    });
  }
  return { ...root, filter, limits: { maxEntries, maxBytes, maxFileSize } };
}

/** Changes the options of every root; in force from the next time the workspace is opened, and where a watch goes on. */
export async function configure(context: Context, change: Partial<ConfigShape>): Promise<ConfigShape> {
  return withCommit(context, async (commit) => {
    const { keepsAside, ...before } = await workspaceRecord(context);
    const { keepAside = keepsAside !== false, ...ofRoots } = change;
    const roots = before.roots.map((root) => changedRoot(root, ofRoots));
    const record: WorkspaceRecord = { ...before, roots, ...(keepAside ? {} : { keepsAside: false }) };
    const recordId = `workspace:${context.workspaceId}`;
    await commit.append([{ op: "upsert", recordId, record: encodeWorkspace(record) }]);
    return shapeOf(record);
  });
}
