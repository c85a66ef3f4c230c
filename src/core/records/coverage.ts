import type { WorkspacePath } from "../values/path.ts";

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
