import { isRestored } from "../../core/records/omitted-change.ts";
import type { RecentAction } from "../../api/recent-api.ts";
import { optional } from "../../util/optional.ts";
import { greatestOf, leastOf } from "../../util/long-lists.ts";
import { titleOfTurn } from "../facts/turns.ts";
import type { LoggedAction, Session } from "../facts/actions.ts";
import type { Context } from "../log/context.ts";
import type { RecentChanges } from "./recent-changes.ts";
import { type OwnPaths, type RecentLine, whoOf } from "./recent-line.ts";
import { isStateGone } from "./recent-state.ts";
import { keyOfTurn } from "./recent-view.ts";

type TurnAction = LoggedAction & { readonly turn: string };

export interface TurnsInView {
  readonly after: number;
  readonly sessions: readonly Session[];
  readonly changes: RecentChanges;
  readonly isUndone: (operation: string) => boolean;
  readonly isWithIdle: boolean;
  /** The keys of the turns that go on after the view. These turns get no line. */
  readonly goingOn: ReadonlySet<string>;
}

/** True for an action of a turn. Such an action has no line of its own. */
export function isOfTurn(action: LoggedAction): action is TurnAction {
  return action.turn !== undefined;
}

/** Returns a line for each turn. `actions` are in the order in which they began. */
export function turnLines(context: Context, actions: readonly LoggedAction[], view: TurnsInView): RecentLine[] {
  const keyOf = ({ session = "", turn }: TurnAction): string => keyOfTurn({ session, turn });
  const turns = [...Map.groupBy(actions.filter(isOfTurn), keyOf)].flatMap(([key, own]) =>
    view.goingOn.has(key) ? [] : [own],
  );
  const oldest = new Map<string, string>();
  // An action that began before the view, and still went on in it, says nothing about where its turn ended.
  for (const { session = "", turn, fromSeq } of actions.filter(isOfTurn))
    if (fromSeq >= view.after && !oldest.has(session)) oldest.set(session, turn);
  const isWhole = ({ session = "", turn }: TurnAction): boolean =>
    view.after === 0 ||
    oldest.get(session) !== turn ||
    view.sessions.some((one) => one.id === session && one.fromSeq >= view.after);
  return turns
    .filter((own) => view.isWithIdle || own.some(hasDone))
    .flatMap((own) => {
      const [first] = own;
      return first === undefined ? [] : [lineOfTurn(context, own, { ...view, isCut: !isWhole(first) })];
    });
}

function hasDone({ state, changed, omittedChanges }: LoggedAction): boolean {
  return state === "open" || changed !== 0 || omittedChanges.some(isRestored);
}

function lineOfTurn(
  context: Context,
  own: readonly TurnAction[],
  { changes, isUndone, isCut }: TurnsInView & { readonly isCut: boolean },
): RecentLine {
  const [{ turn, session, actor, summary }] = own as readonly [TurnAction];
  const paths = mergedOwn(own.flatMap(({ id }) => changes.byOwner.get(id) ?? []));
  const last = own.toSorted((a, b) => a.lastSeq - b.lastSeq).at(-1);
  const fromSeq = leastOf(own.map((one) => one.fromSeq));
  const isOpen = own.some(({ state }) => state === "open");
  const changing = own.filter((one) => one.changed !== 0 && one.changed !== null);
  const undone = changing.length > 0 && changing.every(({ id }) => isUndone(id));
  return {
    kind: "turn",
    id: turn,
    seq: last?.lastSeq ?? fromSeq,
    fromSeq,
    timestamp: last?.ended ?? last?.ts ?? "",
    summary,
    texts: own.map(({ summary }) => summary),
    actor,
    who: whoOf(actor, leastOf(own.map(({ recursionDepth }) => recursionDepth))),
    ...optional({ session }),
    changed: paths.size,
    own: paths,
    isCut,
    isOpen,
    operations: own.map(({ id }) => id),
    title: async () => (session === undefined ? undefined : titleOfTurn(context, { session, turn })),
    more: async (short) => ({
      actions: own.length,
      ...(isOpen ? { open: true as const } : {}),
      ...(undone ? { undone } : {}),
      back:
        isOpen || undone || paths.size === 0 || (await isStateGone(context, fromSeq))
          ? ""
          : `chronicle undo --turn ${short}`,
    }),
    beneath: () => own.map((one) => shapeOfAction(one, isUndone)),
  };
}

export function shapeOfAction(action: LoggedAction, isUndone: (id: string) => boolean): RecentAction {
  const { id, ts, summary, actor, recursionDepth, state, changed } = action;
  return {
    id,
    timestamp: ts,
    summary,
    actor,
    who: whoOf(actor, recursionDepth),
    state,
    changed,
    ...(isUndone(id) ? { undone: true as const } : {}),
  };
}

function mergedOwn(all: readonly OwnPaths[]): OwnPaths {
  const merged: OwnPaths = new Map();
  for (const own of all)
    for (const [path, { first, last }] of own) {
      const known = merged.get(path);
      merged.set(path, {
        first: Math.min(first, known?.first ?? first),
        last: greatestOf([last, known?.last ?? last]),
      });
    }
  return merged;
}
