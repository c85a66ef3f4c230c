/**
 * Decides which moments are kept when a history is pruned. The functions are pure, and all their input comes from the
 * log.
 *
 * Moments are ordered by seq, never by time. The age of a moment is the sum of the intervals between consecutive
 * moments, from this moment to the end of the log. The wall clock is not used.
 *
 * An interval counts as a clock jump if it is longer than 90 days and longer than three times the age limit. Clock
 * jumps do not add to ages. If clock jumps added to ages, a wrong clock could make all earlier moments too old.
 *
 * The times of two kinds of moments are corrected:
 * - A moment with a later time than the end of the log gets the time of the next moment (by seq).
 * - A moment with an earlier time than a previous moment (by seq) gets the latest time of the previous moments.
 */

/** A moment that names a restorable state. */
export interface KeptMoment {
  readonly kind: "action" | "snapshot";
  /** A text for messages: the id of an action or the number of a snapshot. */
  readonly name: string;
  /** The seq of an event. The moment names the state right after this event. */
  readonly state: number;
  /** The time in the log, in milliseconds since 1970. */
  readonly ts: number;
  /**
   * The reason why the moment is kept whatever the rules are; omitted if there is no such reason.
   * - `baseline`: the moment is snapshot 0.
   * - `named`: the moment is a snapshot with a name.
   * - `pinned`: the moment is pinned.
   * - `open`: open work needs the moment.
   * - `first`: the moment is the first action of a session.
   *
   * Actions that are kept for the reason `open` or `first` still count towards `maxSnapshots`.
   */
  readonly shield?: "baseline" | "named" | "pinned" | "open" | "first";
}

/** The configured limits. 0 means no limit. */
export interface RetentionLimits {
  /** The maximum number of actions that are neither pinned nor named. */
  readonly maxSnapshots: number;
  readonly maxAgeMs: number;
}

/**
 * A person's rules for the moments to keep. A moment is kept if any rule keeps it. The default of each rule is 0, which
 * keeps nothing.
 * - `last` keeps this number of newest moments.
 * - `withinMs` keeps all moments that are younger than this age in ms.
 * - Each other rule is a number of periods (hours, days …) in UTC. For example, `daily: 7` keeps the newest moment of
 *   each of the last seven days that have moments.
 */
export interface KeepRules {
  readonly last?: number;
  readonly hourly?: number;
  readonly daily?: number;
  readonly weekly?: number;
  readonly monthly?: number;
  readonly yearly?: number;
  readonly withinMs?: number;
}

export interface PruneQuestion {
  /** The moments, in the order of their states. */
  readonly moments: readonly KeptMoment[];
  readonly rules: RetentionLimits | KeepRules;
  /** An age in ms. Younger moments are not pruned. */
  readonly minAgeMs: number;
  /** The last event of the log, and its time in milliseconds since 1970. */
  readonly head: { readonly seq: number; readonly ts: number };
  /** The present floor; 0 if the history was never pruned. */
  readonly floorSeq: number;
  /** The states that unfinished work needs, in addition to those of the moments. Default: none. */
  readonly states?: readonly number[];
  /** A state that unfinished work needs, together with all later states. Default: there is no such state. */
  readonly hold?: number;
}

