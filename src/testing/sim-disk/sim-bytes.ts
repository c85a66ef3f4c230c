import type { DiskPath, OpenHow } from "../../disk/disk.ts";
import type { SimDescriptor } from "./sim-descriptors.ts";
import { systemError } from "./sim-error.ts";
import { contentOf, type FileChange, loseChanges, saveChanges, setLength, writeBytes } from "./sim-file.ts";
import { pathText, type SimMachine } from "./sim-machine.ts";
import type { SimPlace } from "./sim-path.ts";
import type { SimNode } from "./sim-state.ts";

/** open(2), never following a link in the last component. Counts as a change if it creates the file. */
export function openFile(machine: SimMachine, path: DiskPath, how: OpenHow, mode: number): number {
  machine.faults.checkRunning("open");
  const text = pathText(path);
  const mayCreate = how !== "read" && how !== "folder";
  const place = machine.resolve(path, mayCreate ? "new" : "trailing");
  if (mayCreate && place.trailing) throw systemError("EISDIR", "open", text);
  if (mayCreate && place.node === 0) return createFile(machine, place, { path: text, how, mode });
  machine.faults.observe("open", text);
  const node = machine.existing(place, "open", path);
  if (place.end === "anchor" && how !== "folder") throw systemError("ELOOP", "open", text);
  checkOpens(machine, node, how, text);
  return machine.descriptors.add(machine.state, { node: node.id, how, path: text, position: 0 });
}

function createFile(
  machine: SimMachine,
  place: SimPlace,
  { path, how, mode }: { readonly path: string; readonly how: OpenHow; readonly mode: number },
): number {
  if (machine.state.node(place.folder).nlink === 0) throw systemError("ENOENT", "open", path);
  machine.checkFolderWritable(place, path);
  machine.descriptors.checkRoom(path);
  return machine.faults.mutate("open", path, {
    whole: () => {
      const node = machine.add(place, "file", mode);
      return machine.descriptors.add(machine.state, { node: node.id, how, path, position: 0 });
    },
  });
}

/** Throws as open(2) would for a node that exists. */
export function checkOpens(machine: SimMachine, node: SimNode, how: OpenHow, path: string): void {
  if (how === "create") throw systemError("EEXIST", "open", path);
  if (how === "folder" && node.kind !== "dir") throw systemError("ENOTDIR", "open", path);
  if (node.kind === "symlink") throw systemError("ELOOP", "open", path);
  const writes = how === "append" || how === "update";
  if (writes && node.kind === "dir") throw systemError("EISDIR", "open", path);
  if (writes && node.kind === "special") throw systemError("ENXIO", "open", path);
  if (writes) machine.check(node, "write", path);
  if (how !== "append") machine.check(node, "read", path);
}

/** pread(2), or read(2) without a position. */
export function readBytes(machine: SimMachine, fd: number, into: Uint8Array, position: number | null): number {
  const open = machine.descriptor(fd, "read");
  machine.faults.observe("read", open.path);
  const node = machine.state.node(open.node);
  if (node.kind === "dir") throw systemError("EISDIR", "read", open.path);
  if (open.how === "append") throw systemError("EBADF", "read", open.path);
  const at = position ?? open.position;
  const end = Math.min(node.file.size, at + Math.min(into.length, machine.options.mostBytes ?? into.length));
  const piece = contentOf(node.file).subarray(at, Math.max(at, end));
  into.set(piece);
  if (position === null) open.position += piece.length;
  return piece.length;
}

/** pwrite(2), or write(2) without a position or at the end. An injected failure writes the first half. */
export function writeSome(machine: SimMachine, fd: number, bytes: Uint8Array, position: number | null): number {
  const open = machine.descriptor(fd, "write");
  if (open.how === "read" || open.how === "folder") throw systemError("EBADF", "write", open.path);
  const half = bytes.subarray(0, Math.floor(bytes.length / 2));
  return machine.faults.mutate("write", open.path, {
    whole: () => put(machine, open, bytes, position),
    torn: () => put(machine, open, half, position),
    failed: () => put(machine, open, half, position),
  });
}

