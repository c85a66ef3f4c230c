import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { RecorderShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { isThere, readTextIfThere, removeUserFile, replaceUserFile } from "../../process/user-files.ts";
import { installedAt, type InstalledWatch, installedWatches } from "./installed-watches.ts";
import { removeIfEmpty, type ServiceManager } from "./service-manager.ts";
import { serviceName, type WatchService } from "./watch-service.ts";

/** The time, in milliseconds, within which a service that was started must record. */
const START_MS = 20_000;
/** The time, in milliseconds, between two checks whether the service records. */
const LOOK_MS = 100;

export interface WatchPlan {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  /** The present text of the file; `undefined` if there is no file. */
  readonly before: string | undefined;
}

/**
 * Returns the file of a folder's service, without writing it. Throws `REFUSED` if a file of this name exists, and this
 * program has not made it.
 */
export function planWatch(manager: ServiceManager, service: Omit<WatchService, "made">): WatchPlan {
  const name = serviceName(service.folder);
  const file = join(manager.folder, `${name}${manager.ending}`);
  const known = installedWatches(manager);
  const made = [...new Set([...missingFolders(manager.folder), ...known.flatMap((one) => one.made)])];
  const text = manager.textOf(name, { ...service, made });
  const before = readTextIfThere(file);
  if (before !== undefined && manager.read(before) === undefined) {
    throw new ChronicleError("REFUSED", `${file} exists already, and Chronicle has not made it`, {
      hint: "look at this file, move it away, and try again",
      data: { file },
    });
  }
  return { name, file, text, before };
}

/** Returns those of the folder and its parent folders that do not exist, the lowest first. */
function missingFolders(folder: string): string[] {
  return isThere(folder) ? [] : [folder, ...missingFolders(dirname(folder))];
}

export interface StartedWatch {
  /** The watch, once it records; `undefined` if it runs, but does not record yet. */
  readonly recorder: RecorderShape | undefined;
}

interface Starting {
  readonly manager: ServiceManager;
  /** The workspace whose folder is recorded. */
  readonly workspace: WorkspaceApi;
  /** Returns the present time, in epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Writes the file of a service, starts the service, and waits until it records. If the service cannot be started,
 * removes everything that was made, and throws `UNAVAILABLE`. A file that existed before is not removed. It gets its
 * earlier text back. A service that already runs from the same file is left as it is.
 */
export async function startWatch(plan: WatchPlan, { manager, workspace, now }: Starting): Promise<StartedWatch> {
  const { name, file, text, before } = plan;
  if (before === text && (await manager.stateOf(name)) === "active") {
    return { recorder: await watchOf(workspace, 0) };
  }
  const from = now();
  const made = missingFolders(manager.folder);
  replaceUserFile(file, text);
  try {
    await manager.start(name);
    return { recorder: await untilRecording({ manager, workspace, now }, { name, from }) };
  } catch (error) {
    if (before === undefined) await takeBack(manager, { folder: workspace.path, name, file, made });
    else {
      replaceUserFile(file, before);
      await manager.reload(name);
    }
    throw error;
  }
}

async function takeBack(manager: ServiceManager, watch: InstalledWatch): Promise<void> {
  await manager.stop(watch.name).catch((trouble: unknown) => {
    // This error is ignored, because the service may never have been started. The caller throws the error of the start.
    if (!(trouble instanceof ChronicleError)) throw trouble;
  });
  await dropFile(manager, watch, true);
}

async function watchOf(workspace: WorkspaceApi, from: number): Promise<RecorderShape | undefined> {
  const { by } = await workspace.recording();
  return by.find(
    ({ kind, since, trouble }) => kind === "watch" && trouble === undefined && Date.parse(since ?? "") >= from,
  );
}

/**
 * Waits until the service records. Resolves to `undefined` if the service runs but does not record within `START_MS`,
 * because it may still be reading a large folder.
 */
async function untilRecording(
  { manager, workspace, now }: Starting,
  { name, from }: { readonly name: string; readonly from: number },
): Promise<RecorderShape | undefined> {
  let state = "unknown";
  while (now() - from < START_MS) {
    const recorder = await watchOf(workspace, from);
    if (recorder !== undefined) return recorder;
    state = await manager.stateOf(name);
    if (manager.startsAtOnce && state !== "active") break;
    await sleep(LOOK_MS);
  }
  if (state === "active") return undefined;
  throw new ChronicleError("UNAVAILABLE", `the service ${name} was started, and ended again (${state})`, {
    hint: `see why: \`chronicle -C ${workspace.path} watch\`, in a terminal`,
  });
}

/**
 * Ends the service of an installed watch, and removes everything that its installation has made. Returns a note if the
 * service could not be asked to end, because no service manager runs.
 */
export async function removeWatch(manager: ServiceManager, watch: InstalledWatch): Promise<string | undefined> {
  const lacking = await manager.lacking();
  if (lacking === undefined) await manager.stop(watch.name);
  await dropFile(manager, watch, lacking === undefined);
  return lacking === undefined ? undefined : `${lacking.what}, so nothing was stopped`;
}

async function dropFile(manager: ServiceManager, { name, file, made }: InstalledWatch, isUp: boolean): Promise<void> {
  manager.dropLinks(name);
  if (isThere(file)) removeUserFile(file);
  for (const folder of made) removeIfEmpty(folder);
  if (isUp) await manager.reload(name);
}

/**
 * Returns the installed watch of the first of the folders that has one. Throws `NOT_FOUND` if no folder has one. The
 * error names the first folder, which is the one that the user typed.
 */
export function installedFor(manager: ServiceManager, folders: readonly string[]): InstalledWatch {
  const found = folders.map((folder) => installedAt(manager, serviceName(folder))).find((one) => one !== undefined);
  if (found !== undefined) return found;
  const all = installedWatches(manager).map(({ folder }) => folder);
  throw new ChronicleError("NOT_FOUND", `no watch is installed for ${folders[0] ?? ""}`, {
    hint: all.length === 0 ? "no watch is installed" : `installed for: ${all.join(", ")}`,
  });
}
