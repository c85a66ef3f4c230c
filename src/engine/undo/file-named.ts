import { isRestored } from "../../core/records/omitted-change.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { actionById } from "../facts/actions.ts";
import type { Keeper } from "../facts/own-work.ts";
import { lastKeeperOf } from "../facts/keepers.ts";
import { ownersIn } from "../facts/owners.ts";
import { isUndoneWithAround } from "../facts/undone-events.ts";
import type { Context } from "../log/context.ts";
import { unitWith } from "../log/database-units.ts";
import { knownPaths, parseGivenPath } from "../log/known-paths.ts";
import { shownPath } from "../log/shape.ts";
import { listOperations, stackOf } from "./operations.ts";

/**
 * Returns the named path. Also returns a function that tells which paths are meant: the path, everything beneath it,
 * and the other files of its database.
 */
export async function fileNamed(
  context: Context,
  given: string,
): Promise<{ readonly path: WorkspacePath; readonly isMeant: (path: WorkspacePath) => boolean }> {
  const [path] = (await pathsOnRecord(context, given)) ?? [];
  if (path === undefined) throw new ChronicleError("NOT_FOUND", "no file was named");
  const unit = await unitWith(context, path);
  return { path, isMeant: (at) => isWithin(at, path) || unit.includes(at) };
}

/**
 * Returns a path as `knownPaths` does. The error for an excluded path that was kept aside names the work that changed
 * the path, and the command that undoes this work.
 */
async function pathsOnRecord(context: Context, given: string): ReturnType<typeof knownPaths> {
  try {
    return await knownPaths(context, [given]);
  } catch (error) {
    const path = parseGivenPath(given);
    const isExcluded = error instanceof ChronicleError && error.data["excluded"] !== undefined;
    const keeper = isExcluded ? await lastKeeperOf(context, path) : undefined;
    if (keeper === undefined) throw error;
    throw await keptAside(context, path, keeper);
  }
}

async function keptAside(
  context: Context,
  path: WorkspacePath,
  { id, fromSeq, omittedChanges }: Keeper,
): Promise<ChronicleError> {
  const shown = shownPath(path);
  const isAction = (await actionById(context, id)) !== undefined;
  const isUndone = isUndoneWithAround(id, {
    owners: await ownersIn(context),
    stack: stackOf(await listOperations(context)),
  });
  const isShared = omittedChanges.some((one) => one.kept && !isRestored(one) && isWithin(path, one.path));
  const back = isShared
    ? `chronicle undo --since seq:${fromSeq}`
    : isAction
      ? `chronicle undo --action ${id.slice(0, 8)}`
      : `chronicle undo ${id.slice(0, 8)}`;
  return new ChronicleError(
    "NOT_FOUND",
    `${JSON.stringify(shown)} is excluded: it has no history of its own, and was kept aside for ${isAction ? "an action" : "a run"}`,
    {
      hint: isShared
        ? `other work was active at the same time, and may have changed it: \`${back}\` restores the copy that was kept aside, and takes back everything since`
        : isUndone
          ? `the copy that was kept aside was restored when the ${isAction ? "action" : "run"} was undone; \`chronicle redo\` removes it again`
          : `\`${back}\` restores the copy that was kept aside, and undoes all else that ${isAction ? "the action" : "the run"} has changed`,
      data: { path: shown, keeper: id },
    },
  );
}
