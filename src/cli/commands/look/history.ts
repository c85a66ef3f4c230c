import type { UserPaths } from "../../../process/user-path.ts";
import { EXIT } from "../../../api/problems.ts";
import type { ChangeShape, IterationShape } from "../../../api/shapes.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { formatAgo, formatBytes } from "../../../core/values/duration.ts";
import type { CommandContext } from "../../support/context.ts";
import { isUnknownPath, notRecorded } from "../../support/find-file.ts";
import { modeText, SAME_CONTENT } from "../../render/changes.ts";
import { patchLines } from "../../render/patch.ts";
import { optional } from "../../../util/optional.ts";
import { columns } from "../../render/columns.ts";
import { printable } from "../../../process/printable.ts";
import { quotePath } from "../../../core/shell/quote-command.ts";

/** The number of iterations that are shown as text. */
const SHOWN = 100;

interface Asked {
  readonly patch: boolean;
  /** The maximum number of iterations, the newest. Absent: all. */
  readonly last?: number;
}

async function iterationsOf(
  workspace: WorkspaceApi,
  { typed, path }: { readonly typed: string; readonly path: string },
  { paths, ...options }: Asked & { readonly paths: UserPaths },
): Promise<IterationShape[]> {
  try {
    const found = await workspace.history(path, options);
    if (found.length > 0) return found;
  } catch (error) {
    if (!isUnknownPath(error)) throw error;
  }
  throw await notRecorded(workspace, { typed, path }, paths);
}

/** An iteration of the file. `at`: the path that the file had at this iteration, if the file has another path now. */
interface Dated {
  readonly item: IterationShape;
  readonly at?: string;
}

/** The maximum number of earlier renames of a file that are followed. */
const MOST_RENAMES = 20;

/** Returns the iterations of a file, oldest first, including those under earlier names of the file. */
async function withEarlier(
  workspace: WorkspaceApi,
  own: readonly IterationShape[],
  { path, patch, last }: Asked & { readonly path: string },
): Promise<readonly Dated[]> {
  const all = new Map<string, Dated>(own.map((item) => [`${path}@${item.iteration}`, { item }]));
  let from = lastRename(own);
  for (let n = 0; from !== undefined && n < MOST_RENAMES; n += 1) {
    const { path: at, path_b64: bytes, iteration } = from;
    const after = last === undefined ? 0 : Math.max(0, iteration - last);
    const there = await workspace.history(bytes === undefined ? at : `base64:${bytes}`, { patch, after });
    const earlier = there.filter((item) => item.iteration <= iteration);
    // If the file was renamed and renamed back, `all` has some of these iterations already.
    for (const item of earlier) {
      const key = `${at}@${item.iteration}`;
      if (!all.has(key)) all.set(key, { item, at });
    }
    from = lastRename(earlier);
  }
  return [...all.values()].sort((a, b) => a.item.seq - b.item.seq);
}

function lastRename(iterations: readonly IterationShape[]): IterationShape["renamed_from"] {
  return iterations.findLast((item) => item.renamed_from !== undefined)?.renamed_from;
}

function rowOf({ item, at }: Dated, context: CommandContext, paths: UserPaths): string[] {
  const { paint, io } = context;
  const shown = (path: string): string => (io.out.isTerminal ? endOf(paths.shown(path)) : paths.shown(path));
  const name = `${at === undefined ? "" : shown(at)}@${item.iteration}`;
  const when = formatAgo(item.timestamp, io.now());
  const pruned = item.pruned_by === undefined ? [] : [`(pruned by event ${item.pruned_by})`];
  const erased = item.erased_by === undefined ? [] : [`(erased by event ${item.erased_by})`];
  const whose = paint(
    "dim",
    [elsewhere(item, io.now()) ?? item.session ?? "", ...renamedWords(item, shown), ...pruned, ...erased]
      .join(" ")
      .trim(),
  );
  if (item.deleted === true) return [name, when, "", "", paint("red", "deleted"), item.cause, whose];
  const what = item.kind === "file" ? formatBytes(item.size) : item.kind;
  const hash = paint("dim", item.hash.slice(0, 12));
  return [name, when, modeText(item.permissions), hash, what, item.cause, whose];
}

/**
 * Returns a text about an iteration that was made at the origin or at a replica: the place and, if known, the actor.
 * For an iteration of the origin, the text also has the iteration's number and time at the origin. Returns `undefined`
 * if the iteration was made here.
 */
function elsewhere({ upstream, replica, actor, session }: IterationShape, now: number): string | undefined {
  if (upstream !== undefined) {
    const { iteration, timestamp } = upstream;
    const since = timestamp === undefined ? "" : `, ${formatAgo(timestamp, now)}`;
    return `origin: @${iteration}${by(upstream)}${since}`;
  }
  return replica === undefined ? undefined : `replica ${replica.id.slice(0, 8)}${by({ actor, session })}`;
}

