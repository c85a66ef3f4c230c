import type { Change } from "../values/entry.ts";
import type { WorkspacePath } from "../values/path.ts";
import { list, object, optionalText, orNull, text } from "../values/record-fields.ts";
import type { Json, RecordBody } from "../values/event.ts";
import { optional } from "../../util/optional.ts";

/** The location of a tracked folder: its device and its mount. */
export interface RootPlace {
  /** `null` for the first root. */
  readonly id: string | null;
  readonly device: string;
  /**
   * The mount point at or above the folder, and the folder of its file system that is mounted there. Not known
   * everywhere.
   */
  readonly mount?: string;
  /** Identifies the mounting of the file system: each mounting has another text. Not known everywhere. */
  readonly mounting?: string;
}

/** The locations of a workspace's folders at the last full capture. */
export interface Whereabouts {
  /** Identifies the boot of the machine; not known everywhere. */
  readonly boot?: string;
  /** Set if a process followed an origin with the folder and has not ended cleanly. */
  readonly followed?: true;
  readonly roots: readonly RootPlace[];
}

/** True if the machine has booted since `last`. */
export function hasRestarted(last: Whereabouts, now: Whereabouts): boolean {
  return isOther(last.boot, now.boot);
}

/** True if the machine has booted, or a file system was mounted, since `last`: data that was not synced may be lost. */
export function wentDown(last: Whereabouts, now: Whereabouts): boolean {
  if (hasRestarted(last, now)) return true;
  return now.roots.some((root) => isOther(placeOf(last, root.id)?.mounting, root.mounting));
}

/**
 * Returns the ids of the roots (`undefined`: the first one) that are on another device or behind another mount than
 * before: their contents may be different.
 */
export function rootsElsewhere(last: Whereabouts, now: Whereabouts): ReadonlySet<string | undefined> {
  const elsewhere = now.roots.filter((root) => {
    const before = placeOf(last, root.id);
    return before !== undefined && (before.device !== root.device || isOther(before.mount, root.mount));
  });
  return new Set(elsewhere.map(({ id }) => id ?? undefined));
}

/** Returns `now`, with an unknown boot filled in from `last`. */
export function mergeWhereabouts(last: Whereabouts | undefined, now: Whereabouts): Whereabouts {
  if (last === undefined) return now;
  const boot = now.boot ?? last.boot;
  return { ...now, ...optional({ boot }) };
}

function placeOf({ roots }: Whereabouts, id: string | null): RootPlace | undefined {
  return roots.find((one) => one.id === id);
}

/** True if two values differ. An unknown value differs from none. */
function isOther(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b;
}

/** The facts known about an unclean end. */
export interface UncleanEnd {
  /** True if a process followed an origin with the folder when the machine went down. */
  readonly wasFollowed: boolean;
  /** Paths that were recorded shortly before the end: the system may not have written them yet. */
  readonly recent: ReadonlySet<WorkspacePath>;
  /**
   * Returns the modification time with which a file was last seen, in ms; `undefined` if unknown. It may be later than
   * the recorded one: a file may be rewritten with the same bytes.
   */
  readonly seen: (path: WorkspacePath) => number | undefined;
  /** When the machine booted again, in ms since the epoch; `undefined` if it did not, or if that is unknown. */
  readonly restarted?: number | undefined;
}

/**
 * True if the present state of a path was left by an unclean end and is not an edit. An edit has a new modification
 * time. A file whose bytes were not written has the recorded time, and is empty, shorter or filled with other bytes. A
 * file system that as a whole returned to an earlier state (Btrfs) has an earlier file, or none. A person may also have
 * deleted the file, so this is assumed only of paths that were recorded shortly before, and only if a process was at
 * work to the end. XFS leaves a file empty that was rewritten right before the end: its new time is before the machine
 * booted again. This, too, is assumed only if a process was at work.
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

/** Returns whereabouts as the JSON text of their file. */
export function encodeWhereabouts({ boot, followed, roots }: Whereabouts): string {
  const body: Record<string, Json> = {
    ...optional({ boot, followed }),
    roots: roots.map((root) => ({ ...root })),
  };
  return `${JSON.stringify(body)}\n`;
}

/** Decodes whereabouts. Throws for any other text. */
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
