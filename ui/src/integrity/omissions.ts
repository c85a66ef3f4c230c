import type { ActionShape } from "../../../src/api/action-shapes.ts";
import type {
  CoverageShape,
  OmissionShape,
  OmittedChangeShape,
  SessionShape,
  SnapshotShape,
} from "../../../src/api/shapes.ts";

/**
 * The words for the reasons why a path is not recorded. The reasons in `MEANT` are intended, by a rule or by the kind
 * of the path. Nobody has intended those in `UNMEANT`.
 */
const MEANT: Readonly<Record<string, string>> = {
  excluded: "left out by a rule",
  special: "neither file, folder nor link",
  store: "Chronicle's own store",
  "other-device": "on another disk",
  "off-record": "changed off the record",
  erased: "its content was erased",
};
const UNMEANT: Readonly<Record<string, string>> = {
  unreadable: "could not be read",
  "too-large": "larger than the limit for one file",
  "over-limit": "beyond the limit of the workspace",
  unstable: "kept changing while it was read",
  "name-too-long": "its name is too long",
};

/** Returns the words for a reason. A reason that this page does not know stands for itself. */
export function reasonOf(reason: string): string {
  return MEANT[reason] ?? UNMEANT[reason] ?? reason;
}

export interface OmissionGroup {
  readonly reason: string;
  /** True if the reason is intended (see `MEANT`). */
  readonly isMeant: boolean;
  readonly paths: readonly OmissionShape[];
}

/**
 * Groups omitted paths by their reasons. The groups with unintended reasons come first. Among groups of the same kind,
 * a larger group comes first.
 */
export function omissionGroups(omitted: readonly OmissionShape[]): OmissionGroup[] {
  const groups = Map.groupBy(omitted, ({ reason }) => reason);
  return [...groups]
    .map(([reason, paths]) => ({ reason, isMeant: reason in MEANT, paths }))
    .sort((a, b) => Number(a.isMeant) - Number(b.isMeant) || b.paths.length - a.paths.length);
}

/** What is known to be missing from the record of a session, or of the present state. */
export interface Receipt {
  readonly groups: readonly OmissionGroup[];
  readonly unapplied: NonNullable<CoverageShape["unapplied"]>;
  /** Changes of paths that are not recorded. Losses come first. */
  readonly changes: readonly OmittedChangeShape[];
  readonly notes: readonly string[];
}

export function receiptOfNow({ omitted, unapplied = [] }: CoverageShape): Receipt {
  return { groups: omissionGroups(omitted), unapplied, changes: [], notes: [] };
}

/** Gathers what a session's actions and snapshots left out, each path and reason once. */
export function receiptOfSession(
  { omitted_changes = [], notes }: Pick<SessionShape, "omitted_changes" | "notes">,
  snapshots: readonly Pick<SnapshotShape, "coverage">[],
  actions: readonly Pick<ActionShape, "coverage" | "omitted_changes">[],
): Receipt {
  const coverages = [...snapshots, ...actions].map(({ coverage }) => coverage);
  const omitted = new Map(coverages.flatMap((one) => one.omitted).map((one) => [`${one.reason} ${one.path}`, one]));
  const unapplied = new Map(coverages.flatMap((one) => one.unapplied ?? []).map((one) => [one.source, one]));
  const changes = new Map(
    [...omitted_changes, ...actions.flatMap((one) => one.omitted_changes ?? [])].map((one) => [one.path, one]),
  );
  return {
    groups: omissionGroups([...omitted.values()]),
    unapplied: [...unapplied.values()],
    changes: [...changes.values()].sort((a, b) => Number(b.lost) - Number(a.lost)),
    notes,
  };
}

/** Says what became of a change that is in no history. */
export function changeWords({ change_type: type, lost, kept, ambiguous }: OmittedChangeShape): string {
  const did = { created: "created", modified: "changed", deleted: "removed" }[type];
  if (lost) return `${did}; the content before cannot be brought back`;
  if (ambiguous === true) return `${did} while others were at work, so an undo leaves it`;
  if (!kept) return `${did}; an undo leaves it as it is`;
  return type === "created" ? `${did}; an undo removes it` : `${did}; an undo brings the state before back`;
}
