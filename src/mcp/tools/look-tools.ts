import * as z from "zod";
import type { ActionShape } from "../../api/action-shapes.ts";
import type { Selection } from "../../api/action-api.ts";
import type { RecentItem } from "../../api/recent-api.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Answer } from "../tool-answer.ts";
import {
  actionId,
  idMeant,
  inWorkspace,
  limit,
  named,
  patch,
  path as aPath,
  selectionOf,
  selectionShape,
} from "../arguments.ts";
import { counted, oneLine } from "../one-line.ts";
import {
  actionLine,
  ambiguousLines,
  cappedAction,
  cappedChanges,
  changedText,
  changeLines,
  coverageLines,
  gitLines,
  listedAction,
  noteLines,
  renamedAsOne,
  said,
  timeOf,
} from "../show.ts";
import { countThatFits, listed } from "../fit.ts";
import { shortId } from "../short-ids.ts";
import { inCalls } from "../tool-words.ts";
import { optional } from "../../util/optional.ts";
import * as output from "../outputs.ts";
import { defineTool, type Tool } from "../tool.ts";

const MOST_AMBIGUOUS = 100;

/** The maximum number of paths in a list of the paths that were kept before an action. */
const MOST_KEPT = 20;

const NO_ACTIONS =
  "No action is recorded. Actions come from an agent's hooks (`chronicle agents install`); list_history shows what " +
  "else was recorded, and restore goes back to a moment.";

const listHistory = defineTool({
  name: "list_history",
  title: "List recent work",
  description:
    "Lists what was done to the files of this workspace, newest first: agents' turns and actions, commands that were run, " +
    "people's edits, restores, undos and snapshots, each with its id and a way to undo it or to restore the state before it. Use it to see all that happened; for " +
    "the single edits of an agent, use list_actions.",
  input: z.strictObject({ limit: limit(20, 100) }),
  output: { items: z.array(output.recent) },
  effect: "reads",
  run: async (workspace, { limit: most }): Promise<Answer> => {
    const { items } = await workspace.recent(most);
    return {
      summary: items.length === 0 ? "Nothing is recorded." : `${counted(items.length, "line")}, newest first:`,
      lines: [listed(items.map(recentLine))],
      next: [
        "undo takes back the newest operation that is not undone; undo with `operation` and an id takes back that operation.",
      ],
      data: { items: items.map(shortRecent) },
    };
  },
});

function recentLine({ short_id: id, kind, timestamp, summary, changed, undone, outcome }: RecentItem): string {
  const ended = outcome === undefined ? "" : `, ${outcome}`;
  const marks = `${counted(changed, "path")}${ended}${undone === true ? ", undone" : ""}`;
  return `${id}  ${timeOf(timestamp)}  ${kind}: ${said(summary, 160)}  (${marks})`;
}

/** The maximum number of paths of one line of recent work. */
const MOST_PATHS = 3;

function shortRecent({ short_id: id, paths, more_paths: more = 0, back, ...rest }: RecentItem): object {
  const left = paths.length - MOST_PATHS;
  const morePaths = more + Math.max(0, left);
  return {
    ...{ ...rest, id, paths: paths.slice(0, MOST_PATHS) },
    ...(morePaths === 0 ? {} : { more_paths: morePaths }),
    ...(back === "" ? {} : { back: inCalls(back) }),
  };
}

/**
 * The number of characters that is reserved for the rest of an answer: in its text besides the lines of the page, and
 * in its data besides the items.
 */
const BESIDE_TEXT = 350;
const BESIDE_DATA = 600;

interface Selected {
  readonly session: string | undefined;
  readonly turn: string | undefined;
  readonly path: string | undefined;
}

/**
 * Returns the actions that belong to the given session and turn and name the given path. Any of these may be absent. A
 * session or turn may be given by the beginning of its id.
 */
function selected(all: readonly ActionShape[], { session, turn, path }: Selected): readonly ActionShape[] {
  const ofSession =
    session === undefined
      ? undefined
      : idMeant(
          all.flatMap((one) => one.session ?? []),
          session,
          "sessions",
        );
  const inSession = all.filter((one) => ofSession === undefined || one.session === ofSession);
  const ofTurn =
    turn === undefined
      ? undefined
      : idMeant(
          inSession.flatMap((one) => one.turn ?? []),
          turn,
          "turns",
        );
  return inSession.filter(
    (one) =>
      (ofTurn === undefined || one.turn === ofTurn) &&
      (path === undefined || [...one.files_backed_up, ...one.outside].includes(path)),
  );
}

