import type { Selection } from "../../action-api.ts";
import { MOST_RECENT, RECENT_KINDS } from "../../recent-api.ts";
import type { UndoPart } from "../../workspace-api.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { sha256 } from "../../../core/values/hash.ts";
import { moment, path, word, bool, count, flag, many, paging, paths, text } from "../fields.ts";
import { workspaceRoute, type WorkspaceRoute, needsMachine, withoutUndefined } from "../row.ts";
import { numberOf, PAGE, pageOf, pageWithMore } from "../pages.ts";
import * as z from "zod";
import { isOneSelection } from "../../selection-fields.ts";
import * as calls from "../calls/history-calls.ts";

const tag = "history";

const status = workspaceRoute(calls.status, {
  tag,
  role: "reader",
  namesFolders: true,
  summary: "The state of the workspace, with the changes on disk that are not recorded yet",
  answer: (on) => on.status(),
});

const head = workspaceRoute(calls.head, {
  tag,
  role: "reader",
  summary: "The signed head, which commits to everything that is recorded",
  answer: (on) => on.head(),
});

const signing = workspaceRoute(calls.signing, {
  tag,
  role: "reader",
  namesFolders: true,
  summary: "Whether the history is signed, and what can be done if it is not",
  answer: (on) => on.signing(),
});

const recording = workspaceRoute(calls.recording, {
  tag,
  role: "reader",
  namesFolders: true,
  summary: "Whether changes are recorded at present, and by whom",
  answer: (on) => on.recording(),
});

const log = workspaceRoute(calls.log, {
  tag,
  role: "reader",
  summary: "The events of the log",
  query: z.strictObject({
    from: count("the first seq").optional(),
    to: count("the last seq").optional(),
    reverse: flag("newest first").optional(),
    prefix: z.string().max(1_200).describe("only events of records whose id begins with this text").optional(),
    ...paging,
  }),
  answer: async (on, { query: { limit = PAGE, cursor, ...options } }) => {
    const last = cursor === undefined ? undefined : numberOf(cursor);
    const bounds = last === undefined ? {} : options.reverse === true ? { to: last - 1 } : { from: last + 1 };
    const found = await on.log({ ...options, ...bounds, limit: limit + 1 });
    return pageWithMore(found, limit, ({ seq }) => String(seq));
  },
});

const snapshots = workspaceRoute(calls.listSnapshots, {
  tag,
  role: "reader",
  summary: "List snapshots, oldest first",
  query: z.strictObject(paging),
  answer: async (on, { query }) => pageOf(await on.snapshots(), query, ({ number }) => String(number)),
});

const snapshot = workspaceRoute(calls.takeSnapshot, {
  tag,
  role: "agent",
  summary: "Record everything now, and keep a name for the moment",
  body: z.strictObject({
    message: text("a message for people", 10_000).optional(),
    name: word("a name for the moment, unique in the workspace").optional(),
    pin: bool("keep the snapshot from being pruned").optional(),
    paranoid: bool("read every file again, even if its stat data is unchanged").optional(),
  }),
  answer: (on, { body }) => on.snapshot(body),
});

const capture = workspaceRoute(calls.capture, {
  tag,
  role: "agent",
  summary: "Record what changed on disk at these paths, and beneath them",
  body: z.strictObject({ paths: paths("the paths to record") }),
  answer: (on, { body }) => on.record(body.paths),
});

const manifest = workspaceRoute(calls.manifest, {
  tag,
  role: "reader",
  heavy: "answer",
  summary: "All files of a moment, with the Merkle root that commits to them",
  query: z.strictObject({ moment: moment("the moment") }),
  answer: (on, { query }) => on.manifest(query.moment),
});

const diff = workspaceRoute(calls.diff, {
  tag,
  role: "reader",
  heavy: "answer",
  heavyWith: ["patch", "renames"],
  summary: "What differs between two moments",
  query: z.strictObject({
    from: moment("the earlier moment"),
    to: moment("the later moment; `now`: the files on disk"),
    path: many("compare only this path and everything beneath it; repeat the field for further paths", 200).optional(),
    patch: flag("add the changed lines of each change, as a unified diff").optional(),
    renames: flag("report which deleted and which created file are one renamed file").optional(),
  }),
  answer: (on, { query: { from, to, path: only, patch, renames } }) =>
    on.diff(from, to, withoutUndefined({ paths: only, patch, renames })),
});

