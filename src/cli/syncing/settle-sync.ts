import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import type { ConflictShape } from "../../api/conflict-shape.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { printable } from "../../process/printable.ts";
import { makeEmptyFolder, writeWholeFile } from "../../process/user-files.ts";
import { EXIT } from "../../api/problems.ts";
import type { SyncApi, SyncResolution, SyncShape } from "../../api/sync-api.ts";
import { meantBy } from "../../core/values/meant-by.ts";
import type { CommandContext } from "../support/context.ts";
import { readUserBytes } from "../../process/read-json-list.ts";
import { conflictLines, SETTLE_SYNC } from "../render/conflicts.ts";
import { counted } from "../render/words.ts";
import { patchText } from "../render/patch.ts";
import { keptLines } from "../render/syncs.ts";
import { standingFolderIfThere, UserPaths } from "../../process/user-path.ts";
import { usageError } from "../../process/usage-error.ts";
import { mergeByTool } from "./merge-by-tool.ts";
import { namingSync, onSync, targetHolding, targetOf } from "./sync-client.ts";

const HOW =
  "give one of --keep-local, --accept-upstream and --merge (with --tool COMMAND or --merged FILE, if you like)";

export async function listConflicts(
  context: CommandContext,
  syncs: SyncApi,
  typed: string | undefined,
): Promise<number> {
  const sync = await targetOf(context, syncs, typed);
  const found = await onSync(context, { syncs, sync }, () => syncs.conflicts(sync.id));
  if (context.json) {
    context.printJson(found);
    return EXIT.done;
  }
  const { paint, io } = context;
  const naming = namingSync(context, await syncs.list(), sync);
  const style = { paint, shown: shownFrom(context, sync), worded: (text: string) => context.worded(naming(text)) };
  for (const [index, line] of conflictLines(found, style).entries()) {
    context.print(line);
    const patch = context.input.flag("patch") ? (found[index]?.patch ?? "") : "";
    if (patch !== "") context.print(paint("dim", "    - here, + upstream"));
    if (patch !== "") for (const text of patchText(patch, { paint, escape: io.out.isTerminal })) context.print(text);
  }
  context.print(found.length === 0 ? "no conflict is open" : counted(found.length, "conflict"));
  if (found.length > 0) context.print(paint("dim", style.worded(SETTLE_SYNC)));
  for (const line of keptLines(sync, style)) context.print(line);
  return EXIT.done;
}

export async function settleConflict(
  context: CommandContext,
  syncs: SyncApi,
  typed: string | undefined,
): Promise<number> {
  if (typed === undefined) throw usageError("sync resolve takes a path", SETTLE_SYNC);
  const way = wayOf(context);
  const sync = await targetHolding(context, syncs, typed);
  return onSync(context, { syncs, sync }, () => settleOne(context, { syncs, sync, typed }, way));
}

async function settleOne(context: CommandContext, asked: Asked, way: SyncResolution | "tool"): Promise<number> {
  const { syncs, sync } = asked;
  const conflict = await conflictAt(context, asked);
  const resolution: SyncResolution = way === "tool" ? await byTool(context, sync, conflict) : way;
  const { current_hash, undo_hash } = conflict;
  const decided = resolution.content === undefined ? resolution : { ...resolution, from: { current_hash, undo_hash } };
  const done = await syncs
    .resolve(sync.id, conflict.path, decided)
    .catch((error: unknown) => refusedWith(error, way === "tool" ? resolution.content : undefined));
  if (context.json) context.printJson(done);
  else {
    const how = done.still_open === undefined ? SENTENCES[done.kept] : `${STILL_OPEN} (${done.still_open})`;
    context.print(`${shownFrom(context, sync)(conflict.path)}: ${how}`);
    if (done.conflicts > 0) context.print(`${counted(done.conflicts, "conflict")} left`);
  }
  return EXIT.done;
}

/**
 * Throws the error. If the error means that a side of the conflict has changed, first saves the merged content (if
 * given) to a file, and names that file in the hint.
 */
function refusedWith(error: unknown, merged: Uint8Array | undefined): never {
  const isChanged = error instanceof ChronicleError && error.data["changed"] === true;
  if (!isChanged || merged === undefined) throw error;
  const { message, data, code } = error;
  const kept = keepMerged(merged);
  throw new ChronicleError(code, message, {
    hint: `nothing was settled; the merged content is in ${printable(kept)}: merge it with the present contents of both sides, then give the result with --merged`,
    data: { ...data, merged: kept },
    cause: error,
  });
}

