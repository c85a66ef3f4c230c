import type { RepairPlace, WorkspaceApi } from "../api/workspace-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import type { Backends } from "./backends.ts";
import type { OfferedContent, RepairSource, WantedContents } from "../engine/log/repair-source.ts";
import { findInFolder } from "../worktree/files/find-in-folder.ts";
import { wholePath } from "../core/tree/root-place.ts";

/**
 * Returns the source of good contents at a place (a folder, another store, or a workspace). Throws `NOT_FOUND` if the
 * path is no folder. Throws `USAGE` if the path is not absolute or `place.store` is no store.
 */
export function repairSource(
  { disk, isStore, findContents }: Pick<Backends, "disk" | "isStore" | "findContents">,
  place: RepairPlace,
): RepairSource {
  if ("folder" in place) {
    const folder = realFolder(disk, place.folder);
    return { name: place.folder, offers: (wanted) => findInFolder(disk, folder, wanted) };
  }
  if ("store" in place) {
    const home = realFolder(disk, place.store);
    if (!isStore(home)) throw noStore(place.store);
    return { name: place.store, offers: (wanted) => findContents(home, wanted) };
  }
  const { workspace, name } = place;
  return { name, offers: (wanted) => askedOf(workspace, name, wanted) };
}

function realFolder(disk: Disk, path: string): string {
  wholePath("the place of good bytes", path);
  const real = disk.lstat(path) === undefined ? undefined : disk.realpath(path);
  if (real !== undefined && disk.lstat(real)?.kind === "dir") return real;
  throw new ChronicleError("NOT_FOUND", `${path} is no folder`, {
    hint: "give a folder with good files, the folder of another store, or the address of a server",
    data: { path },
  });
}

function noStore(path: string): ChronicleError {
  return new ChronicleError("USAGE", `${path} is no store`, { data: { path } });
}

/**
 * The error codes of a workspace that does not have the good bytes. Any other error ends the search in that workspace.
 */
const NOT_HAD: ReadonlySet<string> = new Set([
  ...["NOT_FOUND", "PRUNED", "ERASED", "BLOB_MISSING", "BLOB_CORRUPT"],
  ...["INTEGRITY_VIOLATION", "LOG_DAMAGED", "USAGE"],
]);

async function* askedOf(
  workspace: Pick<WorkspaceApi, "blob">,
  name: string,
  wanted: WantedContents,
): AsyncGenerator<OfferedContent, void> {
  for (const hash of [...wanted.keys()]) {
    const size = wanted.get(hash);
    const found = await despiteAbsence(() => workspace.blob(hash));
    // A content of another size is not the wanted content, so its bytes are not read.
    if (found === undefined || (size ?? found.size) !== found.size) continue;
    yield { hash, size: found.size, where: name, pieces: () => found.pieces() };
  }
}

async function despiteAbsence<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof ChronicleError && NOT_HAD.has(error.code)) return undefined;
    throw error;
  }
}
