import type { SkippedPath } from "./seen-absent.ts";

/** Reasons that a person can resolve, so that another undo takes these paths back. */
const FOR_NOW: ReadonlySet<SkippedPath["reason"]> = new Set([
  "changed",
  "no-folder",
  "not-empty",
  "not-permitted",
  "no-space",
  "busy",
]);

/**
 * Returns a note for people on how to take back later what an undo has left, if that is possible. `how`: the undo that
 * does so.
 */
export function restNote(skipped: readonly SkippedPath[], how: string): string[] {
  const isMeanwhile = skipped.some(({ reason }) => reason === "changed-meanwhile");
  const isForNow = skipped.some(({ reason }) => FOR_NOW.has(reason));
  return [
    ...(isMeanwhile
      ? [`what was changed meanwhile stays to be undone: ${how} takes it back, once nothing changes it any more`]
      : []),
    ...(isForNow ? [`what was left stays to be undone: ${how} takes it back, once nothing is in its way`] : []),
  ];
}
