import { readFileSync, realpathSync, statfsSync, type PathLike } from "node:fs";
import type { FileSystem } from "./disk.ts";

/** The `f_type` of statfs(2) of Linux's own file systems, whose traits are known without probing. */
const OWN: ReadonlyMap<number, string> = new Map([
  [0xef53, "ext4"],
  [0x58465342, "xfs"],
  [0x9123683e, "btrfs"],
  [0x01021994, "tmpfs"],
  [0x794c7630, "overlay"],
  [0xf2f52010, "f2fs"],
  [0x2fc12fc1, "zfs"],
  [0xca451a4e, "bcachefs"],
]);

/** See `Disk.fileSystemOf`. */
export function fileSystemOf(path: PathLike): FileSystem {
  const { type } = statfsSync(path);
  const own = process.platform === "linux" ? OWN.get(type) : undefined;
  if (own !== undefined) return { kind: own, isLinux: true, mount: own };
  return mountedAt(path) ?? { kind: `0x${type.toString(16)}`, isLinux: false, mount: `${process.platform} ${type}` };
}

/** Returns the mount that contains the path, from proc(5). */
function mountedAt(path: PathLike): FileSystem | undefined {
  if (process.platform !== "linux") return undefined;
  let found: FileSystem | undefined;
  let length = -1;
  const place = `${realpathSync.native(path)}/`;
  for (const line of mountLines()) {
    const [first = "", second = ""] = line.split(" - ");
    const [, , device = "", root = "", point = "", options = ""] = first.split(" ");
    const [kind = "", source = "", superOptions = ""] = second.split(" ");
    const folder = unescaped(point);
    // The last of several mounts on the same folder is the visible one.
    if (!place.startsWith(folder.endsWith("/") ? folder : `${folder}/`) || folder.length < length) continue;
    length = folder.length;
    found = { kind, isLinux: false, mount: [device, root, kind, source, options, superOptions].join(" ") };
  }
  return found;
}

function mountLines(): string[] {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  } catch {
    // Without /proc, the kind is the number from statfs.
    return [];
  }
}

/** Decodes spaces, tabs, line ends and backslashes, which are written as octal numbers. */
function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
}
