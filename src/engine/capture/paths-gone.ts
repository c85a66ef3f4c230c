import type { WorkspacePath } from "../../core/values/path.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Context } from "../log/context.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";
import type { FolderPlan } from "./fit-folders.ts";
import { missingContent, pruningInForce } from "../facts/pruning.ts";
import type { SkippedPath } from "./seen-absent.ts";
import { shownPath } from "../log/shape.ts";

/**
 * Collects the paths that an undo leaves as they are, because the undo needs contents of these paths that were pruned
 * or erased.
 */
export class PathsGone {
  readonly #context: Context;
  readonly #plan: Pick<FolderPlan, "targets" | "unmerged">;
  readonly #paths: SkippedPath[] = [];

  constructor(context: Context, plan: Pick<FolderPlan, "targets" | "unmerged">) {
    this.#context = context;
    this.#plan = plan;
  }

  get paths(): readonly SkippedPath[] {
    return this.#paths;
  }

  /**
   * Returns the result of `find`. If `find` needs content that was pruned or erased, leaves the path alone and returns
   * `undefined`.
   */
  async unlessGivenUp<T>(path: WorkspacePath, find: () => Promise<T>): Promise<T | undefined> {
    try {
      return await find();
    } catch (error) {
      if (!isGivenUp(error)) throw error;
      this.#leave(path, error);
      return undefined;
    }
  }

  /**
   * Leaves alone each path whose planned state or conflict needs a content that was erased, or that was pruned and
   * freed. `made`: the hashes of contents that the plan itself will store later.
   */
  async leaveMissing(made: ReadonlySet<Hash>): Promise<void> {
    const isWhole = (await pruningInForce(this.#context)) === undefined;
    if (isWhole && (await erasuresInForce(this.#context)).size === 0) return;
    const needed = this.#needed().filter(({ hash }) => !made.has(hash));
    const stored = await this.#context.blobs.has(needed.map(({ hash }) => hash));
    const left = new Set<WorkspacePath>();
    for (const { path, hash } of needed) {
      if (stored.has(hash) || left.has(path)) continue;
      const what = `the earlier content of ${shownPath(path)}`;
      const error = await missingContent(this.#context, { path, hash, what });
      if (!isGivenUp(error)) continue;
      left.add(path);
      this.#leave(path, error);
    }
  }

  #needed(): { readonly path: WorkspacePath; readonly hash: Hash }[] {
    const { targets, unmerged } = this.#plan;
    return [...targets].flatMap(([path, { present, target }]) => {
      const conflict = unmerged.get(path);
      const changed = target?.hash === present?.hash ? [] : [target];
      const sides = conflict === undefined ? changed : [conflict.current, conflict.wanted];
      return sides.flatMap((entry) => (entry?.hash === undefined ? [] : [{ path, hash: entry.hash }]));
    });
  }

  #leave(path: WorkspacePath, { code, message: detail }: ChronicleError): void {
    const { targets, unmerged } = this.#plan;
    const present = targets.get(path)?.present;
    targets.set(path, { present, target: present });
    unmerged.delete(path);
    this.#paths.push({ path, reason: code === "ERASED" ? "erased" : "content-missing", detail });
  }
}

/** Returns the result of `find`; `undefined` if `find` needs content that was pruned or erased. */
export async function unlessGone<T>(find: () => Promise<T>): Promise<T | undefined> {
  try {
    return await find();
  } catch (error) {
    if (!isGivenUp(error)) throw error;
    return undefined;
  }
}

function isGivenUp(error: unknown): error is ChronicleError {
  return error instanceof ChronicleError && (error.code === "PRUNED" || error.code === "ERASED");
}

/**
 * Throws `PRUNED` if some of the skipped paths need pruned content. Not called with `force`, which skips these paths.
 */
export function refuseGone(skipped: readonly SkippedPath[]): void {
  const gone = skipped.filter((one) => one.reason === "content-missing");
  const [only] = gone;
  if (only === undefined) return;
  const shown = gone.slice(0, 5).map((one) => one.detail);
  const more = gone.length > shown.length ? `, and ${gone.length - shown.length} more` : "";
  throw new ChronicleError("PRUNED", `nothing was changed, because ${shown.join(", ")}${more}`, {
    hint: "`--force` leaves these as they are and does the rest; `chronicle history FILE` shows which iterations are kept",
    data: { pruned: gone.map((one) => shownPath(one.path)) },
  });
}
