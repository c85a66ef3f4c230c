import type { Change } from "../values/change.ts";
import type { WorkspacePath } from "../values/path.ts";
import { list, object, optionalText, orNull, text } from "../values/record-fields.ts";
import type { Json, RecordBody } from "../values/event.ts";
import { optional } from "../../util/optional.ts";

/** Where a tracked folder lies: on which device, and through which mount. */
export interface RootPlace {
  /** `null` for the first root. */
  readonly id: string | null;
  readonly device: string;
  /** The mount point that leads to it, and the folder of the file system that is mounted there. Not known everywhere. */
  readonly mount?: string;
  /** This mounting of its file system: another text after each one. Not known everywhere. */
  readonly mounting?: string;
}

/** Where the folders of a workspace were when they were last captured whole. */
export interface Whereabouts {
  /** The start of the machine; not known everywhere. */
  readonly boot?: string;
  /** A process followed an origin with the folder, and has not ended its work. */
  readonly followed?: true;
  readonly roots: readonly RootPlace[];
}

/** Did the machine start since then? */
export function hasRestarted(last: Whereabouts, now: Whereabouts): boolean {
  return isOther(last.boot, now.boot);
}

/** Did the machine start, or a file system get mounted, since then? What nobody had synced may be lost. */
export function wentDown(last: Whereabouts, now: Whereabouts): boolean {
  if (hasRestarted(last, now)) return true;
  return now.roots.some((root) => isOther(placeOf(last, root.id)?.mounting, root.mounting));
}

/** The roots that lie on another device or behind another mount than they did: what is there may be something else. */
export function rootsElsewhere(last: Whereabouts, now: Whereabouts): ReadonlySet<string | undefined> {
  const elsewhere = now.roots.filter((root) => {
    const before = placeOf(last, root.id);
    return before !== undefined && (before.device !== root.device || isOther(before.mount, root.mount));
  });
  return new Set(elsewhere.map(({ id }) => id ?? undefined));
}

/** The same, with what is not known now as it was known before. */
export function mergeWhereabouts(last: Whereabouts | undefined, now: Whereabouts): Whereabouts {
  if (last === undefined) return now;
  const boot = now.boot ?? last.boot;
  return { ...now, ...optional({ boot }) };
}

function placeOf({ roots }: Whereabouts, id: string | null): RootPlace | undefined {
  return roots.find((one) => one.id === id);
}

/** What is not known on one side is no difference. */
function isOther(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b;
}

/** What is known of an unclean end. */
export interface UncleanEnd {
  /** A process followed an origin with the folder when the machine went down. */
  readonly wasFollowed: boolean;
  /** Paths that were recorded shortly before: the system may not have written them yet. */
  readonly recent: ReadonlySet<WorkspacePath>;
  /** The time of modification that a file was last seen with, in ms, where that is known: a file may be written anew with the same bytes. */
  readonly seen: (path: WorkspacePath) => number | undefined;
  /** When the machine started anew, in ms since the epoch; `undefined`: it did not, or nobody knows. */
  readonly restarted?: number | undefined;
}

/**
 * Is what a path is now something that an unclean end has left of it, and nobody's edit? An edit has a new time of modification.
 * A file whose bytes were not written has the recorded time, and is empty, shorter or filled with other bytes. A file system that
 * went back to an earlier state as a whole (Btrfs) has an earlier file, or none: that is only believed of what was recorded
 * shortly before, and where a process was at work to the end, since a person may have deleted it, too. The same holds of a file
 * that was written anew right before: XFS leaves it empty, with its new time, which is before the machine started again.
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

/** Whereabouts as JSON, for the file that keeps them. */
export function encodeWhereabouts({ boot, followed, roots }: Whereabouts): string {
  const body: Record<string, Json> = {
    ...optional({ boot, followed }),
    roots: roots.map((root) => ({ ...root })),
  };
  return `${JSON.stringify(body)}\n`;
}

/** The whereabouts in a text. Throws where it is none. */
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
