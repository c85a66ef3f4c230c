import { EXIT } from "../../../api/problems.ts";
import type { SnapshotShape } from "../../../api/shapes.ts";
import {
  MOST_RECENT,
  type RecentItem,
  type RecentOptions,
  type RecentShape,
  RECENT_KINDS,
} from "../../../api/recent-api.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { GraphLanes } from "../../../core/log/graph-lanes.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { CommandContext } from "../../support/context.ts";
import { columns } from "../../render/columns.ts";
import { timelineLines } from "../../render/timeline.ts";
import { ago, counted, takenWords } from "../../render/words.ts";
import { printable, shortened, shownCommand } from "../../../process/printable.ts";
import { usageError } from "../../../process/usage-error.ts";
import { standingFolderIfThere } from "../../../process/user-path.ts";
import { addAll } from "../../../util/long-lists.ts";
import { optional } from "../../../util/optional.ts";

const DEFAULT_LIMIT = 20;
const HINTED_SUMMARY = 30;

const NOTHING_YET = `nothing is recorded here yet

  chronicle run -- <command>     run anything; see what it changed, take it back
  chronicle watch                record changes as they happen
  chronicle -h                   everything else`;

async function recent(context: CommandContext, workspace: WorkspaceApi, limit: number): Promise<void> {
  const most = limit === 0 ? Number.MAX_SAFE_INTEGER : limit;
  const { graph, ...asked } = await optionsOf(context, workspace);
  // Lanes lead from one page to the next one, so they are drawn here.
  const options = context.json ? { ...asked, ...optional({ graph }) } : asked;
  const lanes = graph === true ? new GraphLanes() : undefined;
  const size = context.json ? most : Math.min(most, PAGE);
  const { result, from } = await recentForCaller(context, workspace, { size, most, options });
  if (context.json) return context.printJson(result);
  for (const line of unrecordedLines(context, result)) context.print(line);
  const isReader = (await context.meThere())?.role === "reader";
  // The commands that restore or undo are left out in two cases: with `--upstream`, because they only work at the
  // origin, and for a reader, because a reader may not use them.
  const isWithBack = !isUpstream(context) && !isReader;
  if (result.items.length === 0) return nothingMatches(context);
  // The hints are about the newest snapshot, and the work that `undo` would undo.
  const hinted: RecentItem[] = [];
  for await (const page of pages(context, from, { first: result.items, size, most, options })) {
    const drawn = lanes === undefined ? page : page.map((item) => inLanes(item, lanes));
    for (const line of timelineLines(context, drawn, { isWithBack })) context.print(line);
    const hasSnapshot = hinted.some(({ kind }) => kind === "snapshot");
    if (hinted.length === 0) addAll(hinted, page.slice(0, 1));
    addAll(
      hinted,
      page.filter((one) => one.is_next === true || (one.kind === "snapshot" && !hasSnapshot)),
    );
  }
  if (isReader) return;
  context.print();
  const hints = [
    ...undoHint(context, { ...result, items: hinted }),
    ...hinted
      .filter(({ kind }) => kind === "snapshot")
      .slice(0, 1)
      .map((item) => context.worded(snapshotHint(item))),
    context.worded(HINT),
  ];
  context.print(context.paint("dim", isUpstream(context) ? UPSTREAM_HINT : hints.join("; ")));
}

/** Returns an item with its lanes in the graph. Each session has its own lane; outside of sessions, each actor has. */
function inLanes(item: RecentItem, lanes: GraphLanes): RecentItem {
  const { from_seq: fromSeq, to_seq: seq, session, actor } = item;
  const { lane, beside } = lanes.next({ fromSeq, seq, key: session ?? actor });
  return { ...item, lane, lanes_beside: [...beside] };
}

/**
 * The number of items that are read and printed first. Each further page has as many items as all pages before it, up
 * to `MOST_RECENT`, so that the first ones are printed soon.
 */
const PAGE = 200;

interface Pages {
  readonly first: readonly RecentItem[];
  readonly size: number;
  readonly most: number;
  readonly options: RecentOptions;
}

/** Yields the items page by page, newest first. Stops once nobody reads the output any more. */
async function* pages(
  context: CommandContext,
  workspace: WorkspaceApi,
  { first, size, most, options }: Pages,
): AsyncGenerator<readonly RecentItem[]> {
  let page = first;
  let asked = size;
  for (let seen = 0; page.length > 0;) {
    yield page;
    seen += page.length;
    const before = page.at(-1)?.to_seq;
    if (seen >= most || page.length < asked || !(await context.goesOn())) return;
    asked = Math.min(most - seen, seen, MOST_RECENT);
    page = (await workspace.recent(asked, { ...options, unrecorded: false, ...optional({ before }) })).items;
    // A server of an older version does not know `before`.
    if (before === undefined || page.some((one) => one.to_seq >= before)) return;
  }
}

/** Returns the lines that report changes in the folder that are not recorded yet; an empty list if there are none. */
function unrecordedLines({ paint, worded }: CommandContext, { unrecorded = 0 }: RecentShape): string[] {
  if (unrecorded === 0) return [];
  const what = `${counted(unrecorded, "path")} ${unrecorded === 1 ? "was" : "were"} changed since`;
  const pronoun = unrecorded === 1 ? "is" : "are";
  return [paint("yellow", worded(`${what} and ${pronoun} not recorded yet: chronicle snapshot`)), ""];
}

function nothingMatches(context: CommandContext): void {
  context.print("nothing that was recorded matches");
  const grep = context.input.text("grep");
  if (grep === undefined) return;
  const command = context.worded(shownCommand(["chronicle", "log", "-S", grep]));
  context.print(context.paint("dim", `to search the contents: ${command}`));
}