/**
 * The maximum number of bytes of a path that is used as a cursor. Percent-encoding may triple the length of a path, and
 * a longer path could make the head of a request too large.
 */
const MOST_IN_CURSOR = 1_000;

/**
 * Returns a cursor for each path of the list. The cursor is the path itself. If the path is too long, or equal to an
 * earlier path of the list, the cursor is a hash. Two paths of the list can be equal, because the list has paths that
 * are not UTF-8 in an escaped form.
 */
function cursorsOf(shown: readonly string[]): string[] {
  const met = new Map<string, number>();
  return shown.map((path) => {
    const count = (met.get(path) ?? 0) + 1;
    met.set(path, count);
    return count === 1 && Buffer.byteLength(path) <= MOST_IN_CURSOR ? path : sha256(`${count}:${path}`);
  });
}

const find = workspaceRoute(calls.find, {
  tag,
  role: "reader",
  summary: "Find recorded paths by their file name, including the paths of deleted files",
  query: z.strictObject({
    name: path("the file name"),
    part: flag("find all names that contain the text `name`; the case of the letters A to Z is ignored").optional(),
    ...paging,
  }),
  answer: async (on, { query: { name, part, ...asked } }) => {
    const found = await on.find(name, part === undefined ? {} : { part });
    const cursors = cursorsOf(found);
    const { items, next } = pageOf([...found.keys()], asked, (at) => cursors[at] ?? "");
    return { items: items.map((at) => found[at] ?? ""), next };
  },
});

const explain = workspaceRoute(calls.explain, {
  tag,
  role: "reader",
  namesFolders: true,
  summary: "Whether a path is recorded, and which rule decides that",
  query: z.strictObject({ path: path("the path") }),
  answer: (on, { query }) => on.explain(query.path),
});

const dryRun = bool("report what would be done or refused, and change nothing").optional();
const leave = bool("restore what can be restored, and leave the rest as it is (default: all or nothing)").optional();

const restore = workspaceRoute(calls.restore, {
  tag: "undo",
  role: "agent",
  summary: "Make files equal to an earlier moment",
  description: "The present state is recorded first. To take the restore back, undo the operation `undo_id`.",
  body: z.strictObject({
    moment: moment("the moment"),
    paths: paths("restore only these paths and everything beneath them (default: the whole workspace)").optional(),
    dry_run: dryRun,
    keep_mtime: bool("restore the files' modification times, to the nanosecond").optional(),
    force: bool(
      "restore what can be restored, and leave the rest as it is (default: all or nothing). A path in `paths` whose state could not be " +
        "recorded at the moment gets its last state that was recorded before",
    ).optional(),
  }),
  answer: (on, { body: { moment: when, dry_run, keep_mtime, ...options } }) =>
    on.restore(when, { ...options, ...withoutUndefined({ dryRun: dry_run, keepMtime: keep_mtime }) }),
});

/** The fields of a selection of work. `isOneSelection` says which of them can be given together. */
const selectionFields = {
  action: word("an action's id, the beginning of the id, or the agent's own id of the tool call").optional(),
  turn: word(
    "an agent's turn; `session` and `actor` may be given with it. `last`: the last turn that changed something; for an undo, the " +
      "last turn with something left to undo",
  ).optional(),
  session: word("an agent's session").optional(),
  actor: word("everything that this actor did").optional(),
  file: path(
    "every change to this path, and to paths beneath it; with another field: only the changes of that work to these paths",
  ).optional(),
  since: moment("every change after this moment, including people's own edits").optional(),
  to: moment(
    "all recorded work after this moment, without people's own edits. With the id of work or of a turn, the selection begins with that work",
  ).optional(),
  until: moment(
    "only with `since` or `to`: the moment at which the range ends; later changes are not selected",
  ).optional(),
  rewind: word("an agent's turn and all later work of its session, by the turn's id or `<session>:<turn>`").optional(),
};

