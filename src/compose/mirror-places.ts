import { ChronicleError } from "../core/values/errors.ts";
import { decodeAnchor, encodeAnchor, type HistoryAnchor } from "../core/log/history-anchor.ts";
import type { Disk } from "../disk/disk.ts";
import { writeFileDurably } from "../disk/write-fully.ts";
import type { MirrorPlaces } from "../replication/replica/log-mirror.ts";
import type { MirrorFiles } from "../replication/replica/mirror-part.ts";
import { mirrorStart, type UpstreamLayout } from "../storage/layout.ts";
import { makeFolders, readText, NO_HEADS } from "../store/file-head-keeper.ts";
import type { Backends } from "../store/backends.ts";
import type { StoreParts } from "./open-context.ts";
import { Memo } from "../engine/log/memo.ts";

/** The parts of a replica's mirror in its folder `upstream/` (see `UpstreamLayout`). */
export class FileMirrorPlaces implements MirrorPlaces {
  readonly #parts: StoreParts;
  readonly #layout: UpstreamLayout;

  /**
   * Makes the folder if it is missing. Removes each part that has no anchor, because a crash has interrupted the
   * `begin` of that part.
   */
  constructor(parts: StoreParts, layout: UpstreamLayout) {
    this.#parts = parts;
    this.#layout = layout;
    const { backends } = parts;
    makeFolders(backends.disk, layout.folder);
    for (const start of startsIn(backends.disk, layout)) {
      const { folder, anchor } = layout.mirror(start);
      if (backends.disk.lstat(anchor) === undefined) backends.removeFolder(folder);
    }
  }

  list(): readonly (HistoryAnchor | undefined)[] {
    return mirrorParts(this.#parts.backends, this.#layout);
  }

  async open(anchor: HistoryAnchor | undefined): Promise<MirrorFiles> {
    makeFolders(this.#disk, this.#layout.mirror(anchor?.seq ?? 0).folder);
    return openMirrorFiles(this.#parts, this.#layout, anchor);
  }

  begin(anchor: HistoryAnchor): void {
    const { folder, anchor: path } = this.#layout.mirror(anchor.seq);
    makeFolders(this.#disk, folder);
    writeFileDurably(this.#disk, path, Buffer.from(encodeAnchor(anchor)));
  }

  giveUp(anchor: HistoryAnchor | undefined, last: number): void {
    const { backends } = this.#parts;
    const { disk } = backends;
    const start = anchor?.seq ?? 0;
    const { folder, log, index } = this.#layout.mirror(start);
    // Discard the index before the log is moved away. An index with more lines than its log would look like proof that
    // the mirror was truncated.
    backends.discardIndex(index);
    disk.syncFolder(folder);
    if (backends.hasLog(log)) {
      makeFolders(disk, this.#layout.former);
      backends.move(log, freeName(backends, `${this.#layout.former}/${start + 1}-${last}`));
      disk.syncFolder(this.#layout.former);
      disk.syncFolder(folder);
    }
    // Keep the folder of the first part, because it also holds the other parts.
    if (anchor !== undefined) backends.removeFolder(folder);
  }

  get #disk(): Disk {
    return this.#parts.backends.disk;
  }
}

/**
 * Returns a free path for the log of a part that the mirror gives up. The usual path may be taken, because an origin
 * that was restored to an older state records other events with the same numbers.
 */
function freeName({ hasLog }: Pick<Backends, "hasLog">, stem: string): string {
  for (let count = 1; ; count += 1) {
    const path = count === 1 ? `${stem}.wal` : `${stem}.${count}.wal`;
    if (!hasLog(path)) return path;
  }
}

/**
 * Returns the anchor of each part of a mirror, oldest first; `undefined` for a part that begins at event 1. The last
 * part is in force. Returns an empty list if this workspace has never followed an origin.
 */
export function mirrorParts(
  { disk, hasLog }: Pick<Backends, "disk" | "hasLog">,
  layout: UpstreamLayout,
): readonly (HistoryAnchor | undefined)[] {
  if (disk.lstat(layout.folder) === undefined) return [];
  const anchors = startsIn(disk, layout).flatMap((start) => readAnchor(disk, layout, start) ?? []);
  const hasFirst = anchors.length === 0 || hasLog(layout.mirror(0).log);
  return hasFirst ? [undefined, ...anchors] : anchors;
}

/**
 * Returns the starts of the parts that begin after event 1, in ascending order. If the `begin` of such a part was
 * interrupted, its anchor is missing.
 */
function startsIn(disk: Disk, layout: UpstreamLayout): number[] {
  const starts = disk.list(layout.folder).flatMap(({ name }) => mirrorStart(name.toString()) ?? []);
  return starts.toSorted((a, b) => a - b);
}

/**
 * Returns the anchor of the part that starts after the event `start`; `undefined` if the anchor was not written. Throws
 * `LOG_DAMAGED` if the anchor is damaged.
 */
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
  throw new ChronicleError("LOG_DAMAGED", `${path} is not a valid anchor of the mirror`, {
    hint: "move the replica's folder `upstream` away and connect again: the history is then fetched again",
  });
}

/** Opens a part of a mirror. The folder of the part must exist. */
export async function openMirrorFiles(
  { backends, blobs, waitMs }: StoreParts,
  layout: UpstreamLayout,
  anchor: HistoryAnchor | undefined,
): Promise<MirrorFiles> {
  const files = layout.mirror(anchor?.seq ?? 0);
  const log = await backends.openLog(files, { after: anchor });
  const index = await backends.openIndex(files.index);
  const lock = await backends.openLock(files.lock);
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
