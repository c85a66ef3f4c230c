import { dirname, resolve } from "node:path";
import { EXIT } from "../../../api/problems.ts";
import type { RecorderShape } from "../../../api/shapes.ts";
import type { WorkspaceApi } from "../../../api/workspace-api.ts";
import { quotePath } from "../../../core/shell/quote-command.ts";
import { ChronicleError, errnoOf } from "../../../core/values/errors.ts";
import { launcherPath } from "../../../daemon/program-paths.ts";
import { NodeDisk } from "../../../disk/node-disk.ts";
import { localMinute } from "../../../process/local-zone.ts";
import { placesOf } from "../../../process/places.ts";
import { printable } from "../../../process/printable.ts";
import { usageError } from "../../../process/usage-error.ts";
import { isThere } from "../../../process/user-files.ts";
import { columns } from "../../render/columns.ts";
import type { CommandContext } from "../../support/context.ts";
import { installedWatches, surroundingsOf } from "../../watching/installed-watches.ts";
import { installedFor, planWatch, removeWatch, startWatch, type WatchPlan } from "../../watching/install-watch.ts";
import { type ServiceManager, serviceManager } from "../../watching/service-manager.ts";
import { SERVICE_VARIABLE, type WatchService } from "../../watching/watch-service.ts";

const VERBS = ["install", "uninstall", "list"] as const;

/**
 * True if the command line is about installed watches. Throws `USAGE` for options and arguments that do not go
 * together.
 */
export function isAboutServices({ input }: CommandContext): boolean {
  const given = VERBS.filter((verb) => input.flag(verb));
  const [verb] = given;
  const [folder] = input.args;
  if (verb === undefined && folder !== undefined) {
    throw usageError("watch takes no folder", `chronicle -C ${quotePath(folder)} watch, or watch --install FOLDER`);
  }
  if (given.length > 1) throw usageError(`--${given.join(" and --")} do not go together`, "give one of them");
  if (input.flag("dryRun") && verb !== "install") throw usageError("--dry-run needs --install", "leave it out");
  if (verb === "list" && folder !== undefined) throw usageError("--list takes no folder", "it lists all of them");
  if (verb !== undefined && verb !== "list" && folder === undefined) {
    throw usageError(`--${verb} needs a folder`, `for this one: chronicle watch --${verb} .`);
  }
  if (verb !== undefined && input.text("workspace") !== undefined) {
    throw usageError("--workspace does not go with an installed watch", "name the folder instead");
  }
  return verb !== undefined;
}

/** Installs, removes or lists the services that record folders. */
export async function watchServices(context: CommandContext): Promise<number> {
  const manager = serviceManager(surroundingsOf(context.io));
  if (context.input.flag("list")) return list(context, manager);
  await context.refuseAgent(`watch --${context.input.flag("install") ? "install" : "uninstall"}`);
  if (context.input.flag("uninstall")) return uninstall(context, manager);
  return context.input.flag("dryRun") ? plan(context, manager) : install(context, manager);
}

/** Returns the real paths of the typed folders. Throws `NOT_FOUND` for anything but a folder. */
function foldersOf({ io, input }: CommandContext): string[] {
  const disk = new NodeDisk();
  const cwd = io.cwd();
  return input.args.map((typed) => {
    const path = resolve(cwd, typed);
    try {
      const real = disk.realpath(path);
      if (disk.lstat(real)?.kind === "dir") return real;
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
    }
    throw new ChronicleError("NOT_FOUND", `there is no folder ${printable(path)}`, { hint: "name an existing folder" });
  });
}

function serviceOf({ io, input }: CommandContext, folder: string): Omit<WatchService, "made"> {
  const { home, configFolder } = placesOf({
    ...{ env: io.env, userHome: io.userHome, cwd: () => io.cwd(), store: input.text("store") },
  });
  return {
    folder,
    command: [process.execPath, launcherPath(), "--store", home, "-C", folder, "watch"],
    env: { XDG_CONFIG_HOME: dirname(configFolder), [SERVICE_VARIABLE]: "1" },
  };
}

/**
 * Opens the workspace that contains a folder. If there is no such workspace, begins one in the folder. Prints a note if
 * the workspace has more than this folder.
 */
async function workspaceFor(context: CommandContext, folder: string): Promise<WorkspaceApi> {
  context.io.chdir(folder);
  const workspace = await context.workspace({ create: true });
  if (workspace.path !== folder && !context.json) {
    context.say(`${printable(folder)} is in the workspace ${printable(workspace.path)}, which is recorded as a whole`);
  }
  return workspace;
}

