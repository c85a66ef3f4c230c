import { ChronicleError } from "../core/values/errors.ts";
import { decodeAnchor, encodeAnchor, type HistoryAnchor } from "../core/log/history-anchor.ts";
import type { Disk } from "../disk/disk.ts";
import { writeFileDurably } from "../disk/write-fully.ts";
import type { MirrorPlaces } from "../replication/replica/log-mirror.ts";
import type { MirrorFiles } from "../replication/replica/mirror-part.ts";
import { FileEventLog } from "../storage/files/file-event-log.ts";
import { mirrorStart, type UpstreamLayout } from "../storage/files/layout.ts";
import { discardSqliteFiles } from "../storage/sqlite/discard-sqlite-files.ts";
import { makeFolders, readText } from "../store/file-head-keeper.ts";
import { NO_HEADS } from "../store/no-heads.ts";
import type { StoreParts } from "./open-context.ts";
import { removeTree } from "../store/remove-tree.ts";
import { Memo } from "../engine/log/memo.ts";

/** The parts of a replica's mirror in its folder `upstream/` (see `UpstreamLayout`). */
export class FileMirrorPlaces implements MirrorPlaces {
  readonly #parts: StoreParts;
  readonly #layout: UpstreamLayout;

  /** Makes the folder if it is missing, and removes parts whose beginning a crash cut off. */
  constructor(parts: StoreParts, layout: UpstreamLayout) {
    this.#parts = parts;
    this.#layout = layout;
    makeFolders(parts.backends.disk, layout.folder);
    for (const start of startsIn(parts.backends.disk, layout)) {
      const { folder, anchor } = layout.mirror(start);
      if (parts.backends.disk.lstat(anchor) === undefined) removeTree(parts.backends.disk, folder);
    }
  }

  list(): readonly (HistoryAnchor | undefined)[] {
    return mirrorParts(this.#disk, this.#layout);
  }

  open(anchor: HistoryAnchor | undefined): MirrorFiles {
    makeFolders(this.#disk, this.#layout.mirror(anchor?.seq ?? 0).folder);
    return openMirrorFiles(this.#parts, this.#layout, anchor);
  }

  begin(anchor: HistoryAnchor): void {
    const { folder, anchor: path } = this.#layout.mirror(anchor.seq);
    makeFolders(this.#disk, folder);
    writeFileDurably(this.#disk, path, Buffer.from(encodeAnchor(anchor)));
  }

  giveUp(anchor: HistoryAnchor | undefined, last: number): void {
    const disk = this.#disk;
    const start = anchor?.seq ?? 0;
    const { folder, log, index } = this.#layout.mirror(start);
    // Discard the index before the lines: an index that knows of more lines than there are would mean that the copy was
    // cut.
    discardSqliteFiles(disk, index);
    disk.syncFolder(folder);
    if (disk.lstat(log) !== undefined) {
      makeFolders(disk, this.#layout.former);
      disk.rename(log, freeName(disk, `${this.#layout.former}/${start + 1}-${last}`));
      disk.syncFolder(this.#layout.former);
      disk.syncFolder(folder);
    }
    // The folder of the first part also holds the others.
    if (anchor !== undefined) removeTree(disk, folder);
  }

  get #disk(): Disk {
    return this.#parts.backends.disk;
  }
}

/**
 * Returns a free name. Another copy with the same first and last event may have been given up before: an origin that
 * was put back has other lines there.
 */
function freeName(disk: Disk, stem: string): string {
  for (let count = 1; ; count += 1) {
    const path = count === 1 ? `${stem}.wal` : `${stem}.${count}.wal`;
    if (disk.lstat(path) === undefined) return path;
  }
}

/**
 * Returns the anchors that the parts of a mirror start after, oldest first; `undefined`: the start of the history. The
 * last part is in force. Empty if this workspace has never followed an origin.
 */
export function mirrorParts(disk: Disk, layout: UpstreamLayout): readonly (HistoryAnchor | undefined)[] {
  if (disk.lstat(layout.folder) === undefined) return [];
  const anchors = startsIn(disk, layout).flatMap((start) => readAnchor(disk, layout, start) ?? []);
  const hasFirst = anchors.length === 0 || disk.lstat(layout.mirror(0).log) !== undefined;
  return hasFirst ? [undefined, ...anchors] : anchors;
}

/** Returns the starts of parts that have an anchor, or will have one; ascending. */
function startsIn(disk: Disk, layout: UpstreamLayout): number[] {
  const starts = disk.list(layout.folder).flatMap(({ name }) => mirrorStart(name.toString()) ?? []);
  return starts.toSorted((a, b) => a - b);
}

/** Returns the anchor of a part; `undefined` if it was not finished. Throws `LOG_DAMAGED`. */
function readAnchor(disk: Disk, layout: UpstreamLayout, start: number): HistoryAnchor | undefined {
  const path = layout.mirror(start).anchor;
  const text = readText(disk, path);
  if (text === undefined) return undefined;
  try {
    const anchor = decodeAnchor(text);
    if (anchor.seq === start) return anchor;
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
  }
  throw new ChronicleError("LOG_DAMAGED", `${path} does not say what the mirror starts on`, {
    hint: "move the replica's folder `upstream` away and connect again: it is fetched anew",
  });
}

/** Opens the files of one part of a mirror. Makes nothing. */
export function openMirrorFiles(
  { backends, blobs, waitMs }: StoreParts,
  layout: UpstreamLayout,
  anchor: HistoryAnchor | undefined,
): MirrorFiles {
  const files = layout.mirror(anchor?.seq ?? 0);
  const log = new FileEventLog(backends.disk, files, anchor);
  const index = backends.openIndex(files.index);
  const lock = backends.lock(files.lock);
  const { now, newId } = backends;
  const close = async (): Promise<void> => {
    lock.close();
    await index.close();
    await log.close();
  };
  return {
    anchor,
    isCopy: true,
    log,
    index,
    memo: new Memo(),
    lock,
    blobs,
    heads: NO_HEADS,
    now,
    newId,
    waitMs,
    close,
  };
}
