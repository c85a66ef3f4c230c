import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { RestoreShape, UndoShape } from "../../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../../src/api/workspace-api.ts";
import { undoOf, type WorkRef } from "../data/work-ref.ts";
import { givenPath } from "../parts/given-path.ts";
import { visible } from "../parts/words.ts";

export type Done = UndoShape | RestoreShape;

/**
 * An undo, a redo or a restore that a person can choose: its name, its meaning, and a function that tries it or does
 * it.
 */
export interface Plan {
  readonly title: string;
  /** The effect of the plan, in one or two sentences. The preview names the paths. */
  readonly meaning: string;
  readonly isRedo: boolean;
  readonly run: (on: WorkspaceApi, isTrial: boolean) => Promise<Done>;
}

const KEEPS_LATER = "Later work stays, and is merged. What does not merge is left as it is, and named.";

/** Returns the plan that takes back a piece of work, or does it again; `undefined` if there is none. */
export function planOf(work: WorkRef, item: RecentItem | undefined): Plan | undefined {
  if (item?.undone === true) return redoPlan(item);
  const undo = undoOf(work);
  if (undo !== undefined) {
    const run = (on: WorkspaceApi, dryRun: boolean): Promise<Done> => on.undo({ ...undo, dryRun });
    return { title: "Take it back", meaning: KEEPS_LATER, isRedo: false, run };
  }
  if (work.from === undefined || (item !== undefined && item.back === "")) return undefined;
  if (item === undefined) {
    return work.to === "now" ? momentPlan(work.from, "Go back to this moment") : rangePlan(work.from, work.to);
  }
  if (item.kind === "snapshot" || item.kind === "baseline") return momentPlan(work.to, "Restore this state");
  return filesPlan(work.from, work.to);
}

function redoPlan({ undone_by: operation, summary }: RecentItem): Plan | undefined {
  if (operation === undefined) return undefined;
  const run = (on: WorkspaceApi, dryRun: boolean): Promise<Done> => on.undo({ operation, dryRun });
  const meaning = `Does again everything that the undo of ${visible(summary)} took back. If that was more than this work, the list below has it.`;
  return { title: "Do it again", meaning, isRedo: true, run };
}

/** Returns the plan that restores all files to a moment. */
export function momentPlan(moment: string, title: string): Plan {
  const run = (on: WorkspaceApi, dryRun: boolean): Promise<Done> => on.restore(moment, { dryRun });
  const meaning = `All files go back to ${moment}. What anybody changed after it goes as well, and can be brought back.`;
  return { title, meaning, isRedo: false, run };
}

/** Returns the plan that takes back everything that was done between two moments. */
function rangePlan(since: string, until: string): Plan {
  const run = (on: WorkspaceApi, dryRun: boolean): Promise<Done> => on.undo({ since, until, dryRun });
  return { title: "Take back what lies between", meaning: KEEPS_LATER, isRedo: false, run };
}

/** Returns the plan that restores the files that were changed between two moments to the first of these moments. */
function filesPlan(from: string, to: string): Plan {
  const run = async (on: WorkspaceApi, dryRun: boolean): Promise<Done> => {
    const { changes } = await on.diff(from, to);
    const paths = [...new Set(changes.map(givenPath))];
    return on.restore(from, { paths, dryRun });
  };
  const meaning =
    "These files go back to how they were before. Later changes of the same files go as well; other files stay.";
  return { title: "Take these files back", meaning, isRedo: false, run };
}

/** Returns the plan that restores one file to one of its states. */
export function filePlan(path: string, { seq, deleted }: { readonly seq: number; readonly deleted?: boolean }): Plan {
  const run = (on: WorkspaceApi, dryRun: boolean): Promise<Done> => on.restore(`seq:${seq}`, { paths: [path], dryRun });
  const isGone = deleted === true;
  return {
    title: isGone ? "Delete it again" : "Restore this state",
    meaning: isGone
      ? "In this state, the file was deleted."
      : "Only this file changes. Its present state stays in the history.",
    isRedo: false,
    run,
  };
}
