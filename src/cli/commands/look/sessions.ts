import type { ActionDiffShape, ActionShape } from "../../../api/action-shapes.ts";
import { EXIT } from "../../../api/problems.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { meantBy } from "../../../core/values/meant-by.ts";
import { formatBytes } from "../../../core/values/duration.ts";
import type { CommandContext } from "../../support/context.ts";
import { ambiguousLines } from "../../render/changes.ts";
import { columns } from "../../render/columns.ts";
import { harmlessLinesOfAction, lossLines } from "../../render/omitted-changes.ts";
import { counted, ago } from "../../render/words.ts";
import { printable, shortened } from "../../../process/printable.ts";
import type { SessionShape } from "../../../api/shapes.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { sessionCommand, sessionEnd } from "../../render/sessions.ts";

const LONGEST_COMMAND = 60;

export async function sessions(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const all = (await workspace.sessions()).toSorted((a, b) => orderOf(b) - orderOf(a));
  const limit = context.input.number("limit") || Infinity;
  const shown = await Promise.all(all.slice(0, limit).map((one) => soFar(workspace, one)));
  if (context.json) {
    context.printJson(shown);
    return EXIT.done;
  }
  const rows = shown.map((one) => (one.kind === "replica" ? replicaRow(one, context) : ownRow(one, context)));
  for (const line of columns(rows, "<<<>")) context.print(line);
  if (all.length === 0) context.say(context.worded("no sessions yet: chronicle run -- <command>"));
  return EXIT.done;
}

/**
 * Returns the session. For a running session, sets `changed` to the number of changes so far, because the engine counts
 * changes only when a session ends. If the changes of the session were pruned, returns the session unchanged.
 */
export async function soFar(workspace: WorkspaceApi, session: SessionShape): Promise<SessionShape> {
  if (session.state !== "running") return session;
  try {
    const { changes } = await workspace.changes({ session: session.session_id });
    return { ...session, changed: changes.length };
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "PRUNED") return session;
    throw error;
  }
}

/**
 * Returns the seq by which sessions are sorted. For a replica's session, this is the seq of its last change. For any
 * other session, it is the seq of its first event.
 */
function orderOf({ kind, from_seq: from, to_seq: to }: SessionShape): number {
  return kind === "replica" ? (to ?? from) : from;
}

function ownRow(session: SessionShape, { paint, io }: CommandContext): string[] {
  return [
    paint("dim", session.session_id),
    ago(session.started, io.now()),
    sessionEnd(session, paint),
    counted(session.changed, "change"),
    shortened(sessionCommand(session), LONGEST_COMMAND),
  ];
}

/**
 * Returns the row of a replica's session. The row has the actor in place of the command, because only the replica knows
 * the command.
 */
function replicaRow(session: SessionShape, { paint, io }: CommandContext): string[] {
  return [
    paint("dim", printable(session.session_id)),
    ago(session.ended ?? session.started, io.now()),
    sessionEnd(session, paint),
    counted(session.changed, "change"),
    `(${printable(session.actor)})`,
  ];
}

const DEFAULT_LIMIT = 20;
const LONGEST_SUMMARY = 60;
const MOST_FILES = 20;

export async function actions(context: CommandContext): Promise<number> {
  const [id] = context.input.args;
  return id === undefined ? listAll(context) : showOne(context, id);
}

async function listAll(context: CommandContext): Promise<number> {
  const { input } = context;
  const workspace = await context.reading();
  const [session, turn, limit] = [input.text("session"), input.text("turn"), input.number("limit")];
  const all = await workspace.list();
  const [ofSession, ofTurn] = [meantId(all, "session", session), meantId(all, "turn", turn)];
  const meant = all
    .filter(
      (one) => (session === undefined || one.session === ofSession) && (turn === undefined || one.turn === ofTurn),
    )
    .toReversed();
  const most = limit ?? (context.json ? 0 : DEFAULT_LIMIT);
  const shown = most === 0 ? meant : meant.slice(0, most);
  if (context.json) {
    context.printJson(shown);
    return EXIT.done;
  }
  for (const line of columns(
    shown.map((one) => row(context, one)),
    "<<<>",
  ))
    context.print(line);
  if (shown.length < meant.length)
    context.print(`… and ${counted(meant.length - shown.length, "older one")}: --limit 0`);
  if (meant.length === 0)
    context.say(context.worded("no actions yet: after `chronicle agents install`, an agent's tool calls are recorded"));
  return EXIT.done;
}

/**
 * Returns the id of the session or turn that `asked` (an id or the beginning of one) means. Returns `undefined` if
 * `asked` is `undefined`, or if no action has such an id. Throws `AMBIGUOUS` if several ids begin with `asked`.
 */
