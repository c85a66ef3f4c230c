import type { OutsideFiles } from "../worktree/outside-files.ts";

const NOT_FROM_HERE = "whoever asks may touch nothing outside of the workspace";

/**
 * Files outside as somebody elsewhere sees them, who was let into the workspace and not into the machine: nothing is looked
 * at, not even to follow a link, and nothing is replaced. What an action names there is told as not kept.
 */
export function closedOutside({ home }: OutsideFiles): OutsideFiles {
  return {
    home,
    isOwn: () => false,
    resolve: (absolute) => ({ name: absolute, end: absolute }),
    look: (path) => Promise.resolve({ found: [], omitted: [{ path, reason: "unreadable", detail: NOT_FROM_HERE }] }),
    replace: () => Promise.resolve(NOT_FROM_HERE),
  };
}