/**
 * Returns a page of actions, newest first, and the cursor of the next page (`undefined` if there is none). `all` has
 * the oldest action first. `cursor` is the id of the page's first action, or the beginning of the id. Without a cursor,
 * the page begins with the newest action. `most` gets the actions from the cursor on, and returns how many of them the
 * page has. Throws `NOT_FOUND` for an unknown cursor.
 */
function pageOf(
  all: readonly ActionShape[],
  cursor: string | undefined,
  most: (rest: readonly ActionShape[]) => number,
): { readonly page: readonly ActionShape[]; readonly next: string | undefined } {
  const newestFirst = [...all].reverse();
  const ids = newestFirst.map((one) => one.id);
  const at = cursor === undefined ? 0 : ids.indexOf(idMeant(ids, cursor, "actions"));
  if (at < 0) {
    throw new ChronicleError("NOT_FOUND", `no action of this list has the cursor ${JSON.stringify(cursor)}`, {
      hint: "leave the cursor out to begin at the newest action",
    });
  }
  const end = at + most(newestFirst.slice(at));
  return { page: newestFirst.slice(at, end), next: newestFirst[end]?.id };
}

/** Returns the ids of operations that were undone and not redone. */
async function undoneOnes(workspace: WorkspaceApi): Promise<ReadonlySet<string>> {
  return new Set((await workspace.operations()).flatMap(({ id, undone }) => (undone ? [id] : [])));
}

const listActions = defineTool({
  name: "list_actions",
  title: "List agents' actions",
  description:
    "Lists the single tool calls of agents (edits, writes, deletions, shell commands) that this workspace recorded, newest " +
    "first. An action with the mark `UNDONE` was taken back. Each action can be taken back alone, by undo with its id; " +
    "later work stays. Start here when somebody says `that last edit was wrong, take it back`.",
  input: z.strictObject({
    session: named("list only the actions of this session").optional(),
    turn: named("list only the actions of this turn").optional(),
    path: aPath.describe("list only the actions that were about to touch this path").optional(),
    limit: limit(20, 100),
    cursor: named("`next_cursor` of the previous answer, to list older actions").optional(),
  }),
  output: {
    actions: z.array(output.action.extend({ undone: output.flag })),
    total: output.count,
    next_cursor: output.text.nullable(),
  },
  effect: "reads",
  run: async (workspace, { session, turn, path, limit: most, cursor }, room): Promise<Answer> => {
    const given = path === undefined ? undefined : inWorkspace(workspace, path);
    const wanted = selected(await workspace.list(), { session, turn, path: given });
    const undone = await undoneOnes(workspace);
    const show = (one: ActionShape): object => ({ ...listedAction(one), undone: undone.has(one.id) });
    const line = (one: ActionShape): string => `${actionLine(one)}${undone.has(one.id) ? "  UNDONE" : ""}`;
    const { page, next } = pageOf(wanted, cursor, (rest) => {
      const asked = rest.slice(0, most);
      const inText = countThatFits(asked, (one) => line(one).length + 1, room.text - BESIDE_TEXT);
      return countThatFits(asked.slice(0, inText), (one) => JSON.stringify(show(one)).length, room.data - BESIDE_DATA);
    });
    const newest = page.find((one) => !undone.has(one.id)) ?? page[0];
    return {
      summary:
        wanted.length === 0 ? NO_ACTIONS : `${page.length} of ${counted(wanted.length, "action")}, newest first:`,
      lines: [listed(page.map(line))],
      next: [
        ...(newest === undefined ? [] : [`show_action {"id":"${shortId(newest.id)}"} shows its changes.`]),
        ...(newest === undefined
          ? []
          : [`undo {"action":"${shortId(newest.id)}"} takes that action back; later work stays.`]),
        ...(next === undefined ? [] : [`list_actions {"cursor":"${shortId(next)}"} lists older actions.`]),
      ],
      data: {
        actions: page.map(show),
        total: wanted.length,
        next_cursor: next ?? null,
      },
    };
  },
});

