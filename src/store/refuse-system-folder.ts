import { ChronicleError } from "../core/values/errors.ts";

/** Everything in these is the system's; most of Linux, the last ones of macOS. */
const WHOLE = [
  ...["/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys"],
  ...["/usr/bin", "/usr/include", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/sbin", "/usr/share"],
  ...["/private/etc", "/Applications", "/Library", "/System"],
];
/** Somebody's folders lie in these, but none of them is one. */
const ITSELF = [
  ...["/dev", "/home", "/media", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/usr", "/usr/local", "/var"],
  ...["/private", "/private/tmp", "/private/var", "/Users", "/Volumes"],
];

/** Nobody means to send a folder of the system to another machine, or to fill it from there. `folder`: absolute. Throws `UNSAFE`. */
export function refuseSystemFolder(folder: string): void {
  const isSystem = ITSELF.includes(folder) || WHOLE.some((one) => folder === one || folder.startsWith(`${one}/`));
  if (!isSystem) return;
  throw new ChronicleError("UNSAFE", `${folder} is a folder of the system`, {
    hint: "choose a folder of your own, or say --force if you mean it",
    data: { folder },
  });
}
