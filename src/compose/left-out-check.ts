import type { DoctorCheck } from "../api/store-api.ts";
import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import { quotePath } from "../core/shell/quote-command.ts";
import { answer } from "../engine/log/answer.ts";
import { leftOutByNow } from "../engine/facts/left-out.ts";
import { shownPath } from "../engine/log/shape.ts";
import { addAll } from "../util/long-lists.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { storeTasks, workspaceIds } from "./store-tasks.ts";

/** The number of files of a workspace that are named. */
const MOST_NAMED = 3;

/**
 * Reports recorded files that the rules leave out by now, such as secrets that got in: one check for each workspace
 * that has some.
 */
export async function leftOutChecks(parts: StoreParts): Promise<DoctorCheck[]> {
  const checks: DoctorCheck[] = [];
  for (const id of workspaceIds(parts)) addAll(checks, await checkOf(parts, id));
  return checks;
}

/** Returns nothing for a workspace that cannot be opened, or whose folder cannot be read: other checks report it. */
async function checkOf(parts: StoreParts, id: string): Promise<DoctorCheck[]> {
  try {
    const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id), readOnly: true });
    try {
      const found = (await answer(context, () => leftOutByNow(context))).map(shownPath);
      return found.length === 0 ? [] : [told(id, found)];
    } finally {
      await close();
    }
  } catch (error) {
    if (error instanceof ChronicleError || errnoOf(error) !== undefined) return [];
    throw error;
  }
}

function told(id: string, found: readonly string[]): DoctorCheck {
  const [first = ""] = found;
  const shown = found.slice(0, MOST_NAMED).join(", ");
  const more = found.length > MOST_NAMED ? ` and ${found.length - MOST_NAMED} more` : "";
  const many = found.length === 1 ? "1 recorded file is" : `${found.length} recorded files are`;
  const command = `chronicle -w ${id} erase ${quotePath(first)} --dry-run`;
  return {
    name: "left out",
    ok: true,
    detail: `${many} left out by the rules now, and the history has what they held: ${shown}${more}; \`${command}\` shows what would take that out`,
  };
}
