import { type WorkspacePath, comparePaths } from "../values/path.ts";
import type { RecordBody } from "../values/event.ts";
import { decodePath, encodePath } from "../values/file-record.ts";
import type { Hash } from "../values/hash.ts";
import { damaged, hashOf, list, object, text, whole } from "../values/record-fields.ts";

/** The reason why a path was not captured. `ReasonTraits` has the consequences of each reason. */
export type OmissionReason =
  | "excluded"
  | "special"
  | "store"
  | "other-device"
  | "off-record"
  | "erased"
  | "unreadable"
  | "too-large"
  | "over-limit"
  | "unstable"
  | "name-too-long";

/** One thing that a capture left out. An excluded folder is listed once, not file by file. */
export interface Omission {
  readonly path: WorkspacePath;
  readonly reason: OmissionReason;
  /**
   * A text for messages, such as the rule, the errno, the kind of special file, or the size. For `excluded`, the text
   * begins with the name of the rule, because code distinguishes the rules by this name.
   */
  readonly detail?: string;
}

/** Rules that Chronicle does not apply, with the reason. A capture records the paths that these rules would exclude. */
export interface UnappliedRules {
  /**
   * A text for messages: the name of the setting, or the path of the file. The path is absolute or relative to the
   * root.
   */
  readonly source: string;
  /** A text for messages: the reason why the rules are not applied. */
  readonly detail: string;
}

/** The receipt of what a capture left out, and why. */
export interface Coverage {
  /** True if every omission is intended (`isMeant`). */
  readonly complete: boolean;
  readonly omitted: readonly Omission[];
  /** The rules that are not applied. Omitted if there are none. */
  readonly unapplied?: readonly UnappliedRules[];
  /**
   * Set only for a coverage that was read from a record: the number of further omissions, which the record does not
   * list. Omitted if there are none, or if all of them are known to be `excluded`.
   */
  readonly unlisted?: number;
}

/** The consequences of a reason. A new reason needs a value for each of these traits. */
interface ReasonTraits {
  /** The omission is intended, so the capture is complete in spite of it. */
  readonly isMeant: boolean;
  /**
   * A rule leaves out the path: a rule of the filter, or a rule that every capture applies. The history has no state of
   * the file that is now at the path. For a reason without this trait, the history can have an earlier state of this
   * file.
   */
  readonly isByRule: boolean;
  /**
   * The reason applies to the path itself and to everything beneath it. The present state was not read, so the history
   * has no copy of this state.
   */
  readonly notRead: boolean;
  /** The path's content is never kept, not even aside. */
  readonly neverKept: boolean;
  /**
   * The path's state is not compared before and after a command. Either the path is Chronicle's own, or it is tracked
   * and the next capture reads it again.
   */
  readonly notCompared: boolean;
  /** A recorded path stays recorded with its earlier state. Therefore, a restore must not touch the present state. */
  readonly keepsEarlier: boolean;
  /**
   * The history can have a state of the path, or of a path beneath it, that differs from the omitted state. False for
   * `over-limit`, because the limits on entries and bytes leave out only new paths.
   */
  readonly isStale: boolean;
  /**
   * A command can cause this omission of a recorded file. For example, `chmod` can make the file unreadable. The result
   * of the command then reports the omission as a change.
   */
  readonly outgrown: boolean;
}

const TRAITS: Readonly<Record<OmissionReason, ReasonTraits>> = {
  excluded: {
    isMeant: true,
    isByRule: true,
    notRead: false,
    neverKept: false,
    notCompared: false,
    keepsEarlier: false,
    isStale: false,
    outgrown: false,
  },
  special: {
    isMeant: true,
    isByRule: true,
    notRead: true,
    neverKept: true,
    notCompared: false,
    keepsEarlier: false,
    isStale: false,
    outgrown: false,
  },
  store: {
    isMeant: true,
    isByRule: true,
    notRead: true,
    neverKept: false,
    notCompared: true,
    keepsEarlier: false,
    isStale: false,
    outgrown: false,
  },
  "other-device": {
    isMeant: true,
    isByRule: true,
    notRead: true,
    neverKept: true,
    notCompared: false,
    keepsEarlier: false,
    isStale: false,
    outgrown: false,
  },
  "off-record": {
    isMeant: true,
    isByRule: false,
    notRead: true,
    neverKept: true,
    notCompared: false,
    keepsEarlier: false,
    isStale: true,
    outgrown: false,
  },
  erased: {
    isMeant: true,
    isByRule: false,
    notRead: true,
    neverKept: true,
    notCompared: false,
    keepsEarlier: true,
    isStale: true,
    outgrown: false,
  },
  unreadable: {
    isMeant: false,
    isByRule: false,
    notRead: true,
    neverKept: false,
    notCompared: false,
    keepsEarlier: true,
    isStale: true,
    outgrown: true,
  },
  "too-large": {
    isMeant: false,
    isByRule: false,
    notRead: true,
    neverKept: false,
    notCompared: false,
    keepsEarlier: true,
    isStale: true,
    outgrown: true,
  },
  "over-limit": {
    isMeant: false,
    isByRule: false,
    notRead: false,
    neverKept: false,
    notCompared: false,
    keepsEarlier: true,
    isStale: false,
    outgrown: false,
  },
  unstable: {
    isMeant: false,
    isByRule: false,
    notRead: false,
    neverKept: false,
    notCompared: true,
    keepsEarlier: true,
    isStale: true,
    outgrown: false,
  },
  "name-too-long": {
    isMeant: false,
    isByRule: false,
    notRead: true,
    neverKept: false,
    notCompared: false,
    keepsEarlier: true,
    isStale: true,
    outgrown: false,
  },
};

