import type { VerifyProblemShape as Problem } from "../../api/shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Json, LogEvent } from "../../core/values/event.ts";
import { isHash, type Hash } from "../../core/values/hash.ts";
import { comparePaths } from "../../core/values/path.ts";
import { decodePlan } from "../../core/tree/plan.ts";
import type { Context } from "../log/context.ts";
import { readFilters } from "../log/filters.ts";

/**
 * Collects the filters, and the plans of open operations, that a history names. Maps the hash of each filter or plan to
 * the place that names the hash.
 */
export class OwnContents {
  readonly #filters = new Map<Hash, string>();
  readonly #open = new Map<string, readonly [plan: Hash, where: string]>();

  get filters(): ReadonlyMap<Hash, string> {
    return this.#filters;
  }

  get plans(): ReadonlyMap<Hash, string> {
    return new Map(this.#open.values());
  }

  note({ recordId, record }: Pick<LogEvent, "recordId" | "record">, where: string): void {
    const [filter, plan] = [hashIn(record["filter"]), hashIn(record["plan"])];
    const isFiltered = recordId.startsWith("snapshot:") || recordId.startsWith("coverage:");
    if (isFiltered && filter !== undefined && !this.#filters.has(filter)) this.#filters.set(filter, where);
    if (!recordId.startsWith("intent:")) return;
    if (record["state"] === "open" && plan !== undefined) this.#open.set(recordId, [plan, where]);
    else this.#open.delete(recordId);
  }
}

function hashIn(value: Json | undefined): Hash | undefined {
  return typeof value === "string" && isHash(value) ? value : undefined;
}

/**
 * Checks that filters and plans can be used. There must be one filter for each root, and the paths of a plan must be in
 * order. Does not report a missing or damaged content, because `verifyBlobs` does.
 */
export async function verifyPlans(
  context: Context,
  { filters, plans }: Pick<OwnContents, "filters" | "plans">,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const wanted = context.worktree.roots.length;
  for (const [hash, where] of filters) {
    const fault = await faultOf(async () => {
      const found = await readFilters(context, hash);
      if (found !== undefined && found.length !== wanted)
        return `it has filters for ${found.length} roots, but the workspace has ${wanted}`;
    });
    if (fault !== undefined) problems.push({ kind: "filter-wrong", where, detail: `the filter ${hash}: ${fault}` });
  }
  for (const [hash, where] of plans) {
    const fault = await faultOf(() => planFault(context, hash));
    if (fault !== undefined) problems.push({ kind: "plan-wrong", where, detail: `the plan ${hash}: ${fault}` });
  }
  return problems;
}

async function planFault({ blobs }: Context, hash: Hash): Promise<string | undefined> {
  const bytes = await blobs.get(hash);
  const changes = bytes === undefined ? [] : decodePlan(bytes);
  const isOrdered = changes.every(({ path }, i) => i === 0 || comparePaths(changes[i - 1]?.path ?? "", path) < 0);
  return isOrdered ? undefined : "its paths are not in order";
}

/**
 * Returns the fault that `look` finds, or the message of its error. Damaged bytes are no fault here, because
 * `verifyBlobs` reports them.
 */
async function faultOf(look: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await look();
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    return error.code === "BLOB_CORRUPT" ? undefined : error.message;
  }
}
