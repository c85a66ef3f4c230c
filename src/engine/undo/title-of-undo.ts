import { actionById, type LoggedAction, type Session } from "../facts/actions.ts";
import type { LoggedOperation, Selective } from "../facts/logged-operation.ts";
import { eventsTouched } from "../facts/undone-events.ts";
import { titleOfTurn } from "../facts/turns.ts";
import type { Context } from "../log/context.ts";
import { readEvents } from "../log/read-events.ts";

// The record of an undo names a turn or a session by its id. For people, the id is replaced by a title or a name.

export interface NamedWork {
  /** The context of the whole history, because the work may be older than the part of it that is listed. */
  readonly history: Context;
  readonly operations: readonly LoggedOperation[];
  readonly actions: readonly LoggedAction[];
  readonly sessions: readonly Session[];
}

/** The length of a shortened id. */
const SHORT = 8;

/**
 * Returns the summary of an undo or redo, with words instead of the id of a turn or session. For a turn, the words are
 * its title, or the summary of an action if the turn has no title. For a session, the words name its agent. If the
 * action or session is not found, the id is only shortened. Returns `undefined` if the summary has no such id.
 */
export async function titleOfUndo(operation: LoggedOperation, work: NamedWork): Promise<string | undefined> {
  const selective = selectiveOf(operation, work.operations);
  if (selective === undefined) return undefined;
  const [, kind, named = ""] = /^(turn|session) (.+)$/su.exec(selective.selection) ?? [];
  if (kind === "turn") {
    const turn = await turnIn(named, selective, work);
    return turn === undefined ? undefined : replaced(operation, `turn ${turn.id}`, turn.words);
  }
  if (kind === "session") {
    const [id = ""] = named.split(" ", 1);
    const session = work.sessions.find((one) => one.id === id);
    const words = session === undefined ? `session ${id.slice(0, SHORT)}` : `the session of ${session.actor}`;
    return replaced(operation, `session ${id}`, words);
  }
  return undefined;
}

function replaced({ summary }: LoggedOperation, what: string, words: string): string | undefined {
  return summary.includes(what) ? summary.replace(what, () => words) : undefined;
}

/**
 * Returns the selected work that the operation undid. If the operation is the undo or redo of an undo, returns the
 * selected work of that undo.
 */
function selectiveOf(operation: LoggedOperation, all: readonly LoggedOperation[]): Selective | undefined {
  const seen = new Set<string>();
  for (let one: LoggedOperation | undefined = operation; one !== undefined;) {
    if (one.selective !== undefined) return one.selective;
    const target: string | undefined = one.target;
    if (target === undefined || seen.has(target)) return undefined;
    seen.add(target);
    one = all.find(({ id }) => id === target);
  }
  return undefined;
}

/**
 * Returns the turn whose id is at the beginning of the text, and the words that name the turn. A turn id is unique only
 * within its session, and the record of an undo does not name the session. The session is therefore taken from an
 * action whose changes were undone.
 */
async function turnIn(
  text: string,
  selective: Selective,
  { history, actions }: NamedWork,
): Promise<{ readonly id: string; readonly words: string } | undefined> {
  const [word = ""] = text.split(" ", 1);
  let ofSession: string | undefined;
  for await (const action of undoneActions(history, selective)) {
    const { session, turn } = action;
    if (turn === undefined || !(text === turn || text.startsWith(`${turn} `))) {
      ofSession ??= session;
      continue;
    }
    const title = session === undefined ? undefined : await titleOfTurn(history, { session, turn });
    const first = actions.find((one) => one.turn === turn && one.session === session) ?? action;
    return { id: turn, words: `“${title ?? first.summary}”` };
  }
  // No undone action is of this turn: a rewind undid the later work of the session, and the turn had changed nothing.
  const title = ofSession === undefined ? undefined : await titleOfTurn(history, { session: ofSession, turn: word });
  if (title !== undefined) return { id: word, words: `“${title}”` };
  return word.length > SHORT ? { id: word, words: `turn ${word.slice(0, SHORT)}` } : undefined;
}

/** The maximum number of ids, and of events, that are searched for an action. Nearly always, the first one suffices. */
const MOST_LOOKS = 20;

/** Yields actions whose changes were undone, at least in part. */
async function* undoneActions(history: Context, selective: Selective): AsyncGenerator<LoggedAction> {
  const { takes, passes, met } = selective;
  for (const id of [...takes, ...passes].slice(0, MOST_LOOKS)) {
    const action = await actionById(history, id);
    if (action !== undefined) yield action;
  }
  for (const [first] of [...eventsTouched(selective), ...met].slice(0, MOST_LOOKS)) {
    const row = await history.index.locate(first);
    const [event] = row === undefined ? [] : await readEvents(history, [row]);
    const id = event?.record["action"];
    const action = typeof id === "string" ? await actionById(history, id) : undefined;
    if (action !== undefined) yield action;
  }
}
