import type { DiskPath } from "../../disk/disk.ts";
import { systemError } from "./sim-error.ts";
import { shareContent } from "./sim-file.ts";
import { pathText, slotOf, type SimMachine } from "./sim-machine.ts";
import { byteText, type SimPlace } from "./sim-path.ts";
import { ROOT, type SimNode } from "./sim-state.ts";

/** Errnos of rmdir(2) for a path that does not end in a name. */
const NAMELESS_FOLDER = { dot: "EINVAL", dotdot: "ENOTEMPTY", root: "EBUSY", anchor: "ENOTDIR", name: "" } as const;

/** mkdir(2). */
export function makeFolder(machine: SimMachine, path: DiskPath, mode: number): void {
  const place = machine.newName(path, "makeFolder");
  machine.faults.mutate("makeFolder", pathText(path), { whole: () => machine.add(place, "dir", mode) });
}

/** rmdir(2). */
export function removeFolder(machine: SimMachine, path: DiskPath): void {
  machine.faults.checkRunning("removeFolder");
  const place = machine.resolve(path, "never");
  const node = machine.existing(place, "removeFolder", path);
  const text = pathText(path);
  if (place.end !== "name") throw systemError(NAMELESS_FOLDER[place.end], "removeFolder", text);
  if (node.kind !== "dir") throw systemError("ENOTDIR", "removeFolder", text);
  if (node.names.size > 0) throw systemError("ENOTEMPTY", "removeFolder", text);
  machine.checkFolderWritable(place, text);
  machine.faults.mutate("removeFolder", text, { whole: () => machine.change(slotOf(place, 0)) });
}

/** unlink(2). */
export function unlinkName(machine: SimMachine, path: DiskPath): void {
  machine.faults.checkRunning("unlink");
  const place = machine.resolve(path, "never");
  const text = pathText(path);
  if (machine.existing(place, "unlink", path).kind === "dir") throw systemError("EISDIR", "unlink", text);
  if (place.end !== "name") throw systemError("EPERM", "unlink", text);
  machine.checkFolderWritable(place, text);
  machine.faults.mutate("unlink", text, { whole: () => machine.change(slotOf(place, 0)) });
}

/** rename(2). */
export function renameName(machine: SimMachine, from: DiskPath, to: DiskPath): void {
  machine.faults.checkRunning("rename");
  const source = machine.resolve(from, "new");
  const target = machine.resolve(to, "new");
  const path = `${pathText(from)} -> ${pathText(to)}`;
  if (source.end !== "name" || target.end !== "name") throw systemError("EBUSY", "rename", path);
  const node = machine.existing(source, "rename", from);
  const problem = renameProblem(machine, node, source, target);
  if (problem !== undefined) throw systemError(problem, "rename", path);
  machine.checkFolderWritable(source, path);
  machine.checkFolderWritable(target, path);
  machine.faults.mutate("rename", path, {
    whole: () => {
      if (source.node !== target.node) machine.change(slotOf(source, 0), slotOf(target, source.node));
    },
  });
}

/** link(2). If `from` is a symbolic link, the new name leads to that link itself. */
export function linkName(machine: SimMachine, from: DiskPath, to: DiskPath): void {
  machine.faults.checkRunning("link");
  const source = machine.resolve(from, "trailing");
  const node = machine.existing(source, "link", from);
  const path = `${pathText(from)} -> ${pathText(to)}`;
  const place = machine.newName(to, "link");
  if (place.trailing) throw systemError("ENOENT", "link", path);
  if (source.end === "anchor") throw systemError("EXDEV", "link", path);
  if (node.kind === "dir") throw systemError("EPERM", "link", path);
  if (node.dev !== machine.state.node(place.folder).dev) throw systemError("EXDEV", "link", path);
  machine.faults.mutate("link", path, { whole: () => machine.change(slotOf(place, node.id)) });
}

/** symlink(2). */
export function symlinkName(machine: SimMachine, target: Buffer, path: DiskPath): void {
  const place = machine.newName(path, "symlink");
  if (byteText(target) === "" || place.trailing) throw systemError("ENOENT", "symlink", pathText(path));
  machine.faults.mutate("symlink", pathText(path), {
    whole: () => {
      machine.add(place, "symlink", 0o777).target = Buffer.from(target);
    },
  });
}

/**
 * open(2) that creates the file, then ioctl_ficlone(2). A crash in the middle leaves an empty file. Returns false if
 * the disk cannot clone, or if the new name is on another file system.
 */
export function cloneFile(machine: SimMachine, from: DiskPath, to: DiskPath): boolean {
  machine.faults.checkRunning("clone");
  const source = machine.existing(machine.resolve(from, "always"), "clone", from);
  machine.check(source, "read", pathText(from));
  const place = machine.newName(to, "clone");
  if (source.kind !== "file" || place.trailing) throw systemError("EISDIR", "clone", pathText(from));
  if (machine.options.clones === false || source.dev !== machine.state.node(place.folder).dev) return false;
  machine.faults.mutate("clone", `${pathText(from)} -> ${pathText(to)}`, {
    whole: () => {
      const copy = machine.add(place, "file", source.mode);
      shareContent(machine.state.own(source.id).file, copy.file);
    },
    torn: () => machine.add(place, "file", source.mode),
  });
  return true;
}

function renameProblem(machine: SimMachine, node: SimNode, source: SimPlace, target: SimPlace): string | undefined {
  const into = machine.state.node(target.folder);
  if (node.dev !== into.dev) return "EXDEV";
  if (into.nlink === 0) return "ENOENT";
  if (node.kind !== "dir" && (source.trailing || target.trailing)) return "ENOTDIR";
  if (node.kind === "dir" && isWithin(machine, target.folder, node.id)) return "EINVAL";
  if (target.node === 0 || target.node === source.node) return undefined;
  if (isWithin(machine, source.folder, target.node)) return "ENOTEMPTY";
  return replaceProblem(node, machine.state.node(target.node));
}

function replaceProblem(node: SimNode, old: SimNode): string | undefined {
  if (old.kind === "dir" && node.kind !== "dir") return "EISDIR";
  if (old.kind !== "dir" && node.kind === "dir") return "ENOTDIR";
  return old.names.size > 0 ? "ENOTEMPTY" : undefined;
}

/** True if a folder is the folder `above`, or lies below it. */
function isWithin(machine: SimMachine, folder: number, above: number): boolean {
  for (let id = folder; id !== ROOT && id !== 0; id = machine.state.node(id).parent) if (id === above) return true;
  return above === ROOT;
}
