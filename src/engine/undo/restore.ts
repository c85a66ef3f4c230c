import type { RestoreShape } from "../../api/shapes.ts";
import type { RestoreOptions } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { composeChanges, invert } from "../../core/tree/plan.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { finishedNotes } from "./before-change.ts";
import { type BeforeChange, NOTHING_BEFORE } from "../capture/operation-queue.ts";
import { changedShape, changeFiles, type FilePlan, type Present } from "../capture/change-files.ts";
import type { Context } from "../log/context.ts";
import { changesBetween } from "../read/diff.ts";
import { withFolders } from "../capture/fit-step.ts";
import { knownPaths } from "../log/known-paths.ts";
import { resolveMoment, type ResolvedMoment } from "../read/moments.ts";
import { allOffRecord } from "../capture/off-record.ts";
import { unseenPath } from "../capture/seen-absent.ts";
import { unreadableNow } from "../capture/unreadable-now.ts";
import { optional } from "../../util/optional.ts";

/** Brings files back to an earlier moment; what is there now is captured first, so that it can be undone. */
export async function restore(
  context: Context,
  text: string,
  options: RestoreOptions = {},
  before: BeforeChange = NOTHING_BEFORE,
): Promise<RestoreShape> {
  const moment = await resolveMoment(context, text);
  if (moment.now)
    throw new ChronicleError("USAGE", "`now` is what is there already", { hint: "name an earlier moment" });
  const finished = finishedNotes(before, options.dryRun === true);
  const how = { ...options, look: { absentRoot: "known" } } as const;
  return changeFiles<RestoreShape>(context, how, async (present) => ({
    ...(await wayTo(context, moment, { present, paths: options.paths })),
    kind: "restore",
    summary: `restore to ${moment.label}`,
    isProved: true,
    // The folders around what is named come back with it.
    ...(options.paths === undefined
      ? {}
      : {
          fit: (changes) =>
            withFolders(context, changes, {
              unrecorded: present.unrecorded,
              isWhole: !present.force,
              takesPaths: true,
            }),
        }),
    ...optional({ keepMtime: options.keepMtime }),
    report: (done) => ({ ...changedShape(done), finished, seq: moment.seq }),
  }));
}

interface Wanted {
  readonly present: Present;
  readonly paths: RestoreOptions["paths"];
}

/** Returns the changes from the present state to the moment: unrecorded changes are taken back first. */
async function wayTo(
  context: Context,
  moment: ResolvedMoment,
  { present, paths }: Wanted,
): Promise<Pick<FilePlan<RestoreShape>, "wanted" | "isMeant" | "back" | "skipped">> {
  const meant = (await knownPaths(context, paths)) ?? [];
  const isMeant = (path: WorkspacePath): boolean => meant.length === 0 || meant.some((one) => isWithin(path, one));
  const action = await actionBegunBehind(context, moment.seq);
  const seqs = [moment.seq];
  // A path that is off the record differs from what is recorded, even if the recorded state is that of the moment.
  const offRecord = [...(await allOffRecord(context))].filter(([path]) => isMeant(path));
  const unreadable = await unreadableNow(context, { omitted: present.omitted, seq: moment.seq }, isMeant);
  return {
    wanted: composeChanges(invert(present.unrecorded), await changesBetween(context, present.seq, moment.seq)),
    isMeant,
    back: () => ({ seqs, action }),
    skipped: [...offRecord.map(([path, detail]) => unseenPath(path, detail)), ...unreadable],
  };
}

/** The action whose snapshot is the moment, or directly behind it: what it has looked at, it has looked at then. */
async function actionBegunBehind(context: Context, seq: number): Promise<string | undefined> {
  const rows = await context.index.events({ from: seq, to: seq + 1 });
  return rows.find((row) => row.open && row.recordId.startsWith("action:"))?.recordId.slice("action:".length);
}
