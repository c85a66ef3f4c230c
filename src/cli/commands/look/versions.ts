import { EXIT } from "../../../api/problems.ts";
import type { CommandContext } from "../../support/context.ts";
import { conflictLines, SETTLE, SETTLE_SYNC } from "../../render/conflicts.ts";
import { counted } from "../../render/words.ts";
import { patchText } from "../../render/patch.ts";
import type { VersionShape } from "../../../api/action-shapes.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { formatAgo, formatBytes } from "../../../core/values/duration.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { meantBy } from "../../../core/values/meant-by.ts";
import { changeLines } from "../../render/changes.ts";
import { columns } from "../../render/columns.ts";
import { printable } from "../../../process/printable.ts";
import { usageError } from "../../../process/usage-error.ts";

/** The length of a shortened replica id, in characters. */
const SHORT = 8;

export async function versions(context: CommandContext): Promise<number> {
  const { input } = context;
  const [shown, restored] = [input.text("show"), input.text("restore")];
  const asked = [shown, restored, input.args[0]].filter((one) => one !== undefined);
  if (asked.length > 1) throw usageError("a file, --show and --restore do not go together", "chronicle versions -h");
  if (shown !== undefined) return show(context, shown);
  return restored === undefined ? list(context) : restore(context, restored);
}

async function list(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const paths = context.paths(workspace);
  const [typed] = context.input.args;
  const path = typed === undefined ? undefined : await paths.toWorkspace(typed);
  const found = await workspace.versions(path === undefined ? {} : { path });
  if (context.json) context.printJson(found);
  else if (found.length === 0) await sayNone(context, workspace, path);
  else {
    const shownPath = (text: string) => paths.shown(text);
    for (const line of columns(found.map((one) => rowOf(one, context, shownPath)))) context.print(line);
    const [{ id }] = found as [VersionShape];
    if (context.io.err.isTerminal)
      context.say(
        context.paintErr(
          "dim",
          context.worded(`chronicle versions --show ${short(id)} prints this version, --restore restores it`),
        ),
      );
  }
  return EXIT.done;
}

/**
 * Prints that there are no versions. In a replica, also prints that the origin lists the versions of this replica's
 * changes. Throws `NOT_FOUND` if `path` was never recorded.
 */
async function sayNone(context: CommandContext, workspace: WorkspaceApi, path: string | undefined): Promise<void> {
  if (path !== undefined) await workspace.history(path, { limit: 1 });
  context.print("no versions: every change that a replica made was applied");
  const [followed] = await workspace.log({ prefix: "replica:", reverse: true, limit: 1 });
  if (followed !== undefined)
    context.say(
      "this folder is a replica: the versions of its changes are at the origin, where the same command lists them",
    );
}

function rowOf(version: VersionShape, { paint, io }: CommandContext, shown: (path: string) => string): string[] {
  const { id, path, timestamp, kind, size, hash, actor, session } = version;
  const what = kind === null ? paint("red", "deleted") : kind === "file" ? formatBytes(size) : kind;
  const whose = `${printable(actor)}${session === undefined ? "" : ` (${printable(session)})`}`;
  const against = paint("dim", becameOf(version));
  const stored = paint("dim", hash.slice(0, 12));
  return [short(id), formatAgo(Date.parse(timestamp), io.now()), shown(path), stored, what, whose, against];
}

function becameOf({ is_present: isPresent, merged_in: merge, lost_to: { iteration } }: VersionShape): string {
  if (isPresent === true) return "is the present state";
  if (merge !== undefined) return `merged into @${merge.iteration}`;
  return iteration === 0 ? "lost: nothing was recorded at this path" : `lost to @${iteration}`;
}

function short(id: string): string {
  const [replica = "", number = ""] = id.split(":");
  return `${replica.slice(0, SHORT)}:${number}`;
}

async function show(context: CommandContext, asked: string): Promise<number> {
  const workspace = await context.reading();
  const { hash, path } = named(await workspace.versions(), asked);
  if (hash === "") {
    throw new ChronicleError(
      "REFUSED",
      `${asked} has no content: in this version, ${printable(path)} is deleted or a folder`,
      {
        hint: `chronicle versions --restore ${asked}`,
      },
    );
  }
  const content = await workspace.blob(hash);
  for await (const piece of content.pieces()) {
    if (context.io.out.broken) break;
    await context.io.out.writeBytes(piece);
  }
  return EXIT.done;
}

/**
 * Returns the version that `asked` names. `asked` has the form `REPLICA:NUMBER`. The replica's id may be shortened, as
 * for `restoreVersion`. Throws `NOT_FOUND` if no version matches, and `AMBIGUOUS` if several match.
 */
function named(all: readonly VersionShape[], asked: string): VersionShape {
  const [, whose = "", number = ""] = /^(.+):(\d+)$/.exec(asked) ?? [];
  const found = meantBy(
    all.filter(({ replica }) => String(replica.local_seq) === number),
    whose,
    ({ replica }) => replica.id,
  );
  const [only, second] = found;
  if (only !== undefined && second === undefined) return only;
  const code = only === undefined ? "NOT_FOUND" : "AMBIGUOUS";
  const told =
    only === undefined
      ? `there is no version ${printable(asked)}`
      : `${printable(asked)} matches versions of several replicas`;
  throw new ChronicleError(code, told, { hint: "`chronicle versions` lists all versions" });
}

async function restore(context: CommandContext, asked: string): Promise<number> {
  const workspace = await context.workspace({});
  const result = await workspace.restoreVersion(asked);
  if (context.json) {
    context.printJson(result);
    return EXIT.done;
  }
  const paths = context.paths(workspace);
  const style = { paint: context.paint, shown: (path: string) => paths.shown(path) };
  for (const line of changeLines(result.changes, style)) context.print(line);
  const { path, replica } = result.version;
  const end =
    result.undo_id === null ? "already has this state" : `is what replica ${replica.id.slice(0, SHORT)} had made of it`;
  context.print(`${style.shown(path)} ${end}`);
  if (result.undo_id !== null) context.print(context.paint("dim", context.worded("take it back: chronicle undo")));
  return EXIT.done;
}

export async function conflicts(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const found = await workspace.conflicts({ all: context.input.flag("all"), patch: context.input.flag("patch") });
  if (context.json) {
    context.printJson(found);
    return EXIT.done;
  }
  const paths = context.paths(workspace);
  const { paint, io } = context;
  const rows = conflictLines(found, { paint, shown: (path) => paths.shown(path) });
  for (const [index, line] of rows.entries()) {
    context.print(line);
    const patch = found[index]?.patch ?? "";
    if (patch !== "") for (const text of patchText(patch, { paint, escape: io.out.isTerminal })) context.print(text);
  }
  const open = found.filter((one) => one.state === "open");
  context.print(open.length === 0 ? "no conflict is open" : counted(open.length, "conflict"));
  const ofSyncs = open.filter((one) => one.cause === "sync");
  if (open.length > ofSyncs.length) context.print(paint("dim", context.worded(SETTLE)));
  if (ofSyncs.length > 0) context.print(paint("dim", context.worded(SETTLE_SYNC)));
  return EXIT.done;
}