function meantId(all: readonly ActionShape[], what: "session" | "turn", asked: string | undefined): string | undefined {
  if (asked === undefined) return undefined;
  const ids = [...new Set(all.flatMap((one) => one[what] ?? []))];
  const [first, ...others] = meantBy(ids, asked, (id) => id);
  if (others.length === 0) return first;
  throw new ChronicleError("AMBIGUOUS", `${asked} is the beginning of ${counted(others.length + 1, what)}`, {
    hint: "give more characters of the id",
  });
}

function row(context: CommandContext, one: ActionShape): string[] {
  const { paint, io } = context;
  const isWhole = one.coverage.complete && one.omitted_changes?.some(({ recorded }) => recorded === true) !== true;
  const marks = [one.pinned ? "pinned" : "", isWhole ? "" : paint("yellow", "partial")];
  return [
    paint("dim", one.id.slice(0, 8)),
    ago(one.timestamp, io.now()),
    stateOf(context, one),
    one.changed === null ? "" : counted(one.changed, "change"),
    [shortened(printable(one.action_summary), LONGEST_SUMMARY), ...marks].filter(Boolean).join(" "),
  ];
}

function stateOf({ paint }: CommandContext, { state }: ActionShape): string {
  if (state === "done") return state;
  return paint(state === "open" ? "cyan" : "yellow", state);
}

async function showOne(context: CommandContext, id: string): Promise<number> {
  const workspace = await context.reading();
  const action = await workspace.showAction(id);
  const diff = await workspace.diffAction(action.id);
  if (context.json) {
    context.printJson({ action, diff });
    return EXIT.done;
  }
  for (const line of headLines(context, action)) context.print(line);
  const paths = context.paths(workspace);
  const { ambiguous } = await workspace.changes({ action: action.id });
  const style = { paint: context.paint, shown: (path: string) => paths.shown(path) };
  for (const line of ambiguousLines(ambiguous, { ...style, worded: context.worded })) context.print(line);
  const isOutside = action.outside.length > 0;
  for (const line of diffLines(context, diff, { shown: style.shown, isOutside })) context.print(line);
  return EXIT.done;
}

function headLines(context: CommandContext, one: ActionShape): string[] {
  const changed = one.changed === null ? "" : `, ${counted(one.changed, "change")}`;
  const reason = one.reason === undefined ? "" : ` (${printable(one.reason)})`;
  const ended = one.ended === null ? "" : ` to ${one.ended}`;
  const { omitted } = one.coverage;
  const files = one.files_backed_up.slice(0, MOST_FILES).map((path) => printable(path));
  const more = one.files_backed_up.length - files.length;
  return [
    `action    ${one.id}`,
    `what      ${printable(one.action_summary)}`,
    `time      ${one.timestamp}${ended}`,
    `state     ${stateOf(context, one)}${reason}${changed}`,
    `actor     ${printable(one.actor)}`,
    ...named("session", one.session),
    ...named("turn", one.turn),
    ...named("call", one.tool_call),
    ...named("within", one.transaction_id === null ? null : `transaction ${one.transaction_id}`),
    `kept      ${one.scope === "workspace" ? "the whole workspace; named: " : ""}${files.join(", ") || "nothing by name"}${more > 0 ? ` and ${more} more` : ""}`,
    ...one.outside.map((path) => `outside   ${printable(path)}`),
    ...(omitted.length === 0
      ? []
      : [`not kept  ${omitted.map(({ path, reason: why }) => `${printable(path)} (${why})`).join(", ")}`]),
    ...[...lossLines(one.omitted_changes), ...harmlessLinesOfAction(one.omitted_changes)].map(
      (line) => `left out  ${line}`,
    ),
    `hash      ${one.hash}`,
  ];
}

function named(name: string, value: string | null): string[] {
  return value === null ? [] : [`${name.padEnd(10)}${printable(value)}`];
}

const SIGNS = { created: "+", modified: "~", deleted: "-", permissions_changed: "m" } as const;

function diffLines(
  { paint }: CommandContext,
  { changes }: ActionDiffShape,
  { shown, isOutside }: { readonly shown: (path: string) => string; readonly isOutside: boolean },
): string[] {
  // Paths outside of the workspace are not compared.
  if (changes.length === 0)
    return [
      `now       ${isOutside ? "the workspace is as it was before; the paths outside were not compared" : "as it was before"}`,
    ];
  const rows = changes.map((change) => {
    const what = change.change_type === "deleted" ? "" : formatBytes(change.size_bytes);
    return [`  ${SIGNS[change.change_type]} ${shown(change.path)}`, paint("dim", what)];
  });
  const verb = changes.length === 1 ? "differs" : "differ";
  return [`now       ${counted(changes.length, "path")} ${verb} from the state before the action`, ...columns(rows)];
}
