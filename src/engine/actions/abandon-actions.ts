import type { EventDraft } from "../../core/values/event.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { type LoggedAction, openActions } from "../facts/actions.ts";
import { capture, type Capture, type CaptureOptions, type Found } from "../capture/capture.ts";
import { lostUnseen } from "../capture/lost-git.ts";
import type { Context } from "../log/context.ts";
import { endOfLost, hiddenRules, type EndOfOmitted, endOfOmitted } from "../capture/omitted-of-action.ts";
import type { ActionsOf } from "../../api/action-api.ts";
import { actionRecordId, encodeAction, type ActionState } from "../../core/records/action-record.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { addAll } from "../../util/long-lists.ts";
import { reachOf } from "../facts/attribution.ts";
import { goingOn } from "../facts/brackets.ts";
import { withCommit } from "../commit/commit.ts";
import { isElsewhere, UNOWNED_HOURS } from "../log/owner-process.ts";
import { changesOfAction } from "../facts/changes-within.ts";
import { optional } from "../../util/optional.ts";

export interface Closing {
  readonly state: Exclude<ActionState, "open">;
  /** A text for people that says why the action ended in this way. */
  readonly reason?: string;
}

interface ClosingBehind extends Closing {
  readonly found: Pick<Found, "head" | "changes" | "changesTo">;
  /** The action's changes to omitted paths; `undefined` if these paths were not scanned. */
  readonly omitted?: EndOfOmitted;
}

/**
 * Returns true if an action in this state cannot be closed again. A denied or abandoned action can still be finished as
 * `done` or `failed`, if it has run after all.
 */
function isFinal(state: ActionState): boolean {
  return state === "done" || state === "failed";
}

/**
 * Returns the event that closes an action. `found` is the result of a capture. The caller appends the returned event
 * after the events of this capture.
 */
export async function closingDraft(
  context: Context,
  action: LoggedAction,
  { found, state, reason, omitted = {} }: ClosingBehind,
): Promise<EventDraft> {
  const { changes } = await changesOfAction(context, action, found.head.seq, found.changes);
  const { reason: _before, omittedBefore, aside: _aside, git, omittedChanges: _told, ...record } = action;
  // If the omitted paths were not scanned, the closed record keeps the changes that an earlier end of the action has
  // recorded.
  const { changes: omittedChanges = [], aside } =
    omitted.changes === undefined ? { changes: action.omittedChanges, aside: action.aside } : omitted;
  const ended = new Date(context.now()).toISOString();
  const closed = {
    ...record,
    state,
    ended,
    toSeq: found.changesTo,
    changed: changes.length,
    omittedChanges,
    ...optional({ aside }),
    ...(isFinal(state) ? {} : optional({ omittedBefore, git })),
    ...optional({ reason }),
  };
  return {
    op: "upsert",
    recordId: actionRecordId(action.id),
    record: encodeAction(closed),
    recursionDepth: action.recursionDepth,
  };
}

interface Abandoning {
  readonly found: Pick<Found, "head" | "changes" | "changesTo">;
  readonly reason?: string;
  /**
   * Maps the id of an action to the action's changes to omitted paths. For an action without an entry, these paths were
   * not scanned.
   */
  readonly ends?: ReadonlyMap<string, EndOfOmitted>;
}

/**
 * Returns the events that abandon these actions. Without `reason`, each event says why nobody will finish its action.
 * For each action without an entry in `ends`, also stores what was kept of git folders that are gone now. Until the
 * events are durable, the caller must hold a lease of the blob store, which protects new contents from the collector.
 */
export async function abandoning(
  context: Context,
  actions: readonly LoggedAction[],
  { found, reason, ends }: Abandoning,
): Promise<EventDraft[]> {
  const drafts: EventDraft[] = [];
  for (const action of actions) {
    const closing = { state: "abandoned", reason: reason ?? whyGone(context, action) } as const;
    const omitted = ends?.get(action.id) ?? (await endOfLost(context, action));
    drafts.push(await closingDraft(context, action, { found, ...closing, ...optional({ omitted }) }));
  }
  return drafts;
}

function whyGone(context: Context, action: LoggedAction): string {
  if (action.pid === null) return `nobody finished the action within ${UNOWNED_HOURS} hours`;
  return isElsewhere(context, action)
    ? "its process belongs to another PID namespace, and so counts as ended, without having finished the action"
    : "its process ended and had not finished the action";
}

/**
 * Returns the actions that have no owner. An action has no owner if its process is gone or belongs to another PID
 * namespace. An action for which no process is known has no owner once it is `UNOWNED_HOURS` old.
 */
