import type { Disk } from "../../disk/disk.ts";
import type { LogPosition, RawLine } from "../event-log.ts";
import type { WorkspaceLayout } from "../layout.ts";
import { listArchive } from "./log-archive.ts";
import { linesOf, openIfThere, readLines } from "./log-reader.ts";
import { firstSeq } from "./log-tail.ts";

/**
 * Yields the lines from an event to the end, through the archive if the present log no longer holds it. The present log
 * is opened first: if it is sealed during the read, it is still read to its end, and nothing is left out.
 */
export async function* readHistory(
  disk: Disk,
  paths: Pick<WorkspaceLayout, "log" | "archive">,
  from: LogPosition,
): AsyncGenerator<readonly RawLine[], void, undefined> {
  const fd = openIfThere(disk, paths.log);
  if (fd === undefined) return;
  try {
    const first = firstSeq(disk, fd);
    const live = { disk, fd, file: paths.log.slice(paths.log.lastIndexOf("/") + 1), first };
    // Nothing was sealed before event 1.
    const sealed = first === 1 ? [] : listArchive(disk, paths.archive, disk.fstat(fd).ino);
    const begins = first ?? (sealed.at(-1)?.last ?? 0) + 1;
    if (from.seq > begins) {
      yield* linesOf(live, from);
      return;
    }
    for (const one of sealed) {
      if (one.last < from.seq || one.last >= begins) continue;
      yield* readLines(disk, `${paths.archive}/${one.name}`, one.first < from.seq ? from : undefined);
    }
    yield* linesOf(live);
  } finally {
    disk.close(fd);
  }
}