function put(machine: SimMachine, open: SimDescriptor, bytes: Uint8Array, position: number | null): number {
  if (bytes.length === 0) return 0;
  machine.tick();
  const node = machine.state.own(open.node);
  const at = open.how === "append" ? node.file.size : (position ?? open.position);
  const count = fitting(machine, node, at, Math.min(bytes.length, machine.options.mostBytes ?? bytes.length));
  if (count <= 0) throw systemError("ENOSPC", "write", open.path);
  const before = node.file.size;
  writeBytes(node.file, at, bytes.subarray(0, count), machine.state.token);
  machine.state.charge(node, node.file.size - before);
  node.mtimeNs = node.ctimeNs = machine.state.clockNs;
  if (position === null || open.how === "append") open.position = at + count;
  return count;
}

/** Returns how many of `wanted` bytes at `at` fit into the budget. */
function fitting(machine: SimMachine, node: SimNode, at: number, wanted: number): number {
  const { capacityBytes } = machine.options;
  if (capacityBytes === undefined) return wanted;
  const free = Math.max(0, capacityBytes - machine.state.usedBytes);
  return Math.min(wanted, node.file.size + free - at);
}

/** ftruncate(2). */
export function truncateFile(machine: SimMachine, fd: number, length: number): void {
  const open = machine.descriptor(fd, "truncate");
  if (open.how === "read" || open.how === "folder") throw systemError("EINVAL", "truncate", open.path);
  machine.faults.mutate("truncate", open.path, {
    whole: () => {
      machine.tick();
      const node = machine.state.own(open.node);
      const size = Math.max(0, length);
      setLength(node.file, size, machine.state.token);
      machine.state.charge(node, Math.min(0, size - node.charged));
      node.mtimeNs = node.ctimeNs = machine.state.clockNs;
    },
  });
}

/** Returns the last change of a file that a sync beginning now makes durable; `undefined` if there is none. */
export function lastChange(machine: SimMachine, fd: number): FileChange | undefined {
  const node = machine.state.node(machine.descriptor(fd, "sync").node);
  return node.kind === "file" ? node.file.pending.at(-1) : undefined;
}

/** fdatasync(2); for a folder's descriptor, like `syncFolder`. `since`: the last change when the sync began. */
export function syncFile(machine: SimMachine, fd: number, since?: { readonly last: FileChange | undefined }): void {
  const open = machine.descriptor(fd, "sync");
  const node = machine.state.node(open.node);
  if (node.kind === "dir") return syncNames(machine, "sync", node.id, open.path);
  machine.faults.mutate("sync", open.path, {
    whole: () => saveNode(machine, open.node, since),
    torn: () => {
      const { file } = machine.state.own(open.node);
      saveChanges(file, Math.floor(file.pending.length / 2));
    },
    failed: () => loseChanges(machine.state.own(open.node).file),
  });
}

/** fsync(2) of a folder. */
export function syncNames(machine: SimMachine, call: "sync" | "syncFolder", folder: number, path: string): void {
  machine.faults.mutate(call, path, {
    whole: () => saveNode(machine, folder),
    torn: () => machine.state.saveNames(folder, Math.floor(machine.state.pendingOf(folder) / 2)),
    failed: () => {
      if (machine.options.losesNames === true) machine.state.loseNames(folder);
    },
  });
}

/** Makes one file or folder durable. With `since`, changes of a file after `since.last` stay unsynced. */
export function saveNode(machine: SimMachine, id: number, since?: { readonly last: FileChange | undefined }): void {
  const node = machine.state.own(id);
  node.savedMode = node.mode;
  node.savedMtimeNs = node.mtimeNs;
  const count = since && node.file.pending.findIndex((change) => change === since.last) + 1;
  if (node.kind === "file") saveChanges(node.file, count);
  if (node.kind === "dir") machine.state.saveNames(id);
}
