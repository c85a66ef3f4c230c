import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import { decodeWhereabouts, encodeWhereabouts, type RootPlace, type Whereabouts } from "../core/records/whereabouts.ts";
import type { Disk } from "../disk/disk.ts";
import { writeFileDurably } from "../disk/write-fully.ts";
import { readDiskFile, readProcFile } from "../disk/read-disk-file.ts";
import type { WhereaboutsFile } from "../engine/log/context.ts";
import type { TrackedRoot } from "../worktree/worktree.ts";
import { optional } from "../util/optional.ts";

/**
 * Keeps the places of a workspace's roots (device and mount of each root) in one small file. Each write replaces the
 * file.
 */
export class FileWhereabouts implements WhereaboutsFile {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #roots: readonly TrackedRoot[];

  constructor(disk: Disk, path: string, roots: readonly TrackedRoot[]) {
    this.#disk = disk;
    this.#path = path;
    this.#roots = roots;
  }

  /**
   * Reads the noted places. Returns `undefined` if the file is missing or cannot be decoded, or if this user may not
   * read it. In these cases, the next capture writes the file anew.
   */
  read(): Whereabouts | undefined {
    try {
      const text = readDiskFile(this.#disk, this.#path)?.toString("utf8");
      return text === undefined ? undefined : decodeWhereabouts(text);
    } catch (error) {
      const isUnreadable = errnoOf(error) === "EACCES" || errnoOf(error) === "EPERM";
      if (isUnreadable || error instanceof SyntaxError || error instanceof ChronicleError) return undefined;
      throw error;
    }
  }

  now(): Whereabouts {
    const boot = readProcFile(this.#disk, "/proc/sys/kernel/random/boot_id")?.trim();
    const mounts = mountsOf(readProcFile(this.#disk, "/proc/self/mountinfo") ?? "");
    const roots = this.#roots.flatMap((root) => placeOf(this.#disk, root, mounts) ?? []);
    return { ...(boot === undefined || boot === "" ? {} : { boot }), roots };
  }

  startedAt(): number | undefined {
    const [, seconds] = /^btime (\d+)$/m.exec(readProcFile(this.#disk, "/proc/stat") ?? "") ?? [];
    return seconds === undefined ? undefined : Number(seconds) * 1_000;
  }

  write(value: Whereabouts): void {
    writeFileDurably(this.#disk, this.#path, Buffer.from(encodeWhereabouts(value)), { mark: `.${process.pid}` });
  }
}

/** One line of proc_pid_mountinfo(5). */
interface Mount {
  readonly device: string;
  /** The folder within the file system that is mounted at `point`. */
  readonly root: string;
  readonly point: string;
  readonly type: string;
  readonly source: string;
}

/** Returns the mounts in the order of `mountinfo`: a mount comes after the mounts that it hides. */
function mountsOf(text: string): Mount[] {
  return text.split("\n").flatMap((line): Mount[] => {
    const [before = "", behind = ""] = line.split(" - ");
    const [, , device, root, point] = before.split(" ");
    const [type, source] = behind.split(" ");
    if (device === undefined || root === undefined || point === undefined) return [];
    return [{ device, root, point: unescape(point), type: type ?? "", source: unescape(source ?? "") }];
  });
}

/** Decodes characters that the kernel writes as three octal digits, such as spaces. */
function unescape(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCodePoint(Number.parseInt(digits, 8)));
}

function placeOf(disk: Disk, { id, folder }: TrackedRoot, mounts: readonly Mount[]): RootPlace | undefined {
  const stat = statOf(disk, folder);
  if (stat === undefined) return undefined;
  const mount = mountOf(folder, mounts);
  const mounting = mount === undefined ? undefined : mountingOf(disk, mount);
  return {
    id: id ?? null,
    device: String(stat.dev),
    ...(mount === undefined ? {} : { mount: [mount.point, mount.root, ...topOf(disk, folder, mount, stat)].join(" ") }),
    ...optional({ mounting }),
  };
}

/**
 * Returns the inode and birth time of a folder that is itself a mount point. Both differ once another file system is
 * mounted at this point. Returns an empty list for any other folder, because users may remove such a folder and make it
 * again.
 */
function topOf(disk: Disk, folder: string, { point }: Mount, { ino }: { readonly ino: bigint }): string[] {
  return point === folder ? [String(ino), disk.birthOf(folder) ?? "-"] : [];
}

/**
 * Returns the innermost mount that contains the folder. Of several mounts at one place, returns the last one, because
 * the last one hides the others.
 */
function mountOf(folder: string, mounts: readonly Mount[]): Mount | undefined {
  let found: Mount | undefined;
  for (const mount of mounts) {
    const { point } = mount;
    const holds = point === "/" || folder === point || folder.startsWith(`${point}/`);
    if (holds && point.length >= (found?.point.length ?? 0)) found = mount;
  }
  return found;
}

/**
 * Returns a text that differs each time the file system is mounted. The kernel makes a folder in sysfs for each mounted
 * file system, and the text contains the inode number of that folder. Unlike mount ids and device numbers, these inode
 * numbers are not reused. Supports btrfs, ext4, XFS and F2FS. Returns `undefined` for other file systems and without
 * sysfs.
 */
function mountingOf(disk: Disk, { device, type, source }: Mount): string | undefined {
  const candidates: string[] = [];
  try {
    const block = source.slice(source.lastIndexOf("/") + 1);
    if (type === "btrfs") {
      for (const { name } of disk.list("/sys/fs/btrfs")) {
        const folder = `/sys/fs/btrfs/${name.toString("utf8")}`;
        if (statOf(disk, `${folder}/devices/${block}`) !== undefined) candidates.push(folder);
      }
    } else if (/^(ext4|xfs|f2fs)$/.test(type)) {
      const name = disk.realpath(`/sys/dev/block/${device}`);
      candidates.push(`/sys/fs/${type}/${name.slice(name.lastIndexOf("/") + 1)}`);
    }
  } catch (error) {
    // A sandbox may have no sysfs.
    if (errnoOf(error) === undefined) throw error;
  }
  const stat = candidates.map((folder) => statOf(disk, folder)).find((one) => one !== undefined);
  return stat === undefined ? undefined : `${type} ${stat.ino}`;
}

function statOf(disk: Disk, path: string): { readonly dev: bigint; readonly ino: bigint } | undefined {
  try {
    return disk.lstat(path);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
