import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { FOLDER } from "../../src/testing/sync-machine.ts";

/** A folder's files: path → kind, mode and content. */
export type Tree = Readonly<Record<string, string>>;

/** What lies in the folder of a machine. */
export function treeOf(disk: SimDisk, at = ""): Tree {
  const found: Record<string, string> = {};
  for (const { path, kind, mode, content } of entriesOf(disk, at)) found[path] = `${kind} ${mode} ${content}`;
  return found;
}

/** The files in the folder of a machine: path → content. */
export function filesOf(disk: SimDisk): Map<string, string> {
  const files = [...entriesOf(disk, "")].filter(({ kind }) => kind === "file");
  return new Map(files.map(({ path, content }) => [path, content]));
}

function* entriesOf(
  disk: SimDisk,
  at: string,
): Generator<{ readonly path: string; readonly kind: string; readonly mode: number; readonly content: string }> {
  for (const { name } of disk.list(`${FOLDER}${at}`)) {
    const path = `${at}/${name.toString()}`;
    const stat = disk.lstat(`${FOLDER}${path}`);
    if (stat === undefined || path.includes(".chronicle")) continue;
    const content = stat.kind === "file" ? (disk.content(`${FOLDER}${path}`)?.toString() ?? "") : "";
    yield { path: path.slice(1), kind: stat.kind, mode: stat.mode, content };
    if (stat.kind === "dir") yield* entriesOf(disk, path);
  }
}