const SENTENCES: Readonly<Record<SyncResolution["keep"], string>> = {
  local: "settled: the folder's side goes to the origin",
  upstream: "settled: the origin's side is here now",
  merge: "settled: the merged content is here, and goes to the origin",
};

const STILL_OPEN = "the origin's side is here now, except that the folder stays until it can be removed";

function wayOf({ input, io }: CommandContext): SyncResolution | "tool" {
  const [tool, merged] = [input.text("tool"), input.text("merged")];
  const isMerge = input.flag("merge");
  if (!isMerge && (tool !== undefined || merged !== undefined))
    throw usageError("--tool and --merged go with --merge", HOW);
  if (tool !== undefined && merged !== undefined) throw usageError("--tool and --merged cannot be given together", HOW);
  const ways: SyncResolution[] = [
    ...(input.flag("keepLocal") ? [{ keep: "local" as const }] : []),
    ...(input.flag("acceptUpstream") ? [{ keep: "upstream" as const }] : []),
    ...(isMerge
      ? [{ keep: "merge" as const, ...(merged === undefined ? {} : { content: readUserBytes(merged, io.cwd()) }) }]
      : []),
  ];
  const [only, second] = ways;
  if (only === undefined) throw usageError("say how to settle the conflict", HOW);
  if (second !== undefined) throw usageError("give only one way to settle the conflict", HOW);
  return tool === undefined ? only : "tool";
}

interface Asked {
  readonly syncs: SyncApi;
  readonly sync: SyncShape;
  readonly typed: string;
}

/**
 * Finds an open conflict by its path (as typed in the current folder, or as `sync conflicts` shows it), its id, or a
 * prefix of the id. Throws `NOT_FOUND` if none matches, and `AMBIGUOUS` if several match.
 */
async function conflictAt(context: CommandContext, { syncs, sync, typed }: Asked): Promise<ConflictShape> {
  const open = await syncs.conflicts(sync.id);
  const path = await pathsOf(context, sync)
    .toWorkspace(typed)
    .catch(() => typed);
  // Outside of the sync's folder, `sync conflicts` shows paths relative to the sync's folder. People may nevertheless
  // type a path that is relative to the current folder.
  const fromHere = await pathsOf(context, sync)
    .toWorkspace(resolve(context.io.cwd(), typed))
    .catch(() => typed);
  const there = [path, typed, fromHere]
    .map((at) => open.find((one) => one.path === at))
    .find((one) => one !== undefined);
  const [found, second] = there === undefined ? meantBy(open, typed, ({ id }) => id) : [there];
  if (second !== undefined) {
    throw new ChronicleError("AMBIGUOUS", `${printable(typed)} stands for several conflicts`, {
      hint: "give more of the id, or the path; `chronicle sync conflicts` lists them",
      data: { path },
    });
  }
  if (found !== undefined) return found;
  throw new ChronicleError("NOT_FOUND", `no conflict of ${printable(typed)} is open`, {
    hint: "`chronicle sync conflicts` lists them",
    data: { path },
  });
}

async function byTool(context: CommandContext, sync: SyncShape, conflict: ConflictShape): Promise<SyncResolution> {
  const command = context.input.text("tool") ?? "";
  const store = await context.store();
  const workspace = context.closing(await store.openById(sync.id, { readOnly: true }));
  const content = await mergeByTool(workspace, conflict, { command, io: context.io });
  return { keep: "merge", content };
}

function pathsOf({ io }: CommandContext, { folder }: SyncShape): UserPaths {
  const workspace = { path: folder, status: () => Promise.resolve({ roots: [] }) };
  return new UserPaths(workspace, standingFolderIfThere(io) ?? workspace.path, true);
}

function shownFrom(context: CommandContext, sync: SyncShape): (path: string) => string {
  const paths = pathsOf(context, sync);
  return (path) => paths.shown(path);
}

/**
 * Writes the merged content to a temporary file. The file stays, so that the user can give it with `--merged`. Returns
 * the path of the file.
 */
function keepMerged(content: Uint8Array): string {
  const path = join(makeEmptyFolder(`chronicle-merged-${randomBytes(8).toString("hex")}`), "merged");
  writeWholeFile(path, content);
  return path;
}
