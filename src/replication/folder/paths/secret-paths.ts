import { sameEntry } from "../../../core/values/entry.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import type { CyclePath } from "../ground/decide-cycle.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";
import type { SidesOf } from "./git-paths.ts";

/**
 * The files that stay on their side because their names mark them as secrets. Only files that were compared so far are
 * included.
 */
export class SecretPaths {
  readonly #found = new Map<WorkspacePath, SidesOf>();
  readonly #rules: Pick<ReplicatedPaths, "keepsSecret">;

  constructor(rules: Pick<ReplicatedPaths, "keepsSecret">) {
    this.#rules = rules;
  }

  get leftOut(): ReadonlyMap<WorkspacePath, SidesOf> {
    return this.#found;
  }

  note(sides: Pick<CyclePath, "path" | "local" | "remote">): void {
    const { path, local, remote } = sides;
    const isThere = local?.kind === "file" || remote?.kind === "file";
    if (!isThere || sameEntry(local, remote) || !this.#rules.keepsSecret(sides)) this.#found.delete(path);
    else this.#found.set(path, { here: local !== undefined, there: remote !== undefined });
  }
}
