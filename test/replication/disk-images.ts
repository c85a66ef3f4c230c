import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";

/** What of a machine is put back: all of it, as a snapshot of a machine does; its store; the folder that somebody works in. */
export type PutBackPart = "all" | "store" | "folder";

const PLACES: Readonly<Record<Exclude<PutBackPart, "all">, readonly string[]>> = {
  store: ["/store", "/config", "/root"],
  folder: [FOLDER],
};

/** The disk `now` with a part of it as it was in `then`. Both stay as they are; the result is durable. */
export function withPart(now: SimDisk, then: SimDisk, part: PutBackPart): SimDisk {
  if (part === "all") return then.crash("keep");
  const disk = now.crash("keep");
  disk.plan = undefined;
  for (const place of PLACES[part]) replace(disk, then, place);
  return disk.crash("keep");
}

/** As `rm -rf PLACE/* && cp -a COPY/. PLACE` does: the folder itself stays. */
function replace(disk: SimDisk, from: SimDisk, place: string): void {
  for (const { name } of disk.list(place)) remove(disk, `${place}/${name.toString()}`);
  for (const { name } of from.list(place)) copy(disk, from, `${place}/${name.toString()}`);
}

function remove(disk: SimDisk, path: string): void {
  if (disk.lstat(path)?.kind !== "dir") return disk.unlink(path);
  for (const { name } of disk.list(path)) remove(disk, `${path}/${name.toString()}`);
  disk.removeFolder(path);
}

function copy(disk: SimDisk, from: SimDisk, path: string): void {
  const stat = from.lstat(path);
  if (stat === undefined) return;
  if (stat.kind === "symlink") return disk.symlink(from.readlink(path), path);
  if (stat.kind === "dir") {
    disk.makeFolder(path, stat.mode);
    for (const { name } of from.list(path)) copy(disk, from, `${path}/${name.toString()}`);
  }
  const fd = disk.open(path, stat.kind === "dir" ? "folder" : "create", stat.mode);
  if (stat.kind !== "dir") disk.write(fd, from.content(path) ?? Buffer.alloc(0), 0);
  disk.setMtime(fd, stat.mtimeNs);
  disk.close(fd);
}