/**
 * Returns the recent work that the caller may see, and the workspace to read further pages from. The title of a turn
 * can be a prompt, and prompts are not shown to agents. If the answer has turns or further pages, `forPrompts`
 * therefore checks whether an agent runs the command. Other answers need no check.
 */
async function recentForCaller(
  context: CommandContext,
  workspace: WorkspaceApi,
  { size, most, options }: Omit<Pages, "first">,
): Promise<{ readonly result: RecentShape; readonly from: WorkspaceApi }> {
  const result = await workspace.recent(size, options);
  const hasMore = size < most && result.items.length === size;
  if (!hasMore && !result.items.some(({ kind }) => kind === "turn")) return { result, from: workspace };
  const allowed = await context.forPrompts(workspace);
  return { result: allowed === workspace ? result : await allowed.recent(size, options), from: allowed };
}

/** Returns the filters of the command line. Throws `USAGE` for an unknown kind. */
async function optionsOf(context: CommandContext, workspace: WorkspaceApi): Promise<RecentOptions> {
  const { input } = context;
  const [file, asked] = [input.text("file"), input.text("kind")];
  const kind = RECENT_KINDS.find((one) => one === asked);
  if (asked !== undefined && kind === undefined)
    throw usageError(`there is no kind ${JSON.stringify(asked)}`, `the kinds are ${RECENT_KINDS.join(", ")}`);
  return {
    ...(input.flag("bare") ? { unrecorded: true } : {}),
    ...(input.flag("actions") ? { actions: true } : {}),
    ...(input.flag("graph") ? { graph: true } : {}),
    ...(input.flag("bare") || input.flag("renames") ? {} : { renames: false }),
    ...optional({ actor: input.text("actor"), since: input.text("since"), session: input.text("session") }),
    ...optional({ kind, grep: input.text("grep") }),
    ...(file === undefined ? {} : { file: await context.paths(workspace).toWorkspace(file) }),
  };
}

const UNDO = "chronicle undo";

/**
 * Returns at most one hint, about the work that `undo` without arguments would undo. Returns no hint if there is no
 * such work. The work need not be in the newest line, because that line can be about edits or a watch, which `undo`
 * does not undo.
 */
function undoHint(context: CommandContext, { items, undoable }: RecentShape): string[] {
  if (undoable === null) return [];
  const takes = context.worded(`${UNDO} takes back`);
  if (items[0]?.back === UNDO) return [`${takes} the newest of these`];
  const next = items.find((item) => item.is_next === true);
  if (next === undefined) return [`${takes} something older than these`];
  if (next.kind === "turn")
    return [`${takes} the last action of: ${shortened(printable(next.summary), HINTED_SUMMARY)}`];
  return [`${takes}: ${shortened(printable(takenWords(next)), HINTED_SUMMARY)}`];
}

const snapshotHint = ({ snapshot }: RecentItem): string => `chronicle restore ${snapshot} goes to snapshot ${snapshot}`;
const HINT = "chronicle restore <moment> goes to any moment";
const UPSTREAM_HINT =
  "chronicle --upstream restore <moment> --to DIR puts any moment of the upstream's history into another folder";

function isUpstream({ input }: CommandContext): boolean {
  return input.flag("upstream");
}

function snapshotRow(context: CommandContext, snapshot: SnapshotShape): string[] {
  const { paint } = context;
  const marks = [
    snapshot.name === undefined ? "" : paint("cyan", printable(snapshot.name)),
    snapshot.pinned ? "pinned" : "",
    snapshot.coverage.complete ? "" : paint("yellow", "partial"),
    printable(snapshot.message ?? ""),
    snapshot.compacted_by === undefined ? "" : paint("dim", `(compacted away by event ${snapshot.compacted_by})`),
    snapshot.pruned_by === undefined ? "" : paint("dim", `(pruned by event ${snapshot.pruned_by})`),
  ];
  const touched = snapshot.changed === null ? "" : `${counted(snapshot.changed, "path")} touched`;
  const when = ago(snapshot.timestamp, context.io.now());
  const id = paint("dim", snapshot.id);
  return [String(snapshot.number), when, snapshot.cause, touched, id, marks.filter(Boolean).join(" ")];
}

async function snapshots(context: CommandContext, workspace: WorkspaceApi, limit: number): Promise<void> {
  const all = await workspace.snapshots();
  const newest = limit === 0 ? all : all.slice(-limit);
  if (context.json) return context.printJson(context.input.number("limit") === undefined ? all : newest);
  for (const line of columns(newest.map((item) => snapshotRow(context, item)).reverse(), "><<>")) context.print(line);
  if (newest.length < all.length) context.print(`… and ${all.length - newest.length} older: --limit 0`);
}

/**
 * Lists recent work or, with `--snapshots`, the snapshots. `chronicle` without a command (`bare`) runs this function,
 * too. In that case, the function prints how to begin if the current folder has no workspace.
 */
export async function list(context: CommandContext): Promise<number> {
  const limit = context.input.number("limit") ?? DEFAULT_LIMIT;
  try {
    const workspace = await context.reading();
    await (context.input.flag("snapshots") ? snapshots : recent)(context, workspace, limit);
  } catch (error) {
    const none = error instanceof ChronicleError && error.code === "NOT_FOUND";
    const isNamed =
      context.remote !== undefined || context.input.text("workspace") !== undefined || isUpstream(context);
    const isGone = standingFolderIfThere(context.io) === undefined;
    if (!none || isNamed || isGone || !context.input.flag("bare") || context.json) throw error;
    context.print(context.worded(NOTHING_YET));
  }
  return EXIT.done;
}
