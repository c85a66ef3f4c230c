import { basename, join } from "node:path";
import type { RecorderShape } from "../../api/shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { ownUid } from "../../daemon/run-folder.ts";
import type { Io } from "../../process/io.ts";
import { isThere, readTextIfThere } from "../../process/user-files.ts";
import { type ServiceManager, serviceManager, type Surroundings } from "./service-manager.ts";
import { type InstalledService, isServiceName, serviceName } from "./watch-service.ts";

/** A watch that is installed, with the name of its service and the path of its file. */
export interface InstalledWatch extends InstalledService {
  readonly name: string;
  readonly file: string;
}

export function surroundingsOf({ env, userHome }: Pick<Io, "env" | "userHome">): Surroundings {
  return { env, userHome, platform: process.platform, uid: ownUid() };
}

/** Returns the watches that are installed, in the order of their folders. */
export function installedWatches(manager: ServiceManager): InstalledWatch[] {
  if (!isThere(manager.folder)) return [];
  const files = new NodeDisk().list(manager.folder).map(({ name }) => name.toString());
  return files
    .filter((file) => isServiceName(file) && file.endsWith(manager.ending))
    .flatMap((file) => installedAt(manager, basename(file, manager.ending)) ?? [])
    .toSorted((a, b) => (a.folder < b.folder ? -1 : 1));
}

/**
 * Returns the installed watch of this name; `undefined` if the file does not exist, or if another program has made the
 * file.
 */
export function installedAt(manager: ServiceManager, name: string): InstalledWatch | undefined {
  const file = join(manager.folder, `${name}${manager.ending}`);
  const facts = manager.read(readTextIfThere(file) ?? "");
  return facts === undefined ? undefined : { ...facts, name, file };
}

/**
 * Returns the watch that is installed for a folder, as a recorder that does not record. Callers use this function if no
 * watch of the folder runs. Returns an empty list if no watch is installed, or on a system without a known service
 * manager.
 */
export function idleWatches(io: Pick<Io, "env" | "userHome">, folder: string): RecorderShape[] {
  try {
    const manager = serviceManager(surroundingsOf(io));
    const installed = installedAt(manager, serviceName(folder));
    if (installed === undefined) return [];
    const trouble = `the watch that is installed for this folder does not run (${installed.name})`;
    return [{ kind: "watch", actor: null, since: null, pid: null, trouble, hint: manager.advice(installed.name) }];
  } catch (error) {
    // The home folder is unknown, or the system has no known service manager.
    if (error instanceof ChronicleError) return [];
    throw error;
  }
}
