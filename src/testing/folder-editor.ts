import type { SimDisk } from "./sim-disk/sim-disk.ts";
import type { SimRandom } from "./sim-disk/sim-random.ts";

const FOLDERS = ["", "d/", "e/", "d/f/"] as const;
const NAMES = ["a", "b", "c"] as const;
const LINES = 8;

/**
 * A simulated user who works in a folder of a simulated disk. The user writes files or lines, deletes, moves, and
 * replaces files by folders and folders by files. All edits are durable.
 */
export class FolderEditor {
  readonly #name: string;
  readonly #folder: string;
  readonly #random: SimRandom;
  #number = 0;

  /** `name`: a mark in everything that this editor writes. */
  constructor(name: string, folder: string, random: SimRandom) {
    this.#name = name;
    this.#folder = folder;
    this.#random = random;
  }

  /** Makes one edit. Returns the paths, relative to the folder, that a watcher would report. */
  step(disk: SimDisk): string[] {
    const path = this.#path();
    const dice = this.#random.below(20);
    if (dice < 8) return this.write(disk, path, this.#text());
    if (dice < 12) return this.#changeLine(disk, path);
    if (dice < 15) return this.#remove(disk, path);
    if (dice < 17) return this.#move(disk, path);
    if (dice < 18) return this.#makeFolder(disk, this.#folderPath());
    if (dice < 19) return this.write(disk, this.#folderPath(), this.#text());
    return this.#chmod(disk, path);
  }

  /** Writes a new file, and removes what is in its way. Returns the paths that a watcher would report. */
  write(disk: SimDisk, path: string, text: string): string[] {
    const made = this.#clearWay(disk, path);
    const at = this.#at(path);
    removeAll(disk, at);
    const fd = disk.open(at, "create", 0o644);
    disk.write(fd, Buffer.from(text), 0);
    disk.sync(fd);
    disk.close(fd);
    syncAbove(disk, at);
    return [...made, path];
  }

  /** Changes one line of a file, and keeps the others. */
  #changeLine(disk: SimDisk, path: string): string[] {
    const content = disk.content(this.#at(path));
    if (content === undefined) return this.write(disk, path, this.#text());
    const lines = content.toString().split("\n");
    lines[this.#random.below(LINES)] = this.#word();
    return this.write(disk, path, lines.join("\n"));
  }

  #remove(disk: SimDisk, path: string): string[] {
    const target = this.#random.below(4) === 0 ? this.#folderPath() : path;
    if (disk.lstat(this.#at(target)) === undefined) return [];
    removeAll(disk, this.#at(target));
    syncAbove(disk, this.#at(target));
    return [target];
  }

  #move(disk: SimDisk, path: string): string[] {
    const from = this.#random.below(3) === 0 ? this.#folderPath() : path;
    const to = this.#path();
    if (disk.lstat(this.#at(from)) === undefined || `${to}/`.startsWith(`${from}/`)) return [];
    const made = this.#clearWay(disk, to);
    if (disk.lstat(this.#at(from)) === undefined) return made;
    if (`${from}/`.startsWith(`${to}/`)) return made;
    removeAll(disk, this.#at(to));
    disk.rename(this.#at(from), this.#at(to));
    syncAbove(disk, this.#at(from));
    syncAbove(disk, this.#at(to));
    return [...made, from, to];
  }

  #makeFolder(disk: SimDisk, path: string): string[] {
    const made = this.#clearWay(disk, path);
    if (disk.lstat(this.#at(path))?.kind === "dir") return made;
    removeAll(disk, this.#at(path));
    disk.makeFolder(this.#at(path), 0o755);
    syncAbove(disk, this.#at(path));
    return [...made, path];
  }

  #chmod(disk: SimDisk, path: string): string[] {
    if (disk.lstat(this.#at(path))?.kind !== "file") return [];
    const fd = disk.open(this.#at(path), "read");
    disk.chmod(fd, [0o644, 0o755, 0o600][this.#random.below(3)] ?? 0o644);
    disk.sync(fd);
    disk.close(fd);
    return [path];
  }

  /** Makes the folders above a path; removes a file that is in the way. */
  #clearWay(disk: SimDisk, path: string): string[] {
    const made: string[] = [];
    const names = path.split("/").slice(0, -1);
    names.forEach((_, i) => {
      const folder = names.slice(0, i + 1).join("/");
      if (disk.lstat(this.#at(folder))?.kind === "dir") return;
      removeAll(disk, this.#at(folder));
      disk.makeFolder(this.#at(folder), 0o755);
      syncAbove(disk, this.#at(folder));
      made.push(folder);
    });
    return made;
  }

  #path(): string {
    return `${FOLDERS[this.#random.below(FOLDERS.length)] ?? ""}${NAMES[this.#random.below(NAMES.length)] ?? "a"}`;
  }

  #folderPath(): string {
    return ["d", "e", "d/f", "a"][this.#random.below(4)] ?? "d";
  }

  #text(): string {
    const lines = Array.from({ length: LINES }, (_, i) => `line ${i}`);
    lines[this.#random.below(LINES)] = this.#word();
    return `${lines.join("\n")}\n`;
  }

  #word(): string {
    return `${this.#name} ${(this.#number += 1)}`;
  }

  #at(path: string): string {
    return `${this.#folder}/${path}`;
  }
}

function removeAll(disk: SimDisk, path: string): void {
  const stat = disk.lstat(path);
  if (stat === undefined) return;
  if (stat.kind !== "dir") return disk.unlink(path);
  for (const { name } of disk.list(path)) removeAll(disk, `${path}/${name.toString()}`);
  disk.removeFolder(path);
}

function syncAbove(disk: SimDisk, path: string): void {
  disk.syncFolder(path.slice(0, path.lastIndexOf("/")));
}
