import type { Change } from "../values/entry.ts";
import type { WorkspacePath } from "../values/path.ts";
import { list, object, optionalText, orNull, text } from "../values/record-fields.ts";
import type { Json, RecordBody } from "../values/event.ts";
import { optional } from "../../util/optional.ts";

/** The location of a tracked folder: its device and its mount. */
export interface RootPlace {
  /** The id of the root; `null` for the first root. */
  readonly id: string | null;
  readonly device: string;
  /**
   * A text that identifies the mount that contains the folder. The text begins with the mount point. Omitted if
   * unknown.
   */
  readonly mount?: string;
  /** A text that differs each time the file system is mounted. Omitted if unknown. */
  readonly mounting?: string;
}

/** The locations of a workspace's folders at the last full capture. */
export interface Whereabouts {
  /** A text that identifies the present boot of the machine. Omitted if unknown. */
  readonly boot?: string;
  /**
   * Set while a process syncs the folder with an origin. If the field is set but no such process runs, the last such
   * process did not end cleanly.
   */
  readonly followed?: true;
  readonly roots: readonly RootPlace[];
}

/**
 * Returns true if the machine was booted between `last` and `now`. Returns false if the boot of `last` or of `now` is
 * unknown.
 */
export function hasRestarted(last: Whereabouts, now: Whereabouts): boolean {
  return isOther(last.boot, now.boot);
}

/**
 * Returns true if the machine was booted, or the file system of a root was mounted anew, between `last` and `now`. Data
 * that had not reached the disk by then can be lost. An unknown boot or mount counts as unchanged.
 */
export function wentDown(last: Whereabouts, now: Whereabouts): boolean {
  if (hasRestarted(last, now)) return true;
  return now.roots.some((root) => isOther(placeOf(last, root.id)?.mounting, root.mounting));
}

/**
 * Returns the ids of the roots whose device or mount has changed; the id of the first root is `undefined`. Such a root
 * may contain other files than at the time of `last`.
 */
export function rootsElsewhere(last: Whereabouts, now: Whereabouts): ReadonlySet<string | undefined> {
  const elsewhere = now.roots.filter((root) => {
    const before = placeOf(last, root.id);
    return before !== undefined && (before.device !== root.device || isOther(before.mount, root.mount));
  });
  return new Set(elsewhere.map(({ id }) => id ?? undefined));
}

/** Returns `now`. If the boot of `now` is unknown, the result has the boot of `last`. */
export function mergeWhereabouts(last: Whereabouts | undefined, now: Whereabouts): Whereabouts {
  if (last === undefined) return now;
  const boot = now.boot ?? last.boot;
  return { ...now, ...optional({ boot }) };
}

function placeOf({ roots }: Whereabouts, id: string | null): RootPlace | undefined {
  return roots.find((one) => one.id === id);
}

/** Returns true if two values differ. An unknown value counts as equal to every value. */
function isOther(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b;
}

/** The facts about an unclean end: the machine went down, or the file system of a root was mounted anew. */
export interface UncleanEnd {
  /** True if a process synced the folder with an origin when the machine went down. */
  readonly wasFollowed: boolean;
  /**
   * The paths that were recorded shortly before the end. The system may not have written all of these files to the disk
   * before the end.
   */
  readonly recent: ReadonlySet<WorkspacePath>;
  /**
   * Returns the modification time, in ms, with which the file at a path was last seen; `undefined` if the time is
   * unknown. If the file was rewritten with the same bytes after it was recorded, this time is later than the recorded
   * time.
   */
  readonly seen: (path: WorkspacePath) => number | undefined;
  /**
   * The time, in ms since the epoch, at which the machine booted again; `undefined` if the machine did not boot, or if
   * the time is unknown.
   */
  readonly restarted?: number | undefined;
}

/**
 * Returns true if an unclean end, and not an edit, left the present state of a path. There are three kinds of losses:
 * - The bytes of a file did not reach the disk. The file is empty, shorter or filled with other bytes, but has the
 *   modification time that was recorded or last seen. An edited file has a new time.
 * - The file system (Btrfs) returned to an earlier state as a whole. The path then has an earlier file, or none. A
 *   person may also have deleted the file. Therefore, this loss is assumed only if a process synced the folder until
 *   the end, and only for paths that were recorded shortly before the end.
 * - XFS emptied a file that was rewritten right before the end. The file has a new modification time, from before the
 *   machine booted again. This loss, too, is assumed only if a process synced the folder until the end.
 */
export function isLostInCrash({ path, before, after }: Change, unclean: UncleanEnd): boolean {
  const { wasFollowed, recent, seen } = unclean;
  if (before === undefined) return false;
  const isEarlierState = wasFollowed && recent.has(path);
  if (after === undefined) return isEarlierState;
  if (before.kind !== "file" || after.kind !== "file" || before.hash === after.hash) return false;
  const isOld = after.mtimeMs === before.mtimeMs || after.mtimeMs === seen(path);
  const isCutShort = isOld && after.size <= before.size;
  const isEmptied = wasFollowed && after.size === 0 && after.mtimeMs < (unclean.restarted ?? 0);
  return isCutShort || isEmptied || (isEarlierState && after.mtimeMs <= before.mtimeMs);
}

export function encodeWhereabouts({ boot, followed, roots }: Whereabouts): string {
  const body: Record<string, Json> = {
    ...optional({ boot, followed }),
    roots: roots.map((root) => ({ ...root })),
  };
  return `${JSON.stringify(body)}\n`;
}

/**
 * Decodes the output of `encodeWhereabouts`. Throws a `SyntaxError` if the text is not JSON, and `LOG_DAMAGED` if
 * `boot` or `roots` is malformed.
 */
export function decodeWhereabouts(json: string): Whereabouts {
  const body = object(JSON.parse(json) as Json, "whereabouts");
  const boot = optionalText(body, "boot");
  const roots = list(body, "roots").map((item) => decodePlace(object(item, "a root")));
  return { ...optional({ boot }), ...(body["followed"] === true ? { followed: true } : {}), roots };
}

function decodePlace(root: RecordBody): RootPlace {
  const [mount, mounting] = [optionalText(root, "mount"), optionalText(root, "mounting")];
  return {
    id: orNull(root, "id", text),
    device: text(root, "device"),
    ...optional({ mount, mounting }),
  };
}
