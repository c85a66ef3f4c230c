import { execFileSync, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The commands that make and mount each kind of disk. They are in Debian's packages exfatprogs and exfat-fuse,
 * xfsprogs, e2fsprogs, btrfs-progs and ntfs-3g.
 */
const KINDS = {
  exfat: { size: "64M", make: [["mkfs.exfat"]], mount: ["mount.exfat-fuse"] },
  ntfs: { size: "32M", make: [["mkfs.ntfs", "-Q", "-F"]], mount: ["mount.ntfs-3g"] },
  ext4: { size: "32M", make: [["mkfs.ext4", "-q"]], mount: ["mount", "-t", "ext4"] },
  casefold: { size: "32M", make: [["mkfs.ext4", "-q", "-O", "casefold"]], mount: ["mount", "-t", "ext4"] },
  xfs: { size: "320M", make: [["mkfs.xfs", "-q"]], mount: ["mount", "-t", "xfs"] },
  "xfs-ci": { size: "320M", make: [["mkfs.xfs", "-q", "-n", "version=ci"]], mount: ["mount", "-t", "xfs"] },
  btrfs: { size: "128M", make: [["mkfs.btrfs", "-q"]], mount: ["mount", "-t", "btrfs"] },
} as const;

/**
 * A kind of file system that a test can make. `nfs` mounts a folder of this machine. Its server must be running
 * (`nfs-kernel-server`).
 */
export type DiskKind = keyof typeof KINDS | "tmpfs" | "overlay" | "nfs";

/**
 * A file system that is mounted at `folder`. Most kinds are in an image file on a loop device. No link leads to
 * `folder`.
 */
export class MountedDisk implements Disposable {
  readonly folder: string;
  readonly #base: string;
  readonly #kind: DiskKind;
  #loop: string | undefined;

  /**
   * A folder on the disk for a project. On some disks, names are case-insensitive only in folders that are marked for
   * it.
   */
  get home(): string {
    const home = join(this.folder, "home");
    if (existsSync(home)) return home;
    mkdirSync(home);
    if (this.#kind === "casefold") this.#run(["chattr", "+F", home]);
    return home;
  }

  /** For `nfs`: the folder of the server, where another machine would write. */
  get elsewhere(): string {
    return join(this.#base, "export");
  }

  /** Throws if this machine cannot make such a disk (see `whyNot`). `options`: options of the mount. */
  constructor(kind: DiskKind, options: readonly string[] = []) {
    this.#base = mkdtempSync(join(tmpdir(), "chronicle-disk-"));
    this.#kind = kind;
    this.folder = join(this.#base, "Disk");
    mkdirSync(this.folder);
    try {
      this.#make();
      this.mount(options);
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  /** Returns the reason why this machine cannot make such a disk. `undefined` if it can. */
  static whyNot(kind: DiskKind): string | undefined {
    if (process.platform !== "linux") return "it can be mounted only on Linux";
    if (process.getuid?.() !== 0) return "only root can mount it";
    try {
      using _disk = new MountedDisk(kind);
      return undefined;
    } catch (error) {
      return error instanceof Error ? (error.message.split("\n")[0] ?? "it cannot be made") : "it cannot be made";
    }
  }

  mount(options: readonly string[] = []): void {
    if (this.#kind === "tmpfs") this.#run(["mount", "-t", "tmpfs", ...options, "tmpfs", this.folder]);
    else if (this.#kind === "overlay")
      this.#run(["mount", "-t", "overlay", "-o", this.#layers(), "overlay", this.folder]);
    else if (this.#kind === "nfs") this.#run(["mount", "-t", "nfs4", ...options, this.#exported, this.folder]);
    else this.#run([...KINDS[this.#kind].mount, ...options, this.#loop ?? "", this.folder]);
  }

  umount(): void {
    this.#run(["umount", this.folder]);
  }

  [Symbol.dispose](): void {
    spawnSync("umount", ["-l", this.folder]);
    if (this.#kind === "nfs") spawnSync("exportfs", ["-u", this.#exported]);
    if (this.#loop !== undefined) spawnSync("losetup", ["-d", this.#loop]);
    rmSync(this.#base, { recursive: true, force: true });
  }

  #make(): void {
    if (this.#kind === "tmpfs" || this.#kind === "overlay") return;
    if (this.#kind === "nfs") return this.#export();
    const { size, make } = KINDS[this.#kind];
    const image = join(this.#base, "image");
    this.#run(["truncate", "-s", size, image]);
    for (const words of make) this.#run([...words, image]);
    this.#loop = this.#run(["losetup", "-f", "--show", image]).trim();
  }

  /** The exported folder, as the NFS server names it. */
  get #exported(): string {
    return `127.0.0.1:${this.elsewhere}`;
  }

  #export(): void {
    mkdirSync(this.elsewhere);
    const fsid = `fsid=${randomUUID()}`;
    this.#run(["exportfs", "-o", `rw,sync,no_subtree_check,no_root_squash,insecure,${fsid}`, this.#exported]);
  }

  #layers(): string {
    const [lower, upper, work] = ["lower", "upper", "work"].map((name) => join(this.#base, name));
    for (const folder of [lower, upper, work]) mkdirSync(folder ?? "", { recursive: true });
    return `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
  }

  #run([command = "", ...words]: readonly string[]): string {
    return execFileSync(command, words, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }
}
