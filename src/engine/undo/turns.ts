import type { TurnsOptions } from "../../api/action-api.ts";
import type { TurnShape } from "../../api/action-shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { foldersAbove, type WorkspacePath } from "../../core/values/path.ts";
import { fileEvents } from "../facts/own-work.ts";
import { type Owners, ownersIn } from "../facts/owners.ts";
import { everyTurn, type KnownTurn, promptOf, theTurn } from "../facts/turns.ts";
import { isUndoneWithAround, undoneBy, type UndoneEvents } from "../facts/undone-events.ts";
import type { Context } from "../log/context.ts";
import { shownPath } from "../log/shape.ts";
import type { UndoStack } from "../../core/records/undo-stack.ts";
import { listOperations, stackOf } from "./operations.ts";
import { workOfTurn } from "./selection.ts";

const DEFAULT_LIMIT = 20;
const MOST_PATHS = 50;

/**
 * Returns the newest turns of agents, newest first. Throws `USAGE` unless the limit is a whole number from 1 up, and
 * `NOT_FOUND` or `AMBIGUOUS` if `before` does not name exactly one turn.
 */
export async function listTurns(
  context: Context,
  { session, actor, before, limit = DEFAULT_LIMIT }: TurnsOptions = {},
): Promise<TurnShape[]> {
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new ChronicleError("USAGE", `limit is ${limit}`, { hint: "give a whole number from 1 up" });
  const all = await everyTurn(context);
  const earlier = before === undefined ? all : all.slice(0, all.indexOf(theTurn(all, before)));
  const meant = earlier.filter(
    (one) =>
      (session === undefined || one.session?.startsWith(session) === true) &&
      (actor === undefined || one.actor === actor),
  );
  const [owners, operations] = [await ownersIn(context), await listOperations(context)];
  const undone: Undone = { taken: undoneBy(operations, owners), stack: stackOf(operations), owners };
  const shapes: TurnShape[] = [];
  for (const turn of meant.slice(-limit).toReversed())
    shapes.push({ ...(await shapeOf(context, turn, undone)), short_id: shortId(turn, all) });
  return shapes;
}

const SHORTEST_ID = 8;

/**
 * Returns the shortest prefix of a turn's id (at least `SHORTEST_ID` characters) that is not a prefix of another turn's
 * id. If the whole id is a prefix of another id, returns the whole id. If another session has a turn with the same id,
 * returns `<session>:<turn>`.
 */
function shortId({ turn, session = "" }: KnownTurn, all: readonly KnownTurn[]): string {
  const others = all.filter((one) => one.turn !== turn || (one.session ?? "") !== session).map((one) => one.turn);
  if (others.includes(turn)) return `${session}:${turn}`;
  let length = Math.min(SHORTEST_ID, turn.length);
  while (length < turn.length && others.some((one) => one.startsWith(turn.slice(0, length)))) length += 1;
  return turn.slice(0, length);
}

interface Undone {
  readonly taken: UndoneEvents;
  readonly stack: UndoStack;
  readonly owners: Owners;
}

async function shapeOf(context: Context, turn: KnownTurn, undone: Undone): Promise<Omit<TurnShape, "short_id">> {
  const { state, prompt } = await promptOf(context, turn);
  const { paths: touched, isUndone } = await doneIn(context, turn, undone);
  const paths = withoutFolders(touched);
  return {
    turn: turn.turn,
    session: turn.session ?? null,
    actor: turn.actor,
    started: turn.started,
    seq: turn.seq,
    prompt: prompt?.text ?? null,
    prompt_state: state,
    ...(prompt?.isCut === true ? { prompt_cut: true } : {}),
    transcript: prompt?.transcript ?? null,
    message: prompt?.message ?? null,
    actions: turn.actions.length,
    changed: paths.length,
    paths: paths.slice(0, MOST_PATHS).map(shownPath),
    undone: isUndone,
  };
}

/**
 * Returns the paths without the folders above other changed paths. Such a folder adds nothing to the list of a turn.
 */
function withoutFolders(paths: ReadonlySet<WorkspacePath>): WorkspacePath[] {
  const above = new Set([...paths].flatMap((path) => [...foldersAbove(path)]));
  return [...paths].filter((path) => !above.has(path));
}

interface Done {
  readonly paths: ReadonlySet<WorkspacePath>;
  readonly isUndone: TurnShape["undone"];
}

/** Returns the paths that a turn changed, and whether its changes are undone. */
async function doneIn(context: Context, turn: KnownTurn, { taken, stack, owners }: Undone): Promise<Done> {
  const paths = new Set<WorkspacePath>();
  const counts = { undone: 0, left: 0 };
  const work = await workOfTurn(context, turn);
  if (work === undefined) return { paths, isUndone: "no" };
  for await (const { seq, record, path } of fileEvents(context, work)) {
    if (!work.isOwn(record, path, seq)) continue;
    paths.add(path);
    counts[taken.holds(seq, record, path) ? "undone" : "left"] += 1;
  }
  // Files that no capture takes have no events. Their changes are undone together with the action.
  for (const { id, omittedChanges } of turn.actions) {
    for (const { path, kept } of omittedChanges) {
      if (!kept) continue;
      paths.add(path);
      counts[isUndoneWithAround(id, { owners, stack }) ? "undone" : "left"] += 1;
    }
  }
  const isUndone = counts.undone === 0 ? "no" : counts.left === 0 ? "yes" : "part";
  return { paths, isUndone };
}
