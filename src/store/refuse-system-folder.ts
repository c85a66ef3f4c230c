import { ChronicleError } from "../core/values/errors.ts";

/** Folders that are the system's with all they hold; most are Linux's, the last ones macOS's. */
const WHOLE = [
  ...["/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys"],
  ...["/usr/bin", "/usr/include", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/sbin", "/usr/share"],
  ...["/private/etc", "/Applications", "/Library", "/System"],
];
/** Folders that hold users' folders, but are none themselves. */
const ITSELF = [
  ...["/dev", "/home", "/media", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/usr", "/usr/local", "/var"],
  ...["/private", "/private/tmp", "/private/var", "/Users", "/Volumes"],
];

/**
 * Throws `UNSAFE` for a folder of the system, which nobody means to send to another machine, or to fill from there.
 * `folder`: absolute.
 */
export function refuseSystemFolder(folder: string): void {
  const isSystem = ITSELF.includes(folder) || WHOLE.some((one) => folder === one || folder.startsWith(`${one}/`));
  if (!isSystem) return;
  throw new ChronicleError("UNSAFE", `${folder} is a folder of the system`, {
    hint: "choose a folder of your own, or say --force if you mean it",
    data: { folder },
  });
}
