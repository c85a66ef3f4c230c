import { ChronicleError } from "../../core/values/errors.ts";
import type { Context } from "./context.ts";

/** True if the roots are those of a workspace without a folder: its files are only in its log and the contents. */
export function isHosted(roots: readonly { readonly folder: string }[]): boolean {
  return roots.every(({ folder }) => folder === "");
}

/** Returns the roots that are folders on a disk. */
export function foldersOf<Root extends { readonly folder: string }>(roots: readonly Root[]): readonly Root[] {
  return roots.filter(({ folder }) => folder !== "");
}

/** Throws `REFUSED` for an operation that needs a folder on disk. `what` names it for people, as `run a command`. */
export function refuseHosted({ worktree }: Pick<Context, "worktree">, what: string): void {
  if (!isHosted(worktree.roots)) return;
  throw new ChronicleError("REFUSED", `this workspace has no folder on disk: one cannot ${what} in it`, {
    hint: "its files are changed through the API; `restore --to DIR` puts them into a folder",
  });
}