export interface PruneAnswer {
  /** The new floor, which is never below the present floor. */
  readonly floorSeq: number;
  /** States below the floor that are kept. */
  readonly states: readonly number[];
  /** The members of `states` that kept actions need. */
  readonly actionStates: readonly number[];
  readonly kept: readonly KeptMoment[];
  readonly pruned: readonly KeptMoment[];
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const LONGEST_STEP = 90 * DAY;

/** Returns the moments that are kept, the moments that are pruned, and the resulting floor. */
export function answerPruning(question: PruneQuestion): PruneAnswer {
  const { moments, rules, head } = question;
  const hold = question.hold ?? Number.POSITIVE_INFINITY;
  const times = timesOf(question);
  const ages = agesOf(question, times);
  const mayGo = moments.filter(
    (one, i) => one.shield === undefined && one.state < hold && (ages[i] ?? 0) >= question.minAgeMs,
  );
  const pruned =
    "maxSnapshots" in rules
      ? beyondLimits(moments, { mayGo: new Set(mayGo), limits: rules, ages })
      : mayGo.filter(notIn(keptByRules(moments, rules, { times, ages })));
  const gone = new Set(pruned);
  const kept = moments.filter(notIn(gone));
  const newest = pruned.at(-1)?.state;
  const reached = newest === undefined ? 0 : (kept.find((one) => one.state > newest)?.state ?? head.seq);
  const floorSeq = Math.max(question.floorSeq, Math.min(reached, hold));
  const below = (states: readonly number[]): number[] =>
    [...new Set(states.filter((state) => state < floorSeq))].sort((a, b) => a - b);
  return {
    floorSeq,
    states: below([...kept.map((one) => one.state), ...(question.states ?? [])]),
    actionStates: below(kept.filter((one) => one.kind === "action").map((one) => one.state)),
    kept,
    pruned,
  };
}

function notIn<T>(set: ReadonlySet<T>): (one: T) => boolean {
  return (one) => !set.has(one);
}

/**
 * Returns the corrected time of each moment. No corrected time is earlier than that of a previous moment. A moment
 * whose time is after the end of the log was recorded while the clock ran ahead. Such a moment gets the time of the
 * next moment.
 */
function timesOf({ moments, head }: PruneQuestion): number[] {
  let latest = Number.NEGATIVE_INFINITY;
  const times = moments.map(({ ts }) => {
    const isAhead = ts > head.ts;
    if (!isAhead) latest = Math.max(latest, ts);
    return isAhead ? undefined : latest;
  });
  let next = head.ts;
  for (let i = times.length - 1; i >= 0; i -= 1) next = times[i] ??= next;
  return times as number[];
}

/** Returns the age of each moment in ms, computed from the log. */
function agesOf({ rules, head }: PruneQuestion, times: readonly number[]): number[] {
  const maxAge = "maxSnapshots" in rules ? rules.maxAgeMs : 0;
  const longest = Math.max(LONGEST_STEP, 3 * maxAge);
  const ages: number[] = [];
  let age = 0;
  let next = head.ts;
  for (let i = times.length - 1; i >= 0; i -= 1) {
    const time = times[i] ?? next;
    const step = next - time;
    if (step <= longest) age += step;
    ages[i] = age;
    next = time;
  }
  return ages;
}

interface Judged {
  readonly mayGo: ReadonlySet<KeptMoment>;
  readonly limits: RetentionLimits;
  readonly ages: readonly number[];
}

/**
 * Returns the moments that exceed the limits and may be pruned (`mayGo`):
 * - `maxSnapshots` limits the number of actions that are neither pinned nor named. If there are more, the oldest
 *   actions are pruned until the number is a tenth below the limit. If the pruning stopped at the limit, every new
 *   action would cause another pruning. Even if many actions have a `shield`, at least half of `maxSnapshots` is left
 *   for actions without a `shield`.
 * - `maxAgeMs` limits the age of actions and snapshots.
 */
function beyondLimits(moments: readonly KeptMoment[], { mayGo, limits, ages }: Judged): KeptMoment[] {
  const { maxSnapshots, maxAgeMs } = limits;
  const counted = moments.filter(isCounted);
  const plain = counted.filter((one) => one.shield === undefined);
  let excess = 0;
  if (maxSnapshots > 0 && counted.length > maxSnapshots) {
    const wanted = maxSnapshots - Math.floor(maxSnapshots / 10) - (counted.length - plain.length);
    excess = plain.length - Math.max(wanted, Math.floor(maxSnapshots / 2));
  }
  const oldest = new Set(plain.slice(0, Math.max(0, excess)));
  return moments.filter((one, i) => mayGo.has(one) && (oldest.has(one) || (maxAgeMs > 0 && (ages[i] ?? 0) > maxAgeMs)));
}

/** Returns true if a moment counts towards `maxSnapshots`. */
export function isCounted({ kind, shield }: KeptMoment): boolean {
  return kind === "action" && shield !== "pinned" && shield !== "named";
}

/**
 * Maps each rule to a function that returns the number of the period (in UTC) in which a time lies. Weeks begin on
 * Monday.
 */
const PERIODS: Readonly<Record<"hourly" | "daily" | "weekly" | "monthly" | "yearly", (ts: number) => number>> = {
  hourly: (ts) => Math.floor(ts / HOUR),
  daily: (ts) => Math.floor(ts / DAY),
  weekly: (ts) => Math.floor((Math.floor(ts / DAY) + 3) / 7),
  monthly: (ts) => new Date(ts).getUTCFullYear() * 12 + new Date(ts).getUTCMonth(),
  yearly: (ts) => new Date(ts).getUTCFullYear(),
};

interface Dated {
  readonly times: readonly number[];
  readonly ages: readonly number[];
}

function keptByRules(moments: readonly KeptMoment[], rules: KeepRules, { times, ages }: Dated): Set<KeptMoment> {
  const kept = new Set(moments.filter((_, i) => (ages[i] ?? 0) < (rules.withinMs ?? 0)));
  const newestFirst = moments.toReversed();
  for (const one of newestFirst.slice(0, rules.last ?? 0)) kept.add(one);
  for (const [rule, periodOf] of Object.entries(PERIODS)) {
    const wanted = rules[rule as keyof typeof PERIODS] ?? 0;
    const seen = new Set<number>();
    for (const [i, one] of newestFirst.entries()) {
      const period = periodOf(times.at(-1 - i) ?? one.ts);
      if (seen.has(period) || seen.size >= wanted) continue;
      seen.add(period);
      kept.add(one);
    }
  }
  return kept;
}

/**
 * The `chronicle:` section of a `config.yaml`, which limits what is kept. Absent limits have the defaults of
 * `DEFAULT_RETENTION`. Other sections of the file belong to other programs.
 */
export interface RetentionConfig {
  readonly max_snapshots?: number;
  readonly max_age_days?: number;
  readonly min_age_hours?: number;
  readonly max_store_bytes?: number;
  readonly max_private_bytes?: number;
}

const KEYS = ["max_snapshots", "max_age_days", "min_age_hours", "max_store_bytes", "max_private_bytes"] as const;

export type RetentionKey = (typeof KEYS)[number];

/** All keys of the section, in the order in which they are shown. */
export const RETENTION_KEYS: readonly RetentionKey[] = KEYS;

/**
 * The defaults. A maximum of 0 means no limit. The default of `max_private_bytes` is the maximum size of a folder that
 * is kept aside as a whole (`OUTSIDE_LIMITS`). Every folder within that size therefore fits.
 */
export const DEFAULT_RETENTION: Required<RetentionConfig> = {
  max_snapshots: 50,
  max_age_days: 30,
  min_age_hours: 0,
  max_store_bytes: 0,
  max_private_bytes: 4 * 1024 ** 3,
};

/** Describes the fault in a setting's value. Returns `undefined` if the value is valid. */
export function faultOf(key: RetentionKey, value: unknown): string | undefined {
  if (typeof value === "number" && value >= 0 && Number.isFinite(value)) {
    if (!needsWhole(key) || Number.isSafeInteger(value)) return undefined;
  }
  const wanted = needsWhole(key) ? "a whole number from 0" : "a number from 0";
  return `${key} is ${JSON.stringify(value) ?? "nothing"}: it takes ${wanted}`;
}

function needsWhole(key: RetentionKey): boolean {
  return key === "max_snapshots" || key === "max_store_bytes" || key === "max_private_bytes";
}

/** Returns the retention files of a workspace: its own file, which takes precedence, and the user's file. */
export function retentionFiles(configFolder: string, workspaceId: string): readonly [own: string, users: string] {
  return [`${configFolder}/workspaces/${workspaceId}/config.yaml`, `${configFolder}/config.yaml`];
}