export async function withoutOwner(context: Context, actions: readonly LoggedAction[]): Promise<LoggedAction[]> {
  const owned = new Set(await goingOn(context, actions));
  return actions.filter((action) => !owned.has(action));
}

/** Abandons the open actions that nobody will finish, and those whose session has ended. */
export async function closeDeadActions(context: Context): Promise<void> {
  const open = await openActions(context);
  const dead = await withoutOwner(context, open);
  for (const action of open) if (!dead.includes(action) && (await isSessionOver(context, action))) dead.push(action);
  if (dead.length === 0) return;
  using _lease = await context.blobs.lease();
  await withCommit(context, async (commit) => {
    const head = await commit.head();
    const stillOpen = new Set((await openActions(context)).map((one) => one.id));
    const still = dead.filter((one) => stillOpen.has(one.id));
    const found = { head, changes: [], changesTo: head.seq };
    const [gone, over] = [await withoutOwner(context, still), await goingOn(context, still)];
    await commit.append([
      ...(await abandoning(context, gone, { found })),
      ...(await abandoning(context, over, { found, reason: "its session has ended" })),
    ]);
  });
}

async function isSessionOver({ index }: Context, { session }: LoggedAction): Promise<boolean> {
  if (session === undefined) return false;
  return (await index.record(`session:${session}`))?.open === false;
}

/**
 * Captures the changes on disk, and abandons the open actions of a session or turn. Returns the ids of these actions.
 * The captured changes are attributed to the actions. With `unsure`, the actions are recorded only as candidates for
 * the changes, because they may never have run. Throws `USAGE` if no session is given.
 */
export async function abandonActions(context: Context, of: ActionsOf): Promise<string[]> {
  if (typeof of.session !== "string" || of.session === "") {
    throw new ChronicleError("USAGE", "no session was given", { hint: "name the session whose actions have ended" });
  }
  const { except = [] } = of;
  const isMeant = ({ id, session, turn }: LoggedAction): boolean =>
    session === of.session && (of.turn === undefined || turn === of.turn) && !except.includes(id);
  const meant = (await openActions(context)).filter(isMeant);
  if (meant.length === 0) return [];
  const reason = of.reason ?? (of.turn === undefined ? "its session has ended" : "its turn has ended");
  const ids: string[] = [];
  using _lease = await context.blobs.lease();
  const look = await lookOf(context, meant);
  await captureWithRules(context, meant, {
    cause: "capture",
    isReported: true,
    ...look,
    ...(of.unsure === true ? { unsure: new Set(meant.map(({ id }) => id)) } : {}),
    also: async (found) => {
      const still = (await openActions(context)).filter(isMeant);
      addAll(
        ids,
        still.map((one) => one.id),
      );
      const ends = new Map<string, EndOfOmitted>();
      for (const one of still) {
        const lost = await lostUnseen(context, one);
        for (const note of lost.notes) context.tell?.(note);
        ends.set(one.id, await endOfOmitted(context, one, { ...found, isFinal: false, lost }));
      }
      return abandoning(context, still, { found, reason, ends });
    },
  });
  return ids;
}

/**
 * Returns the paths that a capture must scan before these actions are closed; `{}` means all paths. Actions that nobody
 * will finish add no paths.
 */
export async function lookOf(
  context: Context,
  actions: readonly LoggedAction[],
): Promise<{ readonly only?: NonNullable<ReturnType<typeof reachOf>>; readonly exact?: true }> {
  const reach = reachOf(await goingOn(context, actions));
  return reach === undefined ? {} : { only: reach, exact: true };
}

interface ClosingCapture extends CaptureOptions {
  readonly also: (found: Found) => Promise<readonly EventDraft[]>;
}

/**
 * Captures the changes on disk, and closes the actions in the same commit. There is one exception. If only new rules
 * leave out `.gitignore` files that appeared during the actions (see `hiddenRules`), these files are recorded first. A
 * further capture then closes the actions.
 */
export async function captureWithRules(
  context: Context,
  actions: readonly LoggedAction[],
  { also, ...how }: ClosingCapture,
): Promise<Capture> {
  let rules: readonly WorkspacePath[] = [];
  const captured = await capture(context, {
    ...how,
    also: async (found) => {
      rules = await hiddenRules(context, actions, found);
      return rules.length > 0 ? [] : also(found);
    },
  });
  if (rules.length === 0) return captured;
  await capture(context, { ...how, only: rules, named: true });
  return capture(context, { ...how, also });
}
