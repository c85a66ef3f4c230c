import { ChronicleError } from "../../core/values/errors.ts";
import type { SealedEvent } from "../../core/values/event.ts";
import type { Disk } from "../../disk/disk.ts";
import { writeFully } from "../../disk/write-fully.ts";
import type { ArchivedLog, LogPosition, RawLine } from "../event-log.ts";
import { linesOf, openIfThere, type OpenLog } from "./log-reader.ts";
import type { WorkspaceLayout } from "../layout.ts";
import { firstSeq } from "./log-tail.ts";

const NAME = /^(\d{16})-(\d{16})\.wal$/;

interface SeqSpan {
  readonly first: number;
  readonly last: number;
}

export function archiveName(span: SeqSpan): string {
  return `${String(span.first).padStart(16, "0")}-${String(span.last).padStart(16, "0")}.wal`;
}

/**
 * Writes a new log under a temporary name, syncs it, and returns its path. The log begins with the line of `first`.
 * Replaces a file of that name, which an interrupted sealing has left.
 */
export function prepareLog(disk: Disk, path: string, first: SealedEvent): string {
  const fresh = `${path}.next`;
  if (disk.lstat(fresh) !== undefined) disk.unlink(fresh);
  const fd = disk.open(fresh, "create", 0o600);
  try {
    writeFully(disk, fd, Buffer.from(`${first.line}\n`), null);
    disk.sync(fd);
  } finally {
    disk.close(fd);
  }
  return fresh;
}

/**
 * Links the log into the archive under the name `target`. First removes a link to the present log that an interrupted
 * sealing has left in the archive. The log may have grown since that sealing, so the name of the old link may state a
 * wrong last event. The new link is durable after `syncFolder` of the archive. Throws `INTEGRITY_VIOLATION` if another
 * file has the name.
 */
export function linkIntoArchive(disk: Disk, log: string, target: string): void {
  const folder = target.slice(0, target.lastIndexOf("/"));
  const live = disk.lstat(log);
  for (const name of archiveNames(disk, folder)) {
    if (disk.lstat(`${folder}/${name}`)?.ino === live?.ino) disk.unlink(`${folder}/${name}`);
  }
  if (disk.lstat(target) !== undefined) {
    throw new ChronicleError("INTEGRITY_VIOLATION", `${target} exists already, and is not the present log`);
  }
  disk.link(log, target);
}

/** Returns the sealed logs, oldest first. Leaves out a link to the present log (`live`: the inode of that log). */
export function listArchive(disk: Disk, folder: string, live: bigint | undefined): ArchivedLog[] {
  return archiveNames(disk, folder).flatMap((name) => {
    const stat = disk.lstat(`${folder}/${name}`);
    if (stat === undefined || stat.ino === live) return [];
    return [{ name, ...spanOf(name), bytes: stat.size, read: () => readSealed(disk, folder, name) }];
  });
}

async function* readSealed(
  disk: Disk,
  folder: string,
  name: string,
): AsyncGenerator<readonly RawLine[], void, undefined> {
  const fd = openIfThere(disk, `${folder}/${name}`);
  if (fd === undefined) throw new ChronicleError("PRUNED", `${name} was removed from the archive meanwhile`);
  try {
    yield* linesOf({ disk, fd, file: name });
  } finally {
    disk.close(fd);
  }
}

/**
 * Removes the sealed logs, oldest first. If a crash interrupts the removal, the oldest remaining log begins with the
 * event of a compaction. The history can begin at such an event.
 */
export function removeArchive(disk: Disk, folder: string, live: bigint | undefined): void {
  for (const { name } of listArchive(disk, folder, live)) {
    disk.unlink(`${folder}/${name}`);
    disk.syncFolder(folder);
  }
}

function spanOf(name: string): SeqSpan {
  const match = NAME.exec(name);
  return { first: Number(match?.[1]), last: Number(match?.[2]) };
}

function archiveNames(disk: Disk, folder: string): string[] {
  if (disk.lstat(folder) === undefined) return [];
  const names = disk.list(folder).map((item) => item.name.toString("latin1"));
  return names.filter((name) => NAME.test(name)).sort();
}

/**
 * Yields the lines from an event to the end. Begins in the archive if the present log does not have the event. Opens
 * the present log before it lists the archive, and opens all files before it yields the first line. Therefore, the read
 * misses no line if the present log is sealed during the read, or if the archive is dropped after the first line.
 */
export async function* readHistory(
  disk: Disk,
  paths: Pick<WorkspaceLayout, "log" | "archive">,
  from: LogPosition,
): AsyncGenerator<readonly RawLine[], void, undefined> {
  const fd = openIfThere(disk, paths.log);
  if (fd === undefined) return;
  const opened: OpenSealed[] = [];
  try {
    const first = firstSeq(disk, fd);
    const live = { disk, fd, file: paths.log.slice(paths.log.lastIndexOf("/") + 1), first };
    // A log that begins at event 1 has no archive.
    const sealed = first === 1 ? [] : listArchive(disk, paths.archive, disk.fstat(fd).ino);
    const begins = first ?? (sealed.at(-1)?.last ?? 0) + 1;
    if (from.seq > begins) {
      yield* linesOf(live, from);
      return;
    }
    const wanted = sealed.filter(({ last }) => last >= from.seq && last < begins);
    openSealed(disk, paths.archive, wanted, opened);
    for (const one of opened.toReversed()) yield* linesOf(one, one.begins < from.seq ? from : undefined);
    yield* linesOf(live);
  } finally {
    for (const one of [fd, ...opened.map((sealed) => sealed.fd)]) disk.close(one);
  }
}

interface OpenSealed extends OpenLog {
  readonly begins: number;
}

/**
 * Opens the sealed logs, the newest first. Stops at the first log that does not exist any more. All older logs are gone
 * as well, because `removeArchive` removes the oldest logs first.
 */
function openSealed(disk: Disk, folder: string, sealed: readonly ArchivedLog[], opened: OpenSealed[]): void {
  for (const { name, first } of sealed.toReversed()) {
    const fd = openIfThere(disk, `${folder}/${name}`);
    if (fd === undefined) return;
    opened.push({ disk, fd, file: name, begins: first });
  }
}
