import { ChronicleError } from "../core/values/errors.ts";
import type { RootRecord } from "../core/records/workspace-record.ts";
import type { ListedWorkspace } from "./roots-cache.ts";
import { isIn, placeOfRoot } from "../core/tree/root-place.ts";

/** Throws `REFUSED` if any root after the first is not tracked by the workspace. */
export function refuseFurther(found: ListedWorkspace, [, ...further]: readonly RootRecord[]): void {
  const other = further.map(placeOfRoot).find((place) => !found.folders.includes(place));
  if (other === undefined) return;
  const [first = ""] = found.folders;
  throw new ChronicleError("REFUSED", `the history of ${first} exists already, and does not track ${other}`, {
    hint: `run \`chronicle init\` with that path alone: no folder can be added to an existing workspace`,
    data: { workspace: found.id, path: other },
  });
}

/**
 * Throws `REFUSED` if the workspace tracks a folder and the root is a single file, or the reverse. Also throws
 * `REFUSED` for two single files with different names.
 */
export function refuseOtherKind(found: ListedWorkspace, root: RootRecord): void {
  const [old = ""] = found.folders;
  const name = old.slice(old.lastIndexOf("/") + 1);
  if (found.single ? root.only === name : root.only === undefined) return;
  const what = found.single ? `the single file ${name}` : "a folder";
  throw new ChronicleError(
    "REFUSED",
    `the history ${found.id} tracks ${what}, but ${placeOfRoot(root)} is something else`,
    {
      hint: found.single
        ? `name a file that is called ${name}, or leave out --adopt to begin a history of its own`
        : "name a folder, or leave out --adopt to begin a history of its own",
      data: { workspace: found.id, path: placeOfRoot(root) },
    },
  );
}

/**
 * Throws `REFUSED` if the new place of the first root overlaps with another root of the workspace, because files in
 * both would be recorded twice.
 */
export function refuseWithin(found: ListedWorkspace, root: RootRecord): void {
  const place = placeOfRoot(root);
  const clash = found.folders.slice(1).find((one) => isIn(place, one) || isIn(one, place));
  if (clash === undefined) return;
  throw new ChronicleError(
    "REFUSED",
    `${place} and ${clash}, which the same workspace tracks, overlap: each file would be recorded twice`,
    { hint: "move one of the two elsewhere", data: { workspace: found.id, path: place } },
  );
}

/** System folders that are refused with everything in them. The folders in the last line are those of macOS. */
const WHOLE = [
  ...["/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/sbin", "/sys"],
  ...["/usr/bin", "/usr/include", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/sbin", "/usr/share"],
  ...["/private/etc", "/Applications", "/Library", "/System"],
];

/** System folders that hold users' folders. Only these folders themselves are refused. */
const ITSELF = [
  ...["/dev", "/home", "/media", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/usr", "/usr/local", "/var"],
  ...["/private", "/private/tmp", "/private/var", "/Users", "/Volumes"],
];

/**
 * Throws `UNSAFE` for a folder of the system, because hardly anybody wants to sync such a folder. `folder` must be
 * absolute.
 */
export function refuseSystemFolder(folder: string): void {
  const isSystem = ITSELF.includes(folder) || WHOLE.some((one) => folder === one || folder.startsWith(`${one}/`));
  if (!isSystem) return;
  throw new ChronicleError("UNSAFE", `${folder} is a folder of the system`, {
    hint: "choose a folder of your own, or say --force if you mean it",
    data: { folder },
  });
}
