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

/** One thing that a capture did not take (an excluded folder is listed once, not file by file). */
export interface Omission {
  readonly path: WorkspacePath;
  readonly reason: OmissionReason;
  /** For messages: the rule, the errno, the kind of special file, the size. */
  readonly detail?: string;
}

/** Rules that are not applied, and why. A capture takes the paths that they would exclude. */
export interface UnappliedRules {
  /** For messages: the file, beneath the root or absolute, or the setting. */
  readonly source: string;
  readonly detail: string;
}

/** The receipt of what a capture did not take, and why. */
export interface Coverage {
  readonly complete: boolean;
  readonly omitted: readonly Omission[];
  /** `undefined` if all rules are applied. */
  readonly unapplied?: readonly UnappliedRules[];
  /** The number of omissions that a record does not list. */
  readonly unlisted?: number;
}

/** The consequences of a reason. A new reason needs a value for each. */
interface ReasonTraits {
  /** The omission is intended: it leaves a capture complete. */
  readonly isMeant: boolean;
  /** The record holds no state of the path. With any other reason, it may hold an earlier one. */
  readonly isByRule: boolean;
  /** The reason concerns the path itself and all beneath it: what is there now was not read, so it has no backup. */
  readonly notRead: boolean;
  /** The path's content is never kept, not even aside. */
  readonly neverKept: boolean;
  /** The path is not compared before and after a command: it is Chronicle's own, or is tracked and read again. */
  readonly notCompared: boolean;
  /** A recorded path keeps its earlier state in the record, so a restore must leave what is there now. */
  readonly keepsEarlier: boolean;
  /**
   * The state that the record has of the path, or of a path beneath it, is not the one that was omitted. The limits
   * leave out new paths only.
   */
  readonly isStale: boolean;
  /**
   * A command can give a recorded file this reason, such as by a `chmod`: that is reported as a change of the command.
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

/** Returns the reasons with a trait. A reason that a later version has written is in no such set. */
export function reasonsWith(trait: keyof ReasonTraits): ReadonlySet<string> {
  return new Set(Object.entries(TRAITS).flatMap(([reason, traits]) => (traits[trait] ? [reason] : [])));
}

const MEANT = reasonsWith("isMeant");

/** True if this omission leaves a capture complete. */
export function isMeant(omission: { readonly reason: string }): boolean {
  return MEANT.has(omission.reason);
}

/** Returns the receipt for a list of omissions and of rules that are not applied. */
export function coverageOf(omitted: readonly Omission[], unapplied: readonly UnappliedRules[] = []): Coverage {
  return { complete: omitted.every(isMeant), omitted, ...(unapplied.length === 0 ? {} : { unapplied }) };
}

/**
 * `coverage:<workspace id>`: the coverage of full captures from this event on. The event directly follows the changes
 * of the first capture with this coverage. The last such event at or before a moment decides which paths without an
 * entry were absent at that moment: those that it neither excludes nor omits.
 */
export interface CoverageRecord {
  /** Blob: canonical JSON of the filters in force, one per root. */
  readonly filter: Hash;
  /** The event before the capture's first one. */
  readonly fromSeq: number;
  /**
   * Paths that the filters accept but the capture could not take, sorted by path. A folder stands for everything
   * beneath it.
   */
  readonly omitted: readonly OmittedPath[];
  /** Number of omitted paths. Beyond `MAX_OMITTED` they are not listed. */
  readonly count: number;
}

/** A path that was not captured, and why. */
export interface OmittedPath {
  readonly path: WorkspacePath;
  readonly reason: OmissionReason;
}

/** The maximum number of omitted paths that a record lists. Of further paths, it holds only the number. */
export const MAX_OMITTED = 2_000;

/** Returns the record id of a workspace's coverage. */
export function coverageRecordId(workspaceId: string): string {
  return `coverage:${workspaceId}`;
}

/**
 * Returns the omissions of a capture that a record lists. Excluded paths are left out because they follow from the
 * filters. Paths that changed while they were read are left out because they were recorded, and so are known to exist.
 * `recorded`: the paths that are listed before all others, because an earlier state of them is recorded.
 */
export function listedOmissions(
  omitted: readonly OmittedPath[],
  recorded: ReadonlySet<WorkspacePath> = new Set(),
): Pick<CoverageRecord, "omitted" | "count"> {
  const each = new Map<string, OmittedPath>();
  for (const { path, reason } of omitted)
    if (reason !== "excluded" && reason !== "unstable") each.set(path, { path, reason });
  const all = [...each.values()].sort((a, b) => comparePaths(a.path, b.path));
  if (all.length <= MAX_OMITTED) return { omitted: all, count: all.length };
  const isFirst = ({ path }: OmittedPath): boolean => recorded.has(path);
  const listed = [...all.filter(isFirst), ...all.filter((one) => !isFirst(one))].slice(0, MAX_OMITTED);
  return { omitted: listed.sort((a, b) => comparePaths(a.path, b.path)), count: all.length };
}

/** Returns a coverage record as JSON. */
export function encodeCoverageRecord({ filter, fromSeq, omitted, count }: CoverageRecord): RecordBody {
  const listed = omitted.map(({ path, reason }) => ({ ...encodePath(path), reason }));
  return { filter, from_seq: fromSeq, count, omitted: listed };
}

/** Decodes a coverage record. Throws `LOG_DAMAGED`. */
export function decodeCoverageRecord(body: RecordBody): CoverageRecord {
  const omitted = list(body, "omitted").map((item) => {
    const one = object(item, "an omission");
    return { path: decodePath(one), reason: text(one, "reason") as OmissionReason };
  });
  const count = whole(body, "count");
  if (count < omitted.length) damaged("count is less than what is listed");
  return { filter: hashOf(body, "filter"), fromSeq: whole(body, "from_seq"), omitted, count };
}

/** True if two records describe the same coverage. */
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
