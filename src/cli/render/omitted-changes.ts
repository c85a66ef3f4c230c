import type { OmittedChangeShape } from "../../api/shapes.ts";
import { isMeant as isMeantOmission } from "../../core/records/coverage.ts";
import { counted } from "./words.ts";
import { printable } from "../../process/printable.ts";
import { groupedDigits } from "../../util/grouped-digits.ts";

const MOST_PATHS = 5;

interface Sentence {
  /** Returns true if the sentence is about the change. */
  readonly isMeant: (change: OmittedChangeShape) => boolean;
  /**
   * Returns the predicate of the sentence. `isOne`: true for one path. `how`: a text that follows the word `created`,
   * such as ` under rules of its own`.
   */
  readonly text: (isOne: boolean, how: string) => string;
}

const LOSSES: readonly Sentence[] = [
  {
    isMeant: ({ lost, change_type }) => lost && change_type === "deleted",
    text: (isOne) => `${isOne ? "was" : "were"} removed and cannot be brought back`,
  },
  {
    isMeant: ({ lost, change_type }) => lost && change_type !== "deleted",
    text: (isOne) => `${isOne ? "was" : "were"} overwritten: the content before cannot be brought back`,
  },
];

/** The sentences about changes that an undo can invert, because the content that the undo needs is kept aside. */
const KEPT: readonly Sentence[] = [
  {
    isMeant: ({ kept, ambiguous, change_type }) => kept && ambiguous !== true && change_type === "deleted",
    text: (isOne) => `${isOne ? "was" : "were"} removed; undo brings ${isOne ? "it" : "them"} back`,
  },
  {
    isMeant: ({ kept, ambiguous, change_type }) => kept && ambiguous !== true && change_type === "modified",
    text: (isOne) => `${isOne ? "was" : "were"} changed; undo brings the content before back`,
  },
  {
    isMeant: ({ kept, ambiguous, change_type }) => kept && ambiguous !== true && change_type === "created",
    text: (isOne, how) => `${isOne ? "was" : "were"} created${how}; undo removes ${isOne ? "it" : "them"}`,
  },
];

/** The sentences about the changes of `KEPT`, for a run that was undone. */
const TAKEN_BACK: readonly Sentence[] = [
  {
    isMeant: ({ kept, ambiguous, change_type }) => kept && ambiguous !== true && change_type !== "created",
    text: (isOne) => `${isOne ? "was" : "were"} put back`,
  },
  {
    isMeant: ({ kept, ambiguous, change_type }) => kept && ambiguous !== true && change_type === "created",
    text: (isOne, how) => `${isOne ? "was" : "were"} created${how}, and removed`,
  },
];

/** The sentences about paths that an undo does not change. */
const LEFT: readonly Sentence[] = [
  {
    isMeant: ({ ambiguous }) => ambiguous === true,
    text: (isOne) =>
      `${isOne ? "was" : "were"} changed while others were at work in this folder too, and any of them may have made the change; ` +
      `undo leaves ${isOne ? "it" : "them"} as ${isOne ? "it is" : "they are"}`,
  },
  {
    isMeant: ({ kept, lost, change_type }) => !kept && !lost && change_type !== "created",
    text: (isOne) =>
      `${isOne ? "was" : "were"} changed; undo leaves ${isOne ? "it" : "them"} as ${isOne ? "it is" : "they are"}`,
  },
  {
    isMeant: ({ kept, change_type, reason }) => !kept && change_type === "created" && reason === "erased",
    text: (isOne) => `${isOne ? "was" : "were"} created, and not recorded; undo leaves ${isOne ? "it" : "them"}`,
  },
  {
    isMeant: ({ kept, change_type, reason }) => !kept && change_type === "created" && reason !== "erased",
    text: (isOne, how) => `${isOne ? "was" : "were"} created${how}; undo leaves ${isOne ? "it" : "them"}`,
  },
];

function listOf(changes: readonly OmittedChangeShape[]): string {
  const names = changes
    .slice(0, MOST_PATHS)
    .map((one) => `${printable(one.path)}${isByOtherReason(one) ? ` (${printable(one.reason)})` : ""}`);
  const more = changes.length - names.length;
  return `${names.join(", ")}${more > 0 ? ` and ${groupedDigits(more)} more` : ""}`;
}

/**
 * The groups of omitted paths, by the reason of the omission: an erased content, a rule, another intended reason, or a
 * failure to record the path before or after the change.
 */
const GROUPS: readonly (readonly [which: string, isOf: (change: OmittedChangeShape) => boolean])[] = [
  ["with a content that was erased", isErased],
  ["that the rules leave out", isByRules],
  ["left out on purpose", isByOtherReason],
  ["that could not be recorded before", (change) => !isMeantOmission(change) && change.recorded !== true],
  ["that could not be recorded afterwards", (change) => change.recorded === true],
];

function isErased({ reason }: OmittedChangeShape): boolean {
  return reason === "erased";
}

function isByRules({ reason }: OmittedChangeShape): boolean {
  return reason === "excluded";
}

/**
 * True for a path that captures leave out on purpose, but not because of a rule or an erased content. A pipe is an
 * example.
 */
function isByOtherReason(change: OmittedChangeShape): boolean {
  return isMeantOmission(change) && !isErased(change) && !isByRules(change);
}

const BY_OWN_RULES = " under rules of its own";

function told(changes: readonly OmittedChangeShape[], sentences: readonly Sentence[], how = BY_OWN_RULES): string[] {
  return GROUPS.flatMap(([which, isOf]) =>
    sentences.flatMap(({ isMeant, text }) => {
      const meant = changes.filter((change) => isOf(change) && isMeant(change));
      if (meant.length === 0) return [];
      return [`${counted(meant.length, "path")} ${which} ${text(meant.length === 1, how)}: ${listOf(meant)}`];
    }),
  );
}

/**
 * Returns lines about omitted paths whose earlier content is lost. Each group has at most one line for removed paths
 * and at most one line for overwritten paths.
 */
export function lossLines(changes: readonly OmittedChangeShape[] = []): string[] {
  return told(changes, LOSSES);
}

/**
 * Returns lines about a run's changes of omitted paths, without the losses. For created paths, the line says that the
 * run itself has made the rules that leave these paths out. The line does not say this for a path that is left out
 * because of an erased content.
 */
export function harmlessLines(changes: readonly OmittedChangeShape[] = []): string[] {
  return told(changes, [...KEPT, ...LEFT]);
}

/**
 * Returns lines about an action's changes of omitted paths, without the losses. The lines do not say who has made the
 * rules, because older rules may leave out a path that the action has declared.
 */
export function harmlessLinesOfAction(changes: readonly OmittedChangeShape[] = []): string[] {
  return told(changes, [...KEPT, ...LEFT], "");
}

/**
 * Returns lines about a run's changes of omitted paths, after the run was undone. The paths in `left` are skipped,
 * because they were not undone.
 */
export function takenBackLines(changes: readonly OmittedChangeShape[] = [], left: readonly string[] = []): string[] {
  const isTaken = ({ path }: OmittedChangeShape): boolean => !left.includes(path);
  return told(changes.filter(isTaken), [...TAKEN_BACK, ...LEFT]);
}