const line = (what: string) => z.int().min(1).describe(what);

const MOST_PARTS = 10_000;

const part = z.strictObject({
  file: path("the file; if no lines are given, it may also be a folder"),
  from_line: line("the first line (default: all of the work in the file is undone)").optional(),
  to_line: line("the last line (default: `from_line`)").optional(),
  hunk: bool("undo only the hunk that has exactly these lines in the answer to a dry run with `hunks`").optional(),
  seen: z
    .string()
    .nullable()
    .describe(
      "the SHA-256 of the content in which the lines were counted; `null`: there was no file. If the file has another content now, the request is refused",
    )
    .optional(),
});

const backBody = z.strictObject({
  ...selectionFields,
  operation: word(
    "the id of the operation. Default: for an undo, the last operation that is not undone; for a redo, the operation that was undone last",
  ).optional(),
  from_line: line(
    "only for an undo: the first of the selected lines of `file`. Only hunks that touch the lines from `from_line` to `to_line` are undone, each as a whole",
  ).optional(),
  to_line: line("the last line (default: `from_line`)").optional(),
  parts: z
    .array(part)
    .min(1)
    .max(MOST_PARTS)
    .describe("only for an undo: the files in which all or some hunks of the work are undone, in one operation")
    .optional(),
  hunks: bool("only for a dry run of an undo: list each hunk of the work separately").optional(),
  dry_run: dryRun,
  force: bool("overwrite edits that were made after the work; the present state is recorded first").optional(),
  exact: bool("merge nothing: if a path was edited after the work, change nothing and answer `REFUSED`").optional(),
});

const backOptions = (body: z.output<typeof backBody>) => {
  const { operation, from_line, to_line, parts, hunks, dry_run, force, exact, ...selection } = body;
  const partOf = ({ from_line: fromLine, to_line: toLine, ...rest }: z.output<typeof part>): UndoPart => ({
    ...rest,
    ...{ fromLine, toLine },
  });
  return {
    ...selectionOf(withoutUndefined(selection)),
    ...withoutUndefined({ operation, fromLine: from_line, toLine: to_line, parts: parts?.map(partOf), hunks }),
    ...withoutUndefined({ dryRun: dry_run, force, exact }),
  };
};

const undo = workspaceRoute(calls.undo, {
  tag: "undo",
  role: "agent",
  summary: "Take work back",
  description:
    "Without a selection, one operation is undone. One of the fields `action`, `turn`, `session`, `actor`, `file`, `since`, `to` and `rewind` selects work; exactly the " +
    "selected changes are then undone. `until` can be added to `since` and `to`, and `file` to any other field. " +
    "Later edits stay: they are merged with the undo. A path whose changes do not merge stays as it is, and becomes a conflict.",
  body: backBody,
  answer: (on, { body }) => on.undo(backOptions(body)),
});

const redo = workspaceRoute(calls.redo, {
  tag: "undo",
  role: "agent",
  summary: "Do undone work again",
  body: backBody,
  answer: (on, { body }) => on.redo(backOptions(body)),
});

const rollback = workspaceRoute(calls.rollback, {
  tag: "undo",
  role: "agent",
  summary: "Make the files of an action equal to what they were before it",
  body: z.strictObject({
    dry_run: dryRun,
    force: leave,
    outside: z
      .array(path("an absolute path"))
      .max(1_000)
      .describe("restore these paths outside of the workspace, and nothing else")
      .optional(),
  }),
  answer: (on, { params, body: { dry_run, ...options }, me }) => {
    if (options.outside !== undefined) needsMachine(me);
    return on.rollback(params["action"] ?? "", { ...options, ...withoutUndefined({ dryRun: dry_run }) });
  },
});

const operations = workspaceRoute(calls.listOperations, {
  tag: "undo",
  role: "reader",
  summary: "List the operations that undo can take back, oldest first",
  query: z.strictObject(paging),
  answer: async (on, { query }) => pageOf(await on.operations(), query, ({ id }) => id),
});