/** Returns the reasons that have a trait. A reason that this version does not know has no traits. */
export function reasonsWith(trait: keyof ReasonTraits): ReadonlySet<string> {
  return new Set(Object.entries(TRAITS).flatMap(([reason, traits]) => (traits[trait] ? [reason] : [])));
}

const MEANT = reasonsWith("isMeant");

/** Returns true if the omission is intended, so that a capture is complete in spite of it. */
export function isMeant(omission: { readonly reason: string }): boolean {
  return MEANT.has(omission.reason);
}

/** Makes a coverage. The coverage is complete if every omission is intended. */
export function coverageOf(omitted: readonly Omission[], unapplied: readonly UnappliedRules[] = []): Coverage {
  return { complete: omitted.every(isMeant), omitted, ...(unapplied.length === 0 ? {} : { unapplied }) };
}

/**
 * `coverage:<workspace id>`: the coverage of full captures from this event on. The event directly follows the changes
 * of the first capture with this coverage.
 *
 * The record shows whether a path without an entry was absent at a moment. The path was absent if the last coverage
 * event at or before the moment neither excludes nor omits the path.
 */
export interface CoverageRecord {
  /** The hash of a blob with the canonical JSON of the filters in force, one per root. */
  readonly filter: Hash;
  /** The seq of the event right before the first event of the capture. */
  readonly fromSeq: number;
  /**
   * Paths that the filters accept but that the capture could not record, sorted by path. A folder stands for everything
   * beneath it.
   */
  readonly omitted: readonly OmittedPath[];
  /**
   * The number of all paths that the filters accept but that the capture could not record. `omitted` lists at most
   * `MAX_OMITTED` of them.
   */
  readonly count: number;
}

export interface OmittedPath {
  readonly path: WorkspacePath;
  readonly reason: OmissionReason;
}

/** The maximum number of omitted paths that a record lists. Further paths are only counted. */
export const MAX_OMITTED = 2_000;

export function coverageRecordId(workspaceId: string): string {
  return `coverage:${workspaceId}`;
}

/**
 * Returns the omissions of a capture, sorted by path, and their number, in the form of a coverage record. Leaves out
 * excluded paths, because they can be derived from the filters. If there are more than `MAX_OMITTED` omissions, those
 * of paths in `recorded` have precedence, because the history has an earlier state of these paths. An `unstable` path
 * is a path that changed while it was read. The caller must leave out such a path if a state of the path was read
 * nevertheless.
 */
export function listedOmissions(
  omitted: readonly OmittedPath[],
  recorded: ReadonlySet<WorkspacePath> = new Set(),
): Pick<CoverageRecord, "omitted" | "count"> {
  const each = new Map<string, OmittedPath>();
  for (const { path, reason } of omitted) if (reason !== "excluded") each.set(path, { path, reason });
  const all = [...each.values()].sort((a, b) => comparePaths(a.path, b.path));
  if (all.length <= MAX_OMITTED) return { omitted: all, count: all.length };
  const isFirst = ({ path }: OmittedPath): boolean => recorded.has(path);
  const listed = [...all.filter(isFirst), ...all.filter((one) => !isFirst(one))].slice(0, MAX_OMITTED);
  return { omitted: listed.sort((a, b) => comparePaths(a.path, b.path)), count: all.length };
}

export function encodeCoverageRecord({ filter, fromSeq, omitted, count }: CoverageRecord): RecordBody {
  const listed = omitted.map(({ path, reason }) => ({ ...encodePath(path), reason }));
  return { filter, from_seq: fromSeq, count, omitted: listed };
}

/** Decodes a coverage record. Throws `LOG_DAMAGED` if it is invalid. */
export function decodeCoverageRecord(body: RecordBody): CoverageRecord {
  const omitted = list(body, "omitted").map((item) => {
    const one = object(item, "an omission");
    return { path: decodePath(one), reason: text(one, "reason") as OmissionReason };
  });
  const count = whole(body, "count");
  if (count < omitted.length) damaged("count is less than what is listed");
  return { filter: hashOf(body, "filter"), fromSeq: whole(body, "from_seq"), omitted, count };
}

/** Returns true if two coverages are equal, so that the second one need not be recorded. */
export function sameCoverage(
  a: Pick<CoverageRecord, "filter" | "omitted" | "count">,
  b: Pick<CoverageRecord, "filter" | "omitted" | "count">,
): boolean {
  return (
    a.filter === b.filter &&
    a.count === b.count &&
    a.omitted.length === b.omitted.length &&
    a.omitted.every(({ path, reason }, i) => path === b.omitted[i]?.path && reason === b.omitted[i]?.reason)
  );
}
