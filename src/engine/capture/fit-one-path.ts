import type { Change } from "../../core/values/change.ts";
import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { Context } from "../log/context.ts";
import { fitFolders, type Unmerged } from "./fit-folders.ts";
import { makeable } from "./operate.ts";
import { shownPath } from "../log/shape.ts";

/** The present and the wanted state of a path. `hint` is shown if the wanted state is impossible. */
export interface WantedState {
  readonly present: Entry | undefined;
  readonly target: Entry | undefined;
  readonly hint: string;
}

/** The change of one path, and of the folders that it needs. Throws `REFUSED` where something stands in the way. */
export async function fitOnePath(
  context: Context,
  path: WorkspacePath,
  { present, target, hint }: WantedState,
): Promise<Change[]> {
  const targets = new Map([[path, { present, target }]]);
  const unmerged = new Map<WorkspacePath, Unmerged>();
  const stayed = await fitFolders(context, { targets, unmerged, pending: new Map() });
  if (unmerged.size + stayed.length > 0) {
    const why =
      stayed.length > 0 ? "it is a folder that holds something" : "something else stands where it, or its folder, was";
    throw new ChronicleError("REFUSED", `${shownPath(path)} cannot be put there: ${why}`, {
      hint,
      data: { path: shownPath(path) },
    });
  }
  const changes = [...targets].map(([at, state]) => ({ path: at, before: state.present, after: state.target }));
  return makeable(changes.filter((change) => !sameEntry(change.before, change.after)));
}
