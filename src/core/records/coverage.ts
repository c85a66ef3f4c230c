import { type WorkspacePath, comparePaths } from "../values/path.ts";
import type { RecordBody } from "../values/event.ts";
import { decodePath, encodePath } from "../values/file-record.ts";
import type { Hash } from "../values/hash.ts";
import { damaged, hashOf, list, object, text, whole } from "../values/record-fields.ts";

/** Why a path was not captured. The first six are intended and leave a capture complete. */
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
  /** For people: the rule, the errno, the kind of special file, the size. */
  readonly detail?: string;
}

/** Rules that exist but exclude nothing, and why they are not applied: a capture takes what they name. */
export interface UnappliedRules {
  /** For people: the file, beneath the root or absolute, or the setting. */
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

const MEANT_REASONS: readonly OmissionReason[] = [
  "excluded",
  "special",
  "store",
  "other-device",
  "off-record",
  "erased",
];
const MEANT: ReadonlySet<string> = new Set(MEANT_REASONS);

/** True if this omission leaves a capture complete. */
export function isMeant(omission: { readonly reason: string }): boolean {
  return MEANT.has(omission.reason);
}

/** Returns the receipt for a list of omissions and of rules that are not applied. */
export function coverageOf(omitted: readonly Omission[], unapplied: readonly UnappliedRules[] = []): Coverage {
  return { complete: omitted.every(isMeant), omitted, ...(unapplied.length === 0 ? {} : { unapplied }) };
}

/**
 * `coverage:<workspace id>`: what full captures take from this event on, and what they do not. Each event directly
 * follows the changes of the capture that first differed from the one before. The last such event at or before a moment
 * says which paths that moment shows to be absent: those that it neither excludes nor omits.
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

/** Most omitted paths that a record lists. Beyond that it holds only their number. */
const MAX_OMITTED = 2_000;

/** The record id of a workspace's coverage. */
export function coverageRecordId(workspaceId: string): string {
  return `coverage:${workspaceId}`;
}

/**
 * Returns the omissions of a capture that a record lists. Excluded paths are left out because they follow from the
 * filters. Paths that changed while they were read are left out because they were recorded, and so are known to exist.
 */
export function listedOmissions(omitted: readonly OmittedPath[]): Pick<CoverageRecord, "omitted" | "count"> {
  const each = new Map<string, OmittedPath>();
  for (const { path, reason } of omitted)
    if (reason !== "excluded" && reason !== "unstable") each.set(path, { path, reason });
  const all = [...each.values()].sort((a, b) => comparePaths(a.path, b.path));
  return { omitted: all.slice(0, MAX_OMITTED), count: all.length };
}

/** A coverage record as JSON. */
export function encodeCoverageRecord({ filter, fromSeq, omitted, count }: CoverageRecord): RecordBody {
  const listed = omitted.map(({ path, reason }) => ({ ...encodePath(path), reason }));
  return { filter, from_seq: fromSeq, count, omitted: listed };
}

/** The coverage record in a body. Throws `LOG_DAMAGED`. */
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