function by({
  actor,
  session,
}: {
  readonly actor?: string | undefined;
  readonly session?: string | undefined;
}): string {
  if (actor === undefined || actor === "") return "";
  return ` by ${printable(actor)}${session === undefined ? "" : ` (${printable(session)})`}`;
}

/** The maximum length, in characters, of an earlier path that is shown on a terminal. */
const LONGEST_PATH = 24;

/** Returns the path. If the path is too long for its column, returns only its end. */
function endOf(path: string): string {
  return path.length <= LONGEST_PATH ? path : `…${path.slice(1 - LONGEST_PATH).toWellFormed()}`;
}

function renamedWords({ renamed_from: from }: IterationShape, shown: (path: string) => string): string[] {
  if (from === undefined) return [];
  const same = from.similarity === 100 ? SAME_CONTENT : `${from.similarity} % the same`;
  return [`(renamed from ${shown(from.path)}@${from.iteration}, ${same})`];
}

interface Listed {
  /** A line for each iteration that is shown. */
  readonly heads: readonly string[];
  readonly path: string;
  /** The number of iterations that are read only for comparison. */
  readonly hidden: number;
}

/**
 * Returns the lines of each iteration and its patch, oldest first. The patch of a rename compares the file with its
 * content under the earlier path. Leaves out the first `hidden` iterations.
 */
function patchedLines(
  context: CommandContext,
  iterations: readonly Dated[],
  { heads, path, hidden }: Listed,
): string[] {
  const { paint, io } = context;
  return iterations.flatMap(({ item, at = path }, i) => {
    if (i < hidden) return [];
    const before = iterations.slice(0, i).findLast((one) => (one.at ?? path) === at)?.item;
    const change = changeOf({ ...item, ...optional({ patch: item.rename_patch ?? item.patch }) }, before, at);
    const lines = patchLines([change], { paint, escape: io.out.isTerminal });
    return [...(i === hidden ? [] : [""]), paint("yellow", heads[i - hidden] ?? ""), ...lines];
  });
}

function changeOf(item: IterationShape, before: IterationShape | undefined, path: string): ChangeShape {
  const { patch, binary, too_large, no_room, protected: isSecret, erased, pruned } = item;
  const wasThere = before !== undefined && before.deleted !== true;
  const isSame = wasThere && before.hash === item.hash && before.kind === item.kind;
  const type = item.deleted === true ? "deleted" : isSame ? "permissions_changed" : wasThere ? "modified" : "created";
  const there = item.deleted === true ? before : item;
  return {
    path,
    change_type: type,
    kind: there?.kind === "dir" || there?.kind === "symlink" ? there.kind : "file",
    ...{ before_hash: before?.hash ?? "", after_hash: item.hash },
    ...{ before_size: before?.size ?? 0, after_size: item.size, size_delta: item.size - (before?.size ?? 0) },
    ...(wasThere ? { before_permissions: before.permissions } : {}),
    ...(item.deleted === true ? {} : { after_permissions: item.permissions }),
    ...optional({ patch, binary, too_large, no_room, protected: isSecret, erased, pruned }),
  };
}

export async function history(context: CommandContext): Promise<number> {
  const { input } = context;
  const workspace = await context.reading();
  const paths = context.paths(workspace);
  const typed = input.args[0] ?? "";
  const path = await paths.toWorkspace(typed);
  const patch = input.flag("patch");
  const limit = input.number("limit") ?? (context.json ? 0 : SHOWN);
  // One more iteration of each path is read than is shown. It tells whether there are more, and patches compare with it.
  const last = limit === 0 ? {} : { last: context.json ? limit : limit + 1 };
  const iterations = await iterationsOf(workspace, { typed, path }, { paths, patch, ...last });
  if (context.json) {
    context.printJson(iterations);
    return EXIT.done;
  }
  const all = await withEarlier(workspace, iterations, { path, patch, ...last });
  const hidden = limit === 0 ? 0 : Math.max(0, all.length - limit);
  const heads = columns(
    all.slice(hidden).map((one) => rowOf(one, context, paths)),
    "><<<>",
  );
  if (hidden > 0) context.say(`the newest ${limit} iterations; --limit 0 shows all`);
  for (const line of patch ? patchedLines(context, all, { heads, path, hidden }) : heads) context.print(line);
  if (!patch && context.io.err.isTerminal)
    context.say(
      context.paintErr("dim", context.worded(`chronicle cat ${quotePath(paths.shown(path))}@N prints iteration N`)),
    );
  return EXIT.done;
}
