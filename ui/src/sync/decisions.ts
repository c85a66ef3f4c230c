import type { SyncApi, SyncShape } from "../../../src/api/sync-api.ts";
import { visible } from "../parts/words.ts";

type Accept = NonNullable<NonNullable<Parameters<SyncApi["resume"]>[1]>["accept"]>;

/** A decision about a halted sync, with the words of its button and of the preview before it. */
export interface Decision {
  readonly accept: Accept;
  readonly title: string;
  /** The effects of the decision, in one or two sentences each. */
  readonly happens: readonly string[];
  /** True if files are deleted. */
  readonly isLoss: boolean;
}

/** Returns the decisions that fit the reason of a halt. Only these are offered, because the others would be refused. */
export function decisionsOf({ halted, folder, upstream, reason }: SyncShape): readonly Decision[] {
  const here = visible(folder);
  const origin = visible(upstream);
  const why = reason === undefined ? [] : [`The reason of the halt: ${visible(reason)}.`];
  const make = (accept: Accept, title: string, ...happens: string[]): Decision => ({
    ...{ accept, title, isLoss: accept === "deletions" },
    happens: [...why, ...happens],
  });
  const lost = [
    make(
      "restore",
      "Put the deleted files back",
      `The deleted files are put back on the side that has lost them (${here}, or the origin ${origin}), as the other side has them. Nothing is deleted.`,
    ),
    make(
      "deletions",
      "Delete them on the other side, too",
      `What was deleted in ${here} is deleted at the origin, ${origin}. What was deleted there is deleted here.`,
      "Other people and machines that follow the origin lose these files, too. The histories keep the contents until they are pruned.",
    ),
  ];
  const known: Readonly<Record<string, readonly Decision[]>> = {
    "mass-deletion": lost,
    "root-emptied": lost,
    forked: [
      make(
        "as-new",
        "Continue as another replica",
        `The changes of ${here} that the origin, ${origin}, does not have are proposed to it, and its files come here.`,
        "Nothing is deleted at the origin. What is missing here comes back. What differs on both sides becomes a conflict.",
      ),
    ],
    diverged: [
      make(
        "rejoin",
        "Keep this side's work, and propose it to the origin",
        `The sync continues with the origin, ${origin}, as it is now. The changes that it has lost stay in ${here}, and are proposed to it.`,
        "Nothing is deleted on either side. What differs on both sides becomes a conflict. If the origin gets its history back, resume instead.",
      ),
    ],
  };
  return Object.hasOwn(known, halted ?? "") ? (known[halted ?? ""] ?? []) : [];
}
