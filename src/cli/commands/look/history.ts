import type { UserPaths } from "../../../process/user-path.ts";
import { EXIT } from "../../../api/problems.ts";
import type { ChangeShape, IterationShape } from "../../../api/shapes.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { formatAgo, formatBytes } from "../../../core/values/duration.ts";
import type { CommandContext } from "../../support/context.ts";
import { isUnknownPath, notRecorded } from "../../support/find-file.ts";
import { modeText } from "../../render/changes.ts";
import { patchLines } from "../../render/patch.ts";
import { optional } from "../../../util/optional.ts";
import { columns } from "../../render/columns.ts";
import { printable } from "../../../process/printable.ts";
import { quotePath } from "../../../core/shell/quote-command.ts";

async function iterationsOf(
  workspace: WorkspaceApi,
  { typed, path }: { readonly typed: string; readonly path: string },
  { paths, patch }: { readonly paths: UserPaths; readonly patch: boolean },
): Promise<IterationShape[]> {
  try {
    const found = await workspace.history(path, { patch });
    if (found.length > 0) return found;
  } catch (error) {
    if (!isUnknownPath(error)) throw error;
  }
  throw await notRecorded(workspace, { typed, path }, paths);
}

function rowOf(item: IterationShape, context: CommandContext): string[] {
  const { paint, io } = context;
  const when = formatAgo(item.timestamp, io.now());
  const pruned = item.pruned_by === undefined ? [] : [`(pruned by event ${item.pruned_by})`];
  const erased = item.erased_by === undefined ? [] : [`(erased by event ${item.erased_by})`];
  const whose = paint("dim", [elsewhere(item, io.now()) ?? item.session ?? "", ...pruned, ...erased].join(" ").trim());
  if (item.deleted === true) return [`@${item.iteration}`, when, "", "", paint("red", "deleted"), item.cause, whose];
  const what = item.kind === "file" ? formatBytes(item.size) : item.kind;
  const hash = paint("dim", item.hash.slice(0, 12));
  return [`@${item.iteration}`, when, modeText(item.permissions), hash, what, item.cause, whose];
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

/** Returns each iteration with its patch, oldest first. */
function patchedLines(context: CommandContext, iterations: readonly IterationShape[], path: string): string[] {
  const { paint, io } = context;
  const heads = columns(
    iterations.map((item) => rowOf(item, context)),
    "><<<>",
  );
  return iterations.flatMap((item, i) => {
    const change = changeOf(item, iterations[i - 1], path);
    const lines = patchLines([change], { paint, escape: io.out.isTerminal });
    return [...(i === 0 ? [] : [""]), paint("yellow", heads[i] ?? ""), ...lines];
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
  const workspace = await context.reading();
  const paths = context.paths(workspace);
  const typed = context.input.args[0] ?? "";
  const path = await paths.toWorkspace(typed);
  const patch = context.input.flag("patch");
  const iterations = await iterationsOf(workspace, { typed, path }, { paths, patch });
  if (context.json) context.printJson(iterations);
  else if (patch) for (const line of patchedLines(context, iterations, path)) context.print(line);
  else {
    for (const line of columns(
      iterations.map((item) => rowOf(item, context)),
      "><<<>",
    ))
      context.print(line);
    if (context.io.err.isTerminal)
      context.say(
        context.paintErr("dim", context.worded(`chronicle cat ${quotePath(paths.shown(path))}@N prints one`)),
      );
  }
  return EXIT.done;
}
