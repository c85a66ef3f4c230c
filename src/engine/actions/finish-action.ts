import type { ActionEnd } from "../../api/action-api.ts";
import type { ActionEndShape } from "../../api/action-shapes.ts";
import { coverageOf, type Omission } from "../../core/records/coverage.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { abandoning, closingDraft, withoutOwner, type Closing, captureWithRules } from "./abandon-actions.ts";
import {
  actionById,
  actionOfEvent,
  actionShape,
  findAction,
  openActions,
  type LoggedAction,
} from "../facts/actions.ts";
import { goingOn } from "../facts/brackets.ts";
import type { CaptureOptions, Found } from "../capture/capture.ts";
import { withCommit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { allOmitted, isNoRoomOrTrouble } from "../facts/recorded-coverage.ts";
import { lostUnseen } from "../capture/lost-git.ts";
import { endOfOmitted, lostOfAction } from "../capture/omitted-of-action.ts";
import { gitChangesOf, gitNotesOfUnseenEnd, notesOfFound } from "../capture/git-work.ts";
import { finishOutside } from "./outside.ts";
import { changesOfAction } from "../facts/changes-within.ts";
import type { QuotaOptions } from "../log/quota.ts";
import { changeShape, coverageShape, shownPath } from "../log/shape.ts";
import { optional } from "../../util/optional.ts";

const OUTCOMES: ReadonlySet<string> = new Set(["done", "failed", "denied"]);

/**
 * Captures the changes that an action left, and records the end of the action. Finishing an action again changes
 * nothing. An abandoned action can still be finished. A denied action can still be finished as done or failed. With
 * `onFailure` `warn`, the action is closed without a capture if there is no room for the capture or the disk fails.
 *
 * Throws `USAGE` for an unknown outcome, and `NOT_FOUND` or `AMBIGUOUS` for an id that does not stand for exactly one
 * action.
 */
export async function finishAction(
  context: Context,
  id: string,
  end: ActionEnd = {},
  quota: QuotaOptions = {},
): Promise<ActionEndShape> {
  const closing = closingOf(end);
  const action = await findAction(context, id);
  if (!isUnfinished(action, closing)) return endShape(context, action, []);
  // A denied action is closed without a capture, because the changes on disk do not belong to this action.
  if (closing.state === "denied") return endShape(context, await closeOnly(context, action, closing), []);
  try {
    return await captureAndClose(context, action, { ...closing, ...quota });
  } catch (error) {
    if (end.onFailure !== "warn" || !isNoRoomOrTrouble(error)) throw error;
    const detail = error instanceof Error ? error.message : String(error);
    const reason = [closing.reason ?? [], `the changes that the action left could not be recorded: ${detail}`]
      .flat()
      .join("; ");
    const closed = await closeOnly(context, action, { ...closing, reason });
    return endShape(context, closed, allOmitted(context, closed, error));
  }
}

function closingOf({ outcome = "done", reason }: ActionEnd): Closing {
  if (!OUTCOMES.has(outcome)) {
    throw new ChronicleError("USAGE", `an action cannot end as ${JSON.stringify(outcome)}`, {
      hint: "say done, failed or denied",
    });
  }
  return { state: outcome, ...optional({ reason }) };
}

/**
 * Returns true if the action can still be closed with this outcome. An action that ends as done or failed has run, even
 * if it was closed as denied before.
 */
function isUnfinished({ state }: LoggedAction, closing: Closing): boolean {
  return state === "open" || state === "abandoned" || (state === "denied" && closing.state !== "denied");
}

/**
 * Closes the action without a capture, unless the action was closed meanwhile. Returns the action as it is recorded
 * now.
 */
async function closeOnly(context: Context, action: LoggedAction, closing: Closing): Promise<LoggedAction> {
  await withCommit(context, async (commit) => {
    const now = (await actionById(context, action.id)) ?? action;
    if (!isUnfinished(now, closing)) return;
    const head = await commit.head();
    const found = { head, changes: [], changesTo: head.seq };
    await commit.append([await closingDraft(context, now, { ...closing, found })]);
  });
  return findAction(context, action.id);
}

async function captureAndClose(
  context: Context,
  action: LoggedAction,
  { reserve = false, ...closing }: Closing & QuotaOptions,
): Promise<ActionEndShape> {
  using _lease = await context.blobs.lease();
  const outside = await finishOutside(context, action, { reserve });
  // The action is finished late if it was closed already (as abandoned or denied), or if nobody was expected to finish
  // it (see `goingOn`). `late` makes the capture treat such an action as open.
  const isOpen = action.state === "open" && (await goingOn(context, [action])).length > 0;
  const lost = await (isOpen ? lostOfAction : lostUnseen)(context, action);
  const git = isOpen ? await gitChangesOf(context, action) : { drafts: [], notes: gitNotesOfUnseenEnd(action) };
  const nested = context.git.nested();
  const how: CaptureOptions = { cause: "capture", isReported: true, reserve, ...(isOpen ? {} : { late: action }) };
  let before: Found | undefined;
  const captured = await captureWithRules(context, [action], {
    ...how,
    ...(action.scope === "paths" ? { only: action.paths, exact: true } : {}),
    also: async (found) => {
      before = found;
      const open = await openActions(context, found.head);
      const now = open.find((one) => one.id === action.id) ?? (await actionById(context, action.id)) ?? action;
      const others = (await withoutOwner(context, open)).filter((one) => one.id !== action.id);
      const dead = await abandoning(context, others, { found });
      if (!isUnfinished(now, closing)) return dead;
      return [
        ...outside.drafts,
        ...git.drafts,
        ...dead,
        await closingDraft(context, now, {
          ...closing,
          found,
          omitted: await endOfOmitted(context, now, { ...found, isFinal: true, lost }),
        }),
      ];
    },
  });
  const ofNew = isOpen && action.git !== undefined ? notesOfFound(context, nested) : [];
  for (const note of [...lost.notes, ...git.notes, ...ofNew]) context.tell?.(note);
  const last = captured.also.findLast((event) => event.recordId === `action:${action.id}`);
  const closed = last === undefined ? await findAction(context, action.id) : actionOfEvent(last);
  const { changes, ambiguous } = await changesOfAction(
    context,
    closed,
    before?.head.seq ?? closed.lastSeq,
    before?.changes ?? [],
  );
  return {
    action: actionShape(closed),
    changes: changes.map(changeShape),
    ambiguous: ambiguous.map(shownPath),
    coverage: coverageShape(coverageOf([...outside.omitted, ...captured.coverage.omitted])),
  };
}

async function endShape(context: Context, action: LoggedAction, omitted: readonly Omission[]): Promise<ActionEndShape> {
  const { changes, ambiguous } = await changesOfAction(context, action, action.toSeq ?? action.lastSeq);
  return {
    action: actionShape(action),
    changes: changes.map(changeShape),
    ambiguous: ambiguous.map(shownPath),
    coverage: coverageShape(coverageOf(omitted)),
  };
}