async function plan(context: CommandContext, manager: ServiceManager): Promise<number> {
  const planned: (WatchPlan & { readonly folder: string })[] = [];
  for (const typed of foldersOf(context)) {
    const folder = (await pathAround(context, typed)) ?? typed;
    planned.push({ folder, ...planWatch(manager, serviceOf(context, folder)) });
  }
  if (context.json) context.printJson({ planned });
  else {
    for (const { file, text } of planned) {
      context.say(`would write ${printable(file)}:`);
      context.print(text.trimEnd());
    }
  }
  return EXIT.done;
}

/**
 * Returns the first folder of the workspace that contains a folder. Returns `undefined` if no such workspace exists or
 * can be opened.
 */
async function pathAround(context: CommandContext, folder: string): Promise<string | undefined> {
  if (!isThere(folder)) return undefined;
  context.io.chdir(folder);
  try {
    return (await context.reading()).path;
  } catch (error) {
    if (error instanceof ChronicleError) return undefined;
    throw error;
  }
}

type InstallState = "installed" | "renewed" | "unchanged";

function stateOf({ text, before }: WatchPlan): InstallState {
  if (before === undefined) return "installed";
  return before === text ? "unchanged" : "renewed";
}

interface InstalledShape {
  readonly folder: string;
  readonly name: string;
  readonly file: string;
  readonly state: InstallState;
  readonly recorder: RecorderShape | null;
}

async function install(context: CommandContext, manager: ServiceManager): Promise<number> {
  const folders = foldersOf(context);
  const lacking = await manager.lacking();
  if (lacking !== undefined) {
    throw new ChronicleError("UNAVAILABLE", `nothing was installed: ${lacking.what}`, {
      hint: lacking.hint.replaceAll("FOLDER", () => quotePath(folders[0] ?? "")),
    });
  }
  const installed: InstalledShape[] = [];
  for (const typed of folders) {
    const workspace = await workspaceFor(context, typed);
    const planned = planWatch(manager, serviceOf(context, workspace.path));
    const { name, file } = planned;
    const how = { manager, workspace, now: () => context.io.now() };
    const { recorder = null } = await startWatch(planned, how);
    const shape = { folder: workspace.path, name, file, state: stateOf(planned), recorder };
    installed.push(shape);
    if (!context.json) for (const line of installedLines(context, shape)) context.print(line);
  }
  const notes = await manager.notes();
  if (context.json) context.printJson({ installed, notes });
  else for (const note of notes) context.print(`note: ${note}`);
  return EXIT.done;
}

function installedLines({ io, paint, worded }: CommandContext, shape: InstalledShape): string[] {
  const { folder, file, state, recorder } = shape;
  const first = state === "unchanged" ? "is installed already" : state;
  const since = recorder?.since ?? null;
  const now =
    recorder === null || since === null
      ? "started; the watch records nothing before it has read the folder: `chronicle status` says when it records"
      : `recording since ${localMinute(since, io.now())} (pid ${recorder.pid})`;
  return [
    `${paint("green", first)}: ${printable(folder)}; ${worded(now)}`,
    `  ${printable(file)}`,
    paint("dim", worded(`  to remove it: chronicle watch --uninstall ${quotePath(folder)}`)),
  ];
}

async function uninstall(context: CommandContext, manager: ServiceManager): Promise<number> {
  const removed = [];
  const cwd = context.io.cwd();
  for (const typed of context.input.args) {
    const path = resolve(cwd, typed);
    const real = isThere(path) ? new NodeDisk().realpath(path) : path;
    const around = await pathAround(context, real);
    const watch = installedFor(manager, [real, ...(around === undefined ? [] : [around])]);
    const note = await removeWatch(manager, watch);
    removed.push({ folder: watch.folder, name: watch.name, file: watch.file, note: note ?? null });
    if (context.json) continue;
    context.print(`removed: the watch of ${printable(watch.folder)} (${printable(watch.file)})`);
    if (note !== undefined) context.print(`note: ${printable(note)}`);
  }
  if (context.json) context.printJson({ removed });
  return EXIT.done;
}

async function list(context: CommandContext, manager: ServiceManager): Promise<number> {
  const lacking = await manager.lacking();
  const watches = [];
  for (const { folder, name, file } of installedWatches(manager)) {
    const state = lacking === undefined ? await manager.stateOf(name) : "not running";
    watches.push({ folder, name, file, state, present: isThere(folder) });
  }
  if (context.json) {
    context.printJson({ watches, manager: lacking?.what ?? null });
    return EXIT.done;
  }
  if (watches.length === 0) context.print(context.worded("no watch is installed: chronicle watch --install FOLDER"));
  const rows = watches.map(({ folder, name, state, present }) => [
    printable(folder),
    context.paint(state === "active" ? "green" : "red", printable(state)),
    name,
    present ? "" : "the folder is missing",
  ]);
  for (const line of columns(rows, "<<<<")) context.print(line.trimEnd());
  if (lacking !== undefined && watches.length > 0) context.print(`note: ${printable(lacking.what)}`);
  return EXIT.done;
}
