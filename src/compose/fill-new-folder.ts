import { ChronicleError } from "../core/values/errors.ts";
import type { RootRecord } from "../core/records/workspace-record.ts";
import { placeOfRoot } from "../core/tree/root-place.ts";
import type { Context } from "../engine/log/context.ts";
import { workspaceRecord } from "../engine/log/own-record.ts";
import { diffMoments } from "../engine/read/diff.ts";
import { restoreTo } from "../engine/undo/restore.ts";
import type { ListedWorkspace } from "../store/roots-cache.ts";
import type { HowToOpen, OpenedContext } from "./open-context.ts";

/** Opens the workspace anew as `how` says, and calls `work` with it. */
type WithWorkspace = (how: HowToOpen, work: (opened: OpenedContext) => Promise<void>) => Promise<void>;

/**
 * Prepares a folder for a workspace that has no folder yet. Writes the files of the last recorded state into the folder
 * if it is empty. Otherwise, the files in the folder must equal this state. Throws `REFUSED` if they differ, or if the
 * workspace does not have exactly one root.
 */
export async function fillNewFolder(context: Context, folder: string, again: WithWorkspace): Promise<void> {
  const { roots } = await workspaceRecord(context);
  if (roots.length !== 1) {
    throw new ChronicleError("REFUSED", `workspace ${context.workspaceId} has ${roots.length} roots, not one`, {
      hint: `put its files into a folder: \`chronicle -w ${context.workspaceId} restore now --to DIR\``,
      data: { workspace: context.workspaceId },
    });
  }
  if (await isEmpty(context, folder)) {
    // `force` writes the other files even though contents are missing. The archive has left these contents out on
    // purpose.
    const { skipped } = await restoreTo(context, "now", { to: folder, force: true });
    if (skipped.length > 0) {
      const [one] = skipped;
      const more = skipped.length === 1 ? "" : ` and ${skipped.length - 1} more`;
      context.tell?.(`not written into ${folder}: ${one?.path ?? ""} (${one?.detail ?? one?.reason ?? ""})${more}`);
    }
    return;
  }
  const { seq } = await context.index.head();
  await again({ movedTo: folder, readOnly: true }, (there) => refuseDifferent(there.context, folder, seq));
}

async function isEmpty({ store }: Context, folder: string): Promise<boolean> {
  try {
    await store.refuseFilled(folder);
    return true;
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "REFUSED") return false;
    throw error;
  }
}

async function refuseDifferent(context: Context, folder: string, seq: number): Promise<void> {
  const { shape } = await diffMoments(context, `seq:${seq}`, "now", {});
  const [first] = shape.changes;
  if (first === undefined) return;
  const more = shape.changes.length === 1 ? "" : ` and ${shape.changes.length - 1} more`;
  throw new ChronicleError("REFUSED", `${folder} is not empty, and differs from the workspace: ${first.path}${more}`, {
    hint: "give the workspace an empty folder, or a folder whose files are those of its last recorded state",
    data: { folder, workspace: context.workspaceId },
  });
}

/** Throws `REFUSED` if a workspace without a folder is to get a single file as its root. */
export function refuseSingleFile({ id }: ListedWorkspace, root: RootRecord): void {
  if (root.only === undefined) return;
  throw new ChronicleError("REFUSED", `${placeOfRoot(root)} is a file, and workspace ${id} needs a folder`, {
    hint: "name an empty folder",
    data: { workspace: id },
  });
}
