import { stripVTControlCharacters } from "node:util";
import { EXIT } from "../../../api/problems.ts";
import type { SnapshotShape } from "../../../api/shapes.ts";
import type { RecentItem, RecentShape, WorkspaceApi } from "../../../api/workspace-api.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { CommandContext } from "../../support/context.ts";
import { columns } from "../../render/columns.ts";
import { ago, counted, takenWords } from "../../render/words.ts";
import { printable, shortened } from "../../../process/printable.ts";
import { standingFolderIfThere } from "../../../process/user-path.ts";

const DEFAULT_LIMIT = 20;
const LONGEST_SUMMARY = 60;
const SHORTEST_SUMMARY = 16;
const HINTED_SUMMARY = 30;

const NOTHING_YET = `nothing is recorded here yet

  chronicle run -- <command>     run anything; see what it changed, take it back
  chronicle watch                record changes as they happen
  chronicle -h                   everything else`;

function summaryWidth(context: CommandContext, items: readonly RecentItem[], isWithBack: boolean): number {
  if (!context.io.out.isTerminal) return LONGEST_SUMMARY;
  const style = { most: LONGEST_SUMMARY, isWithBack };
  const others = items.map((item) => recentRow(context, { ...item, summary: "" }, style));
  const [row = ""] = columns(others, "<<<>")
    .map((line) => stripVTControlCharacters(line))
    .sort((a, b) => b.length - a.length);
  return Math.max(SHORTEST_SUMMARY, Math.min(LONGEST_SUMMARY, context.io.out.columns - row.length - 2));
}

interface RowStyle {
  readonly most: number;
  readonly isWithBack: boolean;
}

function recentRow(context: CommandContext, item: RecentItem, { most, isWithBack }: RowStyle): string[] {
  const { paint } = context;
  const changed = item.kind === "baseline" ? "" : counted(item.changed, "change");
  const command = isWithBack ? paint("cyan", context.worded(item.back)) : "";
  const back = item.undone === true ? paint("dim", "(undone)") : command;
  // The row of a snapshot also shows the snapshot's number, with which `restore` restores the snapshot. The command in
  // the row restores another state: the one before the changes that the snapshot recorded.
  const kind = item.kind === "snapshot" ? `snapshot ${item.snapshot}` : item.kind;
  return [ago(item.timestamp, context.io.now()), kind, shortened(printable(item.summary), most), changed, back];
}

async function recent(context: CommandContext, workspace: WorkspaceApi, limit: number): Promise<void> {
  const result = await workspace.recent(limit === 0 ? Number.MAX_SAFE_INTEGER : limit);
  if (context.json) return context.printJson(result);
  const isReader = (await context.meThere())?.role === "reader";
  // The commands that restore or undo are left out in two cases: with `--upstream`, because they only work at the
  // origin, and for a reader, because a reader may not use them.
  const isWithBack = !isUpstream(context) && !isReader;
  const style = { most: summaryWidth(context, result.items, isWithBack), isWithBack };
  const rows = result.items.map((item) => recentRow(context, item, style));
  const { paint } = context;
  const last = !isWithBack ? "" : "undo it, or restore the state before it (for a baseline: the baseline itself)";
  const head = ["when", "what", "", "", last].map((text) => paint("dim", text));
  for (const line of columns([head, ...rows], "<<<>")) context.print(line);
  if (isReader) return;
  context.print();
  const hints = [
    ...undoHint(context, result),
    ...result.items
      .filter(({ kind }) => kind === "snapshot")
      .slice(0, 1)
      .map((item) => context.worded(snapshotHint(item))),
    context.worded(HINT),
  ];
  context.print(paint("dim", isUpstream(context) ? UPSTREAM_HINT : hints.join("; ")));
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
  const next = items.find(({ id }) => id === undoable);
  if (next === undefined) return [`${takes} something older than these`];
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
