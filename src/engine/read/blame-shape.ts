import type { BlameKind, BlameLineShape, BlameOriginShape, BlameShape } from "../../api/file-api.ts";
import type { IterationShape } from "../../api/shapes.ts";
import { decodeSession } from "../../core/records/records.ts";
import { quoteCommand } from "../../core/shell/quote-command.ts";
import type { LineTable } from "../../core/text/line-tables.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { EventRow, IterationRow } from "../../storage/index-store.ts";
import { optional } from "../../util/optional.ts";
import { actionRecordId } from "../../core/records/action-record.ts";
import { actionOfEvent, type LoggedAction } from "../facts/actions.ts";
import type { Context } from "../log/context.ts";
import { readEvent, readEvents } from "../log/read-events.ts";
import { exactPath, shownPath } from "../log/shape.ts";
import { isProtected, protectedNames } from "../state/protected.ts";
import type { LineSource } from "./blame-memo.ts";
import type { BlameWalk } from "./blame-walk.ts";

export interface LineRange {
  /** The number of the first line, counted from 0. The line `to` is not part of the range. */
  readonly from: number;
  readonly to: number;
}

/** A content, and the sources of its lines. `onDisk`: the content, if it is on disk and not recorded yet. */
interface Blamed {
  readonly path: WorkspacePath;
  readonly rows: readonly IterationRow[];
  readonly isDeleted: boolean;
  readonly onDisk?: Buffer;
  readonly notes: readonly string[];
  readonly table: LineTable;
  readonly range: LineRange;
  readonly walk: BlameWalk;
  readonly sources: Sources;
}

/**
 * Maps the number of a line, counted from 0, to the source of the line. A line that is not recorded yet has no source.
 */
export type Sources = ReadonlyMap<number, LineSource>;

export async function blameShape(context: Context, blamed: Blamed): Promise<BlameShape> {
  const { path, rows, isDeleted, onDisk, table, range, walk, sources } = blamed;
  const places = new Map<LineSource | undefined, number>();
  const lines: BlameLineShape[] = [];
  for (let line = range.from; line < range.to; line += 1) {
    const source = sources.get(line);
    const origin = places.get(source) ?? places.size;
    places.set(source, origin);
    lines.push({ line: line + 1, origin, ...textOf(table, line) });
  }
  const recorded = [...places.keys()].filter((source) => source !== undefined);
  const shapes = await originShapes(context, recorded);
  const origins = [...places.keys()].map(
    (source) => (source === undefined ? undefined : shapes[recorded.indexOf(source)]) ?? unrecordedShape(path),
  );
  return {
    path: shownPath(path),
    ...exactPath(path),
    ...((await isSecret(context, blamed)) ? { class: "protected" as const } : {}),
    iteration: onDisk === undefined ? (rows.at(-1)?.iteration ?? null) : null,
    total_lines: table.starts.length,
    ...(isDeleted ? { deleted: true as const } : {}),
    origins,
    lines,
    notes: [...blamed.notes, ...notesOf(walk, origins)],
  };
}

/** Returns the text of a line without its line end. If the bytes of the line are not UTF-8, also returns the bytes. */
function textOf({ content, starts }: LineTable, at: number): Pick<BlameLineShape, "text" | "text_b64"> {
  const line = content.subarray(starts[at], starts[at + 1]);
  const bytes = line.subarray(0, line.length - endLength(line));
  const text = bytes.toString("utf8");
  return Buffer.from(text).equals(bytes) ? { text } : { text, text_b64: bytes.toString("base64") };
}

function endLength(line: Buffer): number {
  if (line.at(-1) !== 0x0a) return 0;
  return line.at(-2) === 0x0d ? 2 : 1;
}

async function isSecret(context: Context, { path, rows, onDisk }: Blamed): Promise<boolean> {
  const row = rows.at(-1);
  if (onDisk !== undefined && (await protectedNames(context)).holds(path)) return true;
  return row !== undefined && (await isProtected(context, row));
}

function unrecordedShape(path: WorkspacePath): BlameOriginShape {
  return {
    ...{ kind: "unrecorded", path: shownPath(path), ...exactPath(path) },
    ...{ iteration: null, seq: null, timestamp: null, cause: "", actor: "" },
  };
}

