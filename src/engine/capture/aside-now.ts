import type { Aside } from "../../core/records/aside.ts";
import type { Change } from "../../core/values/change.ts";
import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { OmittedChange } from "../../core/records/omitted-change.ts";
import type { ListedOmission } from "../../core/records/omitted-list.ts";
import { decodePlan } from "../../core/tree/plan.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { Context } from "../log/context.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";
import { changesAside, stillKept } from "./keep-aside.ts";

/**
 * Compares what was kept aside for a session whose process died before it recorded its end. The plan in the session's
 * record reads as if all paths had been removed, so the disk tells what became of them.
 */

/** Returns the entry on disk at a path; `other`: something that no plan can name, or that cannot be read. */
export async function entryOnDisk(context: Context, path: WorkspacePath): Promise<Entry | undefined | "other"> {
  const [stat] = await context.worktree.stats([path]);
  if (stat === undefined) return undefined;
  if (stat === "unknown" || stat.kind === "special") return "other";
  try {
    return await context.worktree.inspect(path);
  } catch (error) {
    // An unreadable file exists, but its content is unknown.
    if (error instanceof ChronicleError && error.code === "IO") return "other";
    throw error;
  }
}

/** Returns the paths in the plan of such a session that have changed since. Stores nothing. */
export async function changedAside(context: Context, { plan }: Aside): Promise<readonly Change[]> {
  const bytes = await context.blobs.get(plan);
  const all = bytes === undefined ? [] : (await erasuresInForce(context)).leftAside(plan, decodePlan(bytes));
  const changed: Change[] = [];
  for (const { path, before } of all) {
    const now = await entryOnDisk(context, path);
    if (now === "other") changed.push({ path, before, after: undefined });
    else if (!sameEntry(before, now)) changed.push({ path, before, after: now });
  }
  return changed;
}

/** Returns these changes as a session's record tells them. */
export function changedAsOmitted(changes: readonly Change[]): OmittedChange[] {
  return changes.map(({ path, after }) => ({
    path,
    type: after === undefined ? "deleted" : "modified",
    reason: "excluded",
    kept: true,
    lost: false,
  }));
}

/**
 * Returns these changes for the end of the session, and keeps the present states as well: an undo writes over them. The
 * caller holds a lease of the blob store until the record that names the plan is durable.
 */
export async function endOfAside(
  context: Context,
  before: Aside,
): Promise<{ readonly changes: readonly OmittedChange[]; readonly aside: Aside | undefined }> {
  const known = (await changedAside(context, before)).flatMap(({ path, before: entry }) =>
    entry === undefined ? [] : [[path, entry] as const],
  );
  const entries = await stillKept(context, new Map(known), before);
  const omitted = new Map([...entries].map(([path, entry]) => [path, listed(path, entry)]));
  return changesAside(context, { omitted, entries }, []);
}

/** An entry as a list of omitted paths has it. Its inode is not known: what has another content counts as changed. */
function listed(path: WorkspacePath, { kind, mode, size, mtimeMs }: Entry): ListedOmission {
  const stat = { kind, mode, size, mtimeNs: BigInt(mtimeMs) * 1_000_000n, ino: 0n };
  return { omission: { path, reason: "excluded" }, stat };
}
