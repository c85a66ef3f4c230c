import type { Selection } from "../../../src/api/action-api.ts";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { UndoOptions } from "../../../src/api/workspace-api.ts";

/**
 * A piece of work that the page shows: a turn, a session, an action, or everything between two moments. The address of
 * the page contains the work as text, so that a copied address shows the same work.
 */
export type WorkRef =
  | { readonly select: Selection; readonly from?: undefined; readonly to?: undefined }
  | { readonly select?: undefined; readonly from: string; readonly to: string; readonly operation?: string };

const SELECTABLE = ["session", "action", "actor", "file", "since"] as const;

/**
 * Returns the text of a piece of work: `turn=SESSION:ID`, `session=ID`, `action=ID`, `range=seq:1..seq:2` for the work
 * of a range, `seq:1..seq:2` for two moments to compare.
 */
export function workText(work: WorkRef): string {
  if (work.select === undefined) {
    return `${work.from}..${work.to}${work.operation === undefined ? "" : `=${work.operation}`}`;
  }
  const { turn, session, ...others } = work.select;
  if (others.since !== undefined && others.until !== undefined) return `range=${others.since}..${others.until}`;
  if (turn !== undefined) return `turn=${encodeURIComponent(session ?? "")}:${encodeURIComponent(turn)}`;
  const [[name, value] = ["session", session]] = Object.entries(others);
  return `${name}=${value}`;
}

/** Returns the piece of work with this text; `undefined` if the text has another form. */
export function parseWork(text: string): WorkRef | undefined {
  const range = /^(?!\w+=)(.+?)\.\.(.+?)(?:=([^=]+))?$/s.exec(text);
  if (range !== null) {
    const [, from = "", to = "", operation] = range;
    return { from, to, ...(operation === undefined ? {} : { operation }) };
  }
  const [, name = "", value = ""] = /^(\w+)=(.+)$/s.exec(text) ?? [];
  if (name === "turn") return parseTurn(value);
  if (name === "range") {
    const [, since, until] = /^(seq:\d+)\.\.(seq:\d+)$/.exec(value) ?? [];
    return since === undefined || until === undefined ? undefined : { select: { since, until } };
  }
  const known = SELECTABLE.find((one) => one === name);
  return known === undefined ? undefined : { select: { [known]: value } };
}

function parseTurn(value: string): WorkRef | undefined {
  const [session = "", turn = ""] = value.split(":", 2);
  try {
    return { select: selectedTurn(decodeURIComponent(turn), decodeURIComponent(session)) };
  } catch {
    return undefined;
  }
}

/**
 * Returns the selection of a turn. The selection also names the session, because the id of a turn is unique only in its
 * session.
 */
function selectedTurn(turn: string, session: string): Selection {
  return session === "" ? { turn } : { turn, session };
}

/** Returns the work of a line of the timeline. */
export function workOf(item: RecentItem): WorkRef {
  const { kind, id, session, from_seq, to_seq } = item;
  if (kind === "turn") return { select: selectedTurn(id, session ?? "") };
  if (kind === "run") return { select: { session: id } };
  if (kind === "action") return { select: { action: id } };
  const range = { from: `seq:${from_seq}`, to: `seq:${to_seq}` };
  return OPERATIONS.includes(kind) ? { ...range, operation: id } : range;
}

/** Returns everything that was done from the older one of two lines to the newer one, also by others. */
export function rangeOf(one: RecentItem, other: RecentItem): WorkRef {
  const since = `seq:${Math.min(beginOf(one), beginOf(other))}`;
  return { select: { since, until: `seq:${Math.max(one.to_seq, other.to_seq)}` } };
}

/** Returns the event before the work of a line. A range cannot begin before the baseline, so it begins after it. */
function beginOf({ kind, from_seq: from, to_seq: to }: RecentItem): number {
  return kind === "baseline" ? to : from;
}

/** Returns the events of a range: those after `from`, up to `to`. Returns `undefined` for any other work. */
export function eventsOf({ select }: WorkRef): { readonly from: number; readonly to: number } | undefined {
  if (select?.since === undefined || select.until === undefined) return undefined;
  const [from, to] = [select.since, select.until].map((moment) => Number(moment.slice("seq:".length)));
  return from === undefined || to === undefined ? undefined : { from, to };
}

/** The kinds of lines that are one operation, which `undo` can take back by its id. */
const OPERATIONS: readonly RecentItem["kind"][] = ["write", "restore", "undo", "redo", "resolve", "transaction"];

/**
 * Returns the options of the undo that takes back a piece of work. Returns `undefined` if only a restore can take the
 * work back, as for a person's edits.
 */
export function undoOf(work: WorkRef): UndoOptions | undefined {
  if (work.select !== undefined) return work.select;
  return work.operation === undefined ? undefined : { operation: work.operation };
}