/** The causes of changes that a scan of the disk found. Such changes may belong to no recorded work. */
const FOUND: ReadonlySet<string> = new Set(["capture", "watch"]);

function kindOf({ kind, shape }: LineSource): BlameKind {
  if (kind !== "iteration") return kind;
  if (shape.cause === "baseline") return "baseline";
  if (shape.cause === "compact") return "earlier";
  const isOwned = shape.action !== undefined || shape.transaction !== undefined || shape.replica !== undefined;
  const isFound = FOUND.has(shape.cause) && !isOwned && shape.upstream?.actor === undefined;
  return isFound || (shape.actor === "ambiguous" && !isOwned) ? "nobody" : "recorded";
}

/** Returns the origins of these sources, in the order of the sources. */
export async function originShapes(context: Context, sources: readonly LineSource[]): Promise<BlameOriginShape[]> {
  const actions = await actionsOf(context, sources);
  const origins: BlameOriginShape[] = [];
  for (const source of sources) origins.push(await originShape(context, source, actions));
  return origins;
}

/** Returns, by id, the actions that made the changes. Actions that this history does not have are left out. */
async function actionsOf(context: Context, sources: readonly LineSource[]): Promise<Actions> {
  const ids = new Set(sources.flatMap((one) => actionOf(one.shape) ?? []));
  const rows: EventRow[] = [];
  for (const id of ids) {
    const row = await context.index.record(actionRecordId(id));
    if (row !== undefined) rows.push(row);
  }
  return new Map((await readEvents(context, rows)).map(actionOfEvent).map((one) => [one.id, one]));
}

type Actions = ReadonlyMap<string, LoggedAction>;

function actionOf(shape: IterationShape): string | undefined {
  return shape.upstream?.action ?? shape.action;
}

async function originShape(context: Context, source: LineSource, actions: Actions): Promise<BlameOriginShape> {
  const { path, shape, first } = source;
  const { iteration, seq, cause, upstream, transaction, replica } = shape;
  const kind = kindOf(source);
  const action = actionOf(shape);
  const found = actions.get(action ?? "");
  const session = upstream?.session ?? shape.session;
  const turn = upstream?.turn ?? shape.turn ?? found?.turn;
  const operation = shape.operation ?? transaction;
  const title = found?.summary ?? (await commandOf(context, shape));
  return {
    ...{ kind, path: shownPath(path), ...exactPath(path), iteration },
    ...optional({ first_iteration: first }),
    ...{ seq, timestamp: upstream?.timestamp ?? shape.timestamp, cause },
    actor: kind === "recorded" ? (upstream?.actor ?? shape.actor) : "",
    ...optional({ session, action, turn, operation, title, replica: replica?.id }),
  };
}

/**
 * Returns the command of the run that made a change; `undefined` if no run made the change, or if the run's record is
 * gone.
 */
async function commandOf(context: Context, { cause, session }: IterationShape): Promise<string | undefined> {
  const row = cause === "run" && session !== undefined ? await context.index.record(`session:${session}`) : undefined;
  return row === undefined ? undefined : quoteCommand(decodeSession((await readEvent(context, row)).record).command);
}

function notesOf(walk: BlameWalk, origins: readonly BlameOriginShape[]): string[] {
  const kinds = new Set(origins.map(({ kind }) => kind));
  return [
    ...(walk.isCut
      ? ["the contents of the earlier iterations are too large together: the oldest ones were not compared"]
      : []),
    ...(kinds.has("earlier") && !walk.isCut
      ? [
          "for some lines, earlier contents are no longer kept (pruned, erased or compacted away): the iteration that is named, or an earlier one, wrote these lines",
        ]
      : []),
    ...(kinds.has("between")
      ? [
          "for some lines, contents between two iterations are no longer kept: one of the iterations that are named wrote these lines",
        ]
      : []),
    ...(walk.isCoarse
      ? ["some contents differ too much for an exact comparison: lines that were only moved may count as new"]
      : []),
  ];
}
