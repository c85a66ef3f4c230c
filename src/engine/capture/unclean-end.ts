import { plausibleTime } from "../../core/values/clock-jumps.ts";
import { errnoOf } from "../../core/values/errors.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import {
  hasRestarted,
  mergeWhereabouts,
  rootsElsewhere,
  type UncleanEnd,
  wentDown,
  type Whereabouts,
} from "../../core/records/whereabouts.ts";
import { type Context, isHosted } from "../log/context.ts";
import { memoKey } from "../log/memo.ts";
import type { EventRow } from "../../storage/index-store.ts";
import { doubtRecorded } from "./remember-recorded.ts";

/** The changes of the disks and mounts that hold the folders of the workspace, as known before a scan. */
export interface Surroundings {
  /** The roots that lie on another device, or behind another mount, than when they were last captured. */
  readonly elsewhere: ReadonlySet<string | undefined>;
  /** Set if the machine or the file system is known to have gone down since the last full capture. */
  readonly unclean: UncleanEnd | undefined;
}

interface Known extends Surroundings {
  readonly last: Whereabouts | undefined;
  readonly now: Whereabouts;
}

const CALM: Surroundings = { elsewhere: new Set(), unclean: undefined };

/**
 * The longest time, in milliseconds, that the bytes of a recorded file may take to reach the disk. Laptops delay writes
 * by up to ten minutes.
 */
const UNWRITTEN_MS = 10 * 60_000;
/** The number of events that are looked up at once. */
const WINDOW = 2_000;

const known = memoKey<Known>("whereabouts");

/**
 * Returns the surroundings of the next scan. Determines them before the first scan and before each full scan
 * (`isWhole`). For other scans, returns the last result. After an unclean end (a crash of the machine or the file
 * system), makes the scan read again the files that were recorded shortly before that end. If such a file was
 * overwritten in place, parts of it can have their old bytes, although its stat is unchanged.
 */
export async function surroundings(context: Context, isWhole: boolean): Promise<Surroundings> {
  const { whereabouts, worktree, memo } = context;
  if (isHosted(worktree.roots)) return CALM;
  const earlier = memo.get(known);
  if (earlier !== undefined && !isWhole) return earlier;
  const [last, now] = [whereabouts.read(), whereabouts.now()];
  const found = { last, now, ...(last === undefined ? CALM : await compareWith(context, { last, now, earlier })) };
  memo.set(known, found);
  return found;
}

async function compareWith(
  context: Context,
  {
    last,
    now,
    earlier,
  }: { readonly last: Whereabouts; readonly now: Whereabouts; readonly earlier: Known | undefined },
): Promise<Surroundings> {
  const elsewhere = rootsElsewhere(last, now);
  if (!wentDown(last, now)) return { elsewhere, unclean: undefined };
  // An unclean end is examined once, because it does not affect paths that are recorded later.
  if (earlier?.unclean !== undefined) return { elsewhere, unclean: earlier.unclean };
  const recent = await recentPaths(context);
  const times = new Map(recent.map((path) => [path, timeSeen(context, path)]));
  await doubtRecorded(context, recent);
  const seen = (path: WorkspacePath): number | undefined => times.get(path) ?? timeSeen(context, path);
  const restarted = hasRestarted(last, now) ? context.whereabouts.startedAt() : undefined;
  return { elsewhere, unclean: { wasFollowed: last.followed === true, recent: new Set(recent), seen, restarted } };
}

function timeSeen({ worktree }: Context, path: WorkspacePath): number | undefined {
  const stat = worktree.recall(path)?.stat;
  // The stat of a path that is known from its record alone has neither a size nor a time.
  return stat === undefined || (stat.size < 0 && stat.mtimeNs === 0n) ? undefined : Number(stat.mtimeNs / 1_000_000n);
}

/**
 * Returns the paths that were recorded within `UNWRITTEN_MS` before the last event. Some of the paths may have been
 * recorded earlier, because a compaction does not keep the times of file events. A compaction keeps only the order of
 * file events and the events of other records.
 */
async function recentPaths(context: Context): Promise<readonly WorkspacePath[]> {
  const { index } = context;
  const { seq: head } = await index.head();
  const [newest] = await index.events({ from: 1, to: head, limit: 1, descending: true });
  if (newest === undefined) return [];
  const jumps = await index.clockJumps();
  // After a restart, the clock may be behind the time of the last event.
  const now = Math.max(context.now(), Date.parse(newest.ts));
  const since = plausibleTime(newest, jumps, now) - UNWRITTEN_MS;
  // Only an event with a plausible time ends the search. An event with a wrong time may have been recorded later than
  // its corrected time says.
  const isEarlier = (row: EventRow): boolean =>
    Date.parse(row.ts) < since && Date.parse(row.ts) === plausibleTime(row, jumps, now);
  for (let to = head; to > 0;) {
    const rows = await index.events({ from: 1, to, limit: WINDOW, descending: true });
    const end = rows.find(isEarlier);
    if (end !== undefined) return index.touched(end.seq, head);
    if (rows.length < WINDOW) break;
    to = (rows.at(-1)?.seq ?? 1) - 1;
  }
  return index.touched(0, head);
}

/** Notes, after a full capture, on which devices and mounts the folders are. Writes the note only if it has changed. */
export function noteWhereabouts(context: Context): void {
  const { whereabouts, worktree, memo } = context;
  const found = memo.get(known);
  if (isHosted(worktree.roots) || found === undefined) return;
  const { last } = found;
  const now = {
    ...mergeWhereabouts(last, found.now),
    ...(context.follows === true ? { followed: true as const } : {}),
  };
  if (last !== undefined && isSame(last, now)) return;
  try {
    whereabouts.write(now);
    memo.set(known, { ...CALM, last: now, now });
  } catch (error) {
    // If the note cannot be written, no harm is done: the next capture tries again.
    if (errnoOf(error) === undefined) throw error;
  }
}

/** Removes the note that a process makes this workspace follow an origin. Called when that process ends. */
export function noteUnfollowed(context: Context): void {
  const { whereabouts, memo } = context;
  const { followed, ...rest } = whereabouts.read() ?? { roots: [] };
  // If the machine has been restarted and nothing was scanned since, the note is still needed to examine the unclean
  // end.
  if (followed !== true || memo.get(known)?.last?.followed !== true || wentDown(rest, whereabouts.now())) return;
  try {
    whereabouts.write(rest);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

/**
 * True if the note on disk need not be written again. If the boot and the places are the same, the note is written only
 * to add `followed`. So a process that follows no origin does not remove the `followed` that another process has noted.
 */
function isSame(last: Whereabouts, now: Whereabouts): boolean {
  const text = ({ boot, roots }: Whereabouts): string => JSON.stringify([boot, roots]);
  return text(last) === text(now) && (now.followed !== true || last.followed === true);
}
