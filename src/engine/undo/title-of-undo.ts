import { turnsPrefix } from "../../core/records/turn-record.ts";
import type { LoggedAction, Session } from "../facts/actions.ts";
import type { LoggedOperation } from "../facts/logged-operation.ts";
import { titleOfTurn } from "../facts/turns.ts";
import type { Context } from "../log/context.ts";

// The record of an undo names a turn or a session by its id. People are shown what they know it by.

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
 * Returns the text of an undo or redo, with the title of the turn, or the agent of the session, instead of its id. Without
 * a title, the turn is named by its first action, and else the id is shortened. Returns `undefined` if the text has no
 * such id.
 */
export async function titleOfUndo(operation: LoggedOperation, work: NamedWork): Promise<string | undefined> {
  const selection = selectionOf(operation, work.operations);
  const [, kind, named = ""] = /^(turn|session) (.+)$/su.exec(selection ?? "") ?? [];
  if (kind === "turn") {
    const turn = await turnIn(named, work);
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

/** Returns the selection of an undo, or that of the undo which it undoes or redoes. */
function selectionOf(operation: LoggedOperation, all: readonly LoggedOperation[]): string | undefined {
  const seen = new Set<string>();
  for (let one: LoggedOperation | undefined = operation; one !== undefined;) {
    if (one.selective !== undefined) return one.selective.selection;
    const target: string | undefined = one.target;
    if (target === undefined || seen.has(target)) return undefined;
    seen.add(target);
    one = all.find(({ id }) => id === target);
  }
  return undefined;
}

/** Returns the turn with whose id the text begins, and the words for it. */
async function turnIn(
  text: string,
  { history, actions }: NamedWork,
): Promise<{ readonly id: string; readonly words: string } | undefined> {
  const isNamed = (id: string): boolean => text === id || text.startsWith(`${id} `);
  const rows = await history.index.records(turnsPrefix());
  for (const { recordId } of rows.toReversed()) {
    const of = turnOf(recordId);
    if (!isNamed(of.turn)) continue;
    const title = await titleOfTurn(history, of);
    if (title !== undefined) return { id: of.turn, words: `“${title}”` };
  }
  const first = actions.find(({ turn }) => turn !== undefined && isNamed(turn));
  if (first?.turn !== undefined) return { id: first.turn, words: `“${first.summary}”` };
  const [id = ""] = text.split(" ", 1);
  return id.length > SHORT ? { id, words: `turn ${id.slice(0, SHORT)}` } : undefined;
}

function turnOf(recordId: string): { readonly session: string; readonly turn: string } {
  const named = recordId.slice(turnsPrefix().length);
  const colon = named.indexOf(":");
  return { session: named.slice(0, colon), turn: named.slice(colon + 1) };
}