const recent = workspaceRoute(calls.recent, {
  tag,
  role: "reader",
  summary: "What was done lately, newest first",
  description:
    "The items are runs, turns of agents, edits, operations, snapshots and syncs. An item is listed only if all given filters match.",
  query: z.strictObject({
    limit: count("the maximum number of items (default 20)", { least: 1, most: MOST_RECENT }).optional(),
    actions: flag(
      "add the actions of each turn and run, and list actions outside of turns and runs that changed nothing",
    ).optional(),
    actor: word("only work of this actor, or of this kind of actor, such as `person`").optional(),
    file: path("only work that changed this path, or a path beneath it").optional(),
    since: moment("only work after this moment").optional(),
    before: count(
      "only work whose last event is before this event; for the next page, give the `to_seq` of the last item",
      {
        least: 1,
      },
    ).optional(),
    after: count(
      "only work whose last event is after this event; for new work only, give the `seq` of an earlier answer",
    ).optional(),
    at_least: count(
      "the seq of an event: any answer that includes this event is enough, even one that was made up to 2 s ago",
    ).optional(),
    kind: z.enum(RECENT_KINDS).describe("only items of this kind").optional(),
    session: word("only work of the session with this id, or with an id that begins with this text").optional(),
    grep: text(
      "only work whose summary, or the summary of one of its actions, contains this text; case is ignored",
      1_000,
    ).optional(),
    renames: flag("list a renamed file as one path (default: true)").optional(),
    graph: flag(
      "add the lane of each item: its column in a graph that shows work of the same time side by side",
    ).optional(),
    unrecorded: flag("add the number of paths whose state on disk differs from the recorded state").optional(),
  }),
  answer: (on, { query: { limit, at_least: atLeast, ...options } }) =>
    on.recent(limit, withoutUndefined({ ...options, atLeast })),
});

const ticks = workspaceRoute(calls.ticks, {
  tag,
  role: "reader",
  summary: "All work of the history in columns, for a drawing over time",
  description:
    "The answer has one array for each column. The n-th items of all arrays are row n, which is one tick: a piece of work. To get new and changed ticks later, " +
    "give the `head` of the answer as `after`. A new tick replaces the earlier tick with the same first event.",
  query: z.strictObject({
    after: count("only work whose last event is after this event").optional(),
    before: count("only work whose last event is before this event", { least: 1 }).optional(),
    limit: count("the maximum number of ticks (default 5000)", { least: 1, most: 20_000 }).optional(),
    reverse: flag("select the newest ticks of the range instead of the oldest").optional(),
  }),
  answer: (on, { query }) => on.ticks(withoutUndefined(query)),
});

const changes = workspaceRoute(calls.changes, {
  tag: "undo",
  role: "reader",
  heavy: "answer",
  summary: "The changes of selected work",
  description:
    "One of the fields `action`, `turn`, `session`, `actor`, `file`, `since`, `to` and `rewind` selects the work; without any, it is the last turn. " +
    "`session` and `actor` can be added to `turn`, `until` to `since` and `to`, and `file` to any other field.",
  query: z.strictObject({
    ...selectionFields,
    patch: flag("add the changed lines of each change, as a unified diff").optional(),
    renames: flag("report which deleted and which created file are one renamed file").optional(),
  }),
  answer: (on, { query: { patch, renames, ...selection } }) =>
    on.changes(selectionOf(selection), withoutUndefined({ patch, renames })),
});

export const HISTORY_ROWS: readonly WorkspaceRoute[] = [
  status,
  head,
  signing,
  recording,
  log,
  snapshots,
  snapshot,
  capture,
  manifest,
  diff,
  find,
  explain,
  restore,
  undo,
  redo,
  rollback,
  operations,
  recent,
  ticks,
  changes,
];

function selectionOf(given: Selection): Selection {
  const named = Object.keys(given) as (keyof Selection)[];
  if (isOneSelection(named)) return given;
  throw new ChronicleError("USAGE", `only one of these can be given: ${named.join(", ")}`);
}
