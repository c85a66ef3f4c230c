import type { ExplainShape } from "../../api/shapes.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { foldersAbove, isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { erasedContents } from "../facts/contents-of-history.ts";
import type { Context } from "../log/context.ts";
import { parseGivenPath } from "../log/known-paths.ts";
import { offRecordAmong } from "../capture/off-record.ts";
import { readDisk } from "../capture/read-disk.ts";
import { rememberRecorded } from "../capture/remember-recorded.ts";
import { shownPath } from "../log/shape.ts";
import { optional } from "../../util/optional.ts";

/**
 * Returns why a path is or is not tracked. A recorded path stays tracked until it is deleted, whatever the rules say
 * now. A path that the rules include may still be left out in its present state: for example, it may be too large, be
 * unreadable, or exceed the limits.
 */
export async function explain(context: Context, given: string): Promise<ExplainShape> {
  const path = parseGivenPath(given);
  const { tracked, rule, pattern, source, unreadable } = await context.worktree.explain(path);
  const { seq } = await context.index.head();
  const recorded = (await context.index.iterationAt(path, seq))?.entry !== undefined;
  const omitted =
    tracked || recorded || context.offRecord.read() !== undefined
      ? await leftOut(context, { path, recorded, unreadable })
      : undefined;
  return {
    path: shownPath(path),
    tracked: recorded || (tracked && omitted === undefined),
    recorded,
    rule,
    ...optional({ pattern, source }),
    ...(omitted === undefined ? {} : { omitted: { reason: omitted.reason, detail: omitted.detail ?? "" } }),
  };
}

interface Looked {
  readonly path: WorkspacePath;
  readonly recorded: boolean;
  readonly unreadable: string | undefined;
}

/**
 * Returns why a capture would leave out the present state of the path. Reads the content of the path only to find out
 * whether it is an erased content of the history, or the content that the path got off the record.
 */
async function leftOut(
  context: Context,
  { path, recorded, unreadable }: Looked,
): Promise<Pick<Omission, "reason" | "detail"> | undefined> {
  await rememberRecorded(context);
  const link = recorded ? undefined : await linkAbove(context, path);
  if (link !== undefined)
    return { reason: "special", detail: `${shownPath(link)} is a link: it is recorded itself, and never followed` };
  const held = (await offRecordAmong(context, [path])).get(path);
  if (held !== undefined) return { reason: "off-record", detail: held };
  const { omitted } = await context.worktree.scan({ only: [path] }, () => undefined);
  const found = omitted.find((one) => {
    if (one.reason === "excluded" || !isWithin(path, one.path)) return false;
    // The reason `over-limit` of a folder concerns only new paths in the folder. The reason concerns neither the folder
    // itself nor recorded paths.
    return one.reason !== "over-limit" || (!recorded && one.path !== path);
  });
  if (found !== undefined) return found;
  return unreadable === undefined ? erasedNow(context, path) : { reason: "unreadable", detail: unreadable };
}

/**
 * Returns an omission if the content of the file was erased. Reads the file, because only the content itself shows
 * whether it was erased. If the history has no erased contents, does not read the file.
 */
async function erasedNow(context: Context, path: WorkspacePath): Promise<Omission | undefined> {
  if ((await erasedContents(context)).size === 0) return undefined;
  const { omitted } = await readDisk(context, { only: [path], hashOnly: true });
  return omitted.find((one) => one.reason === "erased" && one.path === path);
}

/** Returns a symbolic link that is on disk in the place of a folder above the path; `undefined` if there is none. */
async function linkAbove(context: Context, path: WorkspacePath): Promise<WorkspacePath | undefined> {
  for (const folder of foldersAbove(path)) {
    const entry = await context.worktree.inspect(folder);
    if (entry?.kind === "symlink") return folder;
  }
  return undefined;
}
