import type { RecentItem } from "../../api/recent-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { localMinute } from "../../process/local-zone.ts";
import { groupedDigits } from "../../util/grouped-digits.ts";
import { optional } from "../../util/optional.ts";
import type { CommandContext } from "./context.ts";

/** The most pieces of work that are counted. */
const MOST = 200;

/** Kinds of lines that change no file, or of which nothing is left to take back. */
const NO_WORK: ReadonlySet<RecentItem["kind"]> = new Set(["baseline", "snapshot", "undo", "redo"]);

/**
 * Returns a sentence about the recorded work since the last snapshot, if `moment` is `latest`: this word can be taken for
 * the last recorded state. Returns `undefined` for other moments, and if there is no later work. `paths`: only work on
 * these paths counts.
 */
export async function laterWork(
  context: CommandContext,
  workspace: WorkspaceApi,
  { moment, paths = [] }: { readonly moment: string; readonly paths?: readonly string[] | undefined },
): Promise<string | undefined> {
  const [file] = paths;
  if (context.json || paths.length > 1 || moment !== "latest") return undefined;
  const last = (await workspace.snapshots()).at(-1);
  if (last === undefined) return undefined;
  const items = await itemsSince(workspace, last.seq, optional({ file }));
  const work = items.filter((one) => one.changed > 0 && one.undone !== true && !NO_WORK.has(one.kind));
  if (work.length === 0) return undefined;
  const many = items.length < MOST ? groupedDigits(work.length) : `at least ${groupedDigits(work.length)}`;
  const what = work.length === 1 ? "later piece of work is" : "later pieces of work are";
  const from = localMinute(last.timestamp, context.io.now());
  return `the last snapshot is from ${from}; ${many} ${what} taken back with it`;
}

/** Returns the recorded work after an event. If the events up to it were dropped, all work that is left is later. */
async function itemsSince(
  workspace: WorkspaceApi,
  seq: number,
  about: { readonly file?: string },
): Promise<readonly RecentItem[]> {
  try {
    return (await workspace.recent(MOST, { since: `seq:${seq}`, ...about })).items;
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "PRUNED") throw error;
    return (await workspace.recent(MOST, about)).items;
  }
}
