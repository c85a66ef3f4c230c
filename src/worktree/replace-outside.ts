import { sameEntry, type Entry } from "../core/entry.ts";
import { sha256, type Hash } from "../core/hash.ts";
import { childOf, parentOf, pathToBytes, ROOT, type WorkspacePath } from "../core/path.ts";
import type { FileStat } from "../disk/disk.ts";
import type { ConfinedFs } from "./confined-fs.ts";
import { inspectPath } from "./inspect.ts";
import type { OutsideChange } from "./outside-files.ts";
import { isSameContent } from "./same-stat.ts";

/** Setuid, setgid and sticky are recorded, but never set. */
const NEVER_SET = 0o7000;

/**
 * Brings one path from `before` to `after`: staged beside its place, synced, renamed over. Answers why it could not be done.
 * What is neither is left alone; what was written at the last moment is kept beside it.
 */
export async function replacePath(fs: ConfinedFs, change: OutsideChange): Promise<string | undefined> {
  const { path, before, after, content } = change;
  const behind = linkOnTheWay(fs, path);
  if (behind !== undefined) return `/${behind} on the way to it is a link`;
  const folder = parentOf(path);
  const staged = childOf(folder, `${stagingName(path)}.new`);
  if (after !== undefined) makeParents(fs, folder);
  if (after?.kind === "dir") return placeFolder(fs, change);
  if (after !== undefined) {
    const bytes = await stage(fs, staged, { after, content });
    if (bytes !== undefined) return bytes;
  }
  const seen = inspectPath(fs, path, path);
  if (!sameEntry(seen?.entry, before)) {
    if (after !== undefined) fs.unlink(staged);
    return sameEntry(seen?.entry, after) ? undefined : "it is not what it was a moment ago";
  }
  if (before?.kind === "dir") {
    fs.removeFolder(path);
    fs.syncFolder(folder);
    if (after === undefined) return undefined;
  }
  const known = [before?.hash, after?.hash];
  return exchange(fs, { path, folder, staged, seen: before?.kind === "dir" ? undefined : seen?.stat, after, known });
}

interface Exchange {
  readonly path: WorkspacePath;
  readonly folder: WorkspacePath;
  readonly staged: WorkspacePath;
  readonly seen: FileStat | undefined;
  readonly after: Entry | undefined;
  /** Contents that are kept elsewhere. */
  readonly known: readonly (Hash | undefined)[];
}

/** The last step: what is there goes aside, is looked at once more, and only then is gone. */
function exchange(fs: ConfinedFs, { path, folder, staged, seen, after, known }: Exchange): string | undefined {
  if (seen === undefined) {
    // Without a link in its place: a file that came meanwhile stays.
    if (after === undefined) return undefined;
    fs.link(staged, path);
    fs.unlink(staged);
    fs.syncFolder(folder);
    return undefined;
  }
  dropLeft(fs, path, known);
  const aside = asideName(fs, path);
  if (after === undefined) fs.renameFile(path, aside);
  else {
    fs.link(path, aside);
    fs.renameFile(staged, path);
  }
  fs.syncFolder(folder);
  const gone = fs.lstat(aside);
  if (gone === undefined || !isSameContent(gone, seen)) {
    return `somebody wrote to it at the last moment: that is kept as /${aside}`;
  }
  fs.unlink(aside);
  fs.syncFolder(folder);
  return undefined;
}

function makeParents(fs: ConfinedFs, folder: WorkspacePath): void {
  if (folder === ROOT || fs.lstat(folder)?.kind === "dir") return;
  makeParents(fs, parentOf(folder));
  fs.makeFolder(folder, 0o755);
  fs.syncFolder(parentOf(folder));
}

function placeFolder(fs: ConfinedFs, { path, before, after }: OutsideChange): string | undefined {
  const seen = inspectPath(fs, path, path);
  const mode = (after?.mode ?? 0o755) & ~NEVER_SET;
  if (seen?.entry.kind === "dir") {
    if (seen.entry.mode !== mode) fs.chmod(path, mode, "dir");
    return undefined;
  }
  if (!sameEntry(seen?.entry, before)) return "it is not what it was a moment ago";
  if (seen !== undefined) fs.unlink(path);
  fs.makeFolder(path, mode);
  fs.chmod(path, mode, "dir");
  fs.syncFolder(parentOf(path));
  return undefined;
}

/** Writes the new content beside its place, durably. Answers why it could not. */
async function stage(
  fs: ConfinedFs,
  staged: WorkspacePath,
  { after, content }: { readonly after: Entry; readonly content: OutsideChange["content"] },
): Promise<string | undefined> {
  if (content === undefined) return "its content is not in the store";
  dropOwn(fs, staged);
  if (after.kind === "symlink") {
    const parts: Uint8Array[] = [];
    for await (const piece of content.pieces()) parts.push(piece);
    fs.symlink(Buffer.concat(parts), staged);
    return undefined;
  }
  {
    using file = fs.create(staged, 0o600);
    fs.release();
    for await (const piece of content.pieces()) fs.write(file, piece);
    fs.sync(file);
  }
  fs.chmod(staged, after.mode & ~NEVER_SET, "file");
  return undefined;
}

/** Removes what an interrupted step left under a name of ours. */
function dropOwn(fs: ConfinedFs, path: WorkspacePath): void {
  const stat = fs.lstat(path);
  if (stat?.kind === "file" || stat?.kind === "symlink") fs.unlink(path);
}

/** The same each time, so that the next attempt finds what an interrupted one left. */
function stagingName(path: WorkspacePath): string {
  return `.chronicle-${sha256(pathToBytes(path)).slice(0, 16)}`;
}

/** Removes what an interrupted step left aside, if its content is kept elsewhere. */
function dropLeft(fs: ConfinedFs, path: WorkspacePath, known: readonly (Hash | undefined)[]): void {
  const left = childOf(parentOf(path), `${stagingName(path)}.old`);
  const hash = inspectPath(fs, left, left)?.entry.hash;
  if (hash !== undefined && known.includes(hash)) fs.unlink(left);
}

/** A free name for what goes aside: what an earlier step kept there is not touched. */
function asideName(fs: ConfinedFs, path: WorkspacePath): WorkspacePath {
  const name = childOf(parentOf(path), `${stagingName(path)}.old`);
  for (let n = 1; ; n += 1) {
    const free = (n === 1 ? name : `${name}.${n}`) as WorkspacePath;
    if (fs.lstat(free) === undefined) return free;
  }
}

/** The first link that stands where a folder should, on the way to a path. */
export function linkOnTheWay(fs: ConfinedFs, path: WorkspacePath): WorkspacePath | undefined {
  const folder = parentOf(path);
  if (folder === ROOT || fs.lstat(folder)?.kind === "dir") return undefined;
  const parts = folder.split("/");
  for (let depth = 1; depth <= parts.length; depth += 1) {
    const at = parts.slice(0, depth).join("/") as WorkspacePath;
    const stat = fs.lstat(at);
    if (stat?.kind === "symlink") return at;
    if (stat?.kind !== "dir") return undefined;
  }
  return undefined;
}