const showAction = defineTool({
  name: "show_action",
  title: "Show one action",
  description:
    "Shows one action: what it did, who did it, which files were kept before it ran, and what it changed. With " +
    "`patch`, the answer has the changed lines.",
  input: z.strictObject({ id: actionId, patch }),
  output: { action: output.action, ...output.changes, git: output.gitChanges, ambiguous: output.texts },
  effect: "reads",
  hints: { NOT_FOUND: "list_actions lists the ids", AMBIGUOUS: "give more of the id, as list_actions shows it" },
  run: async (workspace, { id, patch: withPatch }): Promise<Answer> => {
    const action = await workspace.showAction(id);
    const result = await workspace.changes({ action: action.id }, { patch: withPatch, renames: true });
    const { ambiguous, git = [] } = result;
    const changes = renamedAsOne(result.changes, withPatch);
    const kept = [...action.files_backed_up, ...action.outside];
    return {
      summary: actionLine(action),
      lines: [
        `by ${oneLine(action.actor)}${action.session === null ? "" : `, session ${oneLine(shortId(action.session))}`}`,
        `kept before it ran: ${counted(kept.length, "path")}`,
        listed(
          kept.slice(0, MOST_KEPT).map((one) => `= ${oneLine(one)}`),
          kept.length,
        ),
        ...(action.reason === undefined ? [] : [`reason: ${said(action.reason)}`]),
        `it changed: ${changedText(changes, git)}`,
        changeLines(changes),
        listed(gitLines(git)),
        ...ambiguousLines(ambiguous),
        ...coverageLines(action.coverage),
      ],
      next: [
        `undo {"action":"${shortId(action.id)}"} takes back these changes and keeps later work; with "dry_run":true, undo only shows what it would do.`,
        `rollback {"id":"${shortId(action.id)}"} gives its files the state from before the action, and so also removes later edits of these files.`,
      ],
      data: {
        action: cappedAction(action),
        ...cappedChanges(changes),
        ...(git.length === 0 ? {} : { git }),
        ambiguous: ambiguous.slice(0, MOST_AMBIGUOUS),
      },
    };
  },
});

/** Returns a selection as the argument of a call, with short ids. */
function selectionText({ file, ...ids }: Selection): string {
  return JSON.stringify({
    ...Object.fromEntries(Object.entries(ids).map(([key, id]) => [key, shortId(id)])),
    ...optional({ file }),
  });
}

const whatChanged = defineTool({
  name: "what_changed",
  title: "What somebody changed",
  description:
    "Shows the changes of one action, turn, session or actor, all changes of a file, or all changes since a time. Give at most one of these. " +
    "Without arguments, it shows what the last turn changed. Use it before an undo of the same selection, to see what the undo is about.",
  input: z.strictObject({ ...selectionShape, patch }),
  output: {
    selection: output.text,
    actions: z.array(output.action),
    total_actions: output.count,
    ...output.changes,
    git: output.gitChanges,
    ambiguous: output.texts,
  },
  effect: "reads",
  hints: { NOT_FOUND: "list_actions shows the actions, turns and sessions" },
  run: async (workspace, { patch: withPatch, ...given }): Promise<Answer> => {
    const selection = selectionOf(workspace, given) ?? { turn: "last" };
    const result = await workspace.changes(selection, { patch: withPatch, renames: true });
    const { actions, ambiguous, git = [] } = result;
    const changes = renamedAsOne(result.changes, withPatch);
    return {
      summary: `${said(result.selection)}: ${counted(actions.length, "action")}; ${changedText(changes, git)}.`,
      lines: [
        listed(actions.slice(0, 20).map(actionLine), actions.length),
        changeLines(changes),
        listed(gitLines(git)),
        ...ambiguousLines(ambiguous),
        listed(noteLines(result.notes ?? [])),
      ],
      next:
        changes.length + git.length === 0
          ? []
          : [`undo ${selectionText(selection)} takes back exactly these changes; later work stays.`],
      data: {
        selection: result.selection,
        actions: actions.slice(0, 20).map(listedAction),
        total_actions: actions.length,
        ...cappedChanges(changes),
        ...(git.length === 0 ? {} : { git }),
        ambiguous: ambiguous.slice(0, MOST_AMBIGUOUS),
      },
    };
  },
});

export const LOOK_TOOLS: readonly Tool[] = [listHistory, listActions, showAction, whatChanged];
