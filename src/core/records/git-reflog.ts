/** A line of a reflog (`git help reflog`): a ref was moved from one commit to another one. */
export interface ReflogLine {
  /** The hash of the commit before the move; all zeros if there was no such commit. */
  readonly before: string;
  readonly after: string;
  /** The time of the move, in seconds since the epoch. */
  readonly time: number;
  /** Git's description of the move, such as `reset: moving to HEAD~1`. */
  readonly message: string;
}

const LINE = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) .*> (\d{1,12}) [+-]\d{4}\t(.*)$/;

/** Parses a reflog, or the end of a reflog. Skips each line that is incomplete or malformed. */
export function parseReflog(text: string): ReflogLine[] {
  return text.split("\n").flatMap((line) => {
    const [, before, after, time, message] = LINE.exec(line) ?? [];
    if (before === undefined || after === undefined || message === undefined) return [];
    return [{ before, after, time: Number(time), message }];
  });
}

/** A move of HEAD that some work made. */
export interface HeadMove {
  /** The hash of the commit before the work; `undefined` if there was none. */
  readonly before: string | undefined;
  /** The hash of the commit after the work; `undefined` if there was none. */
  readonly after: string | undefined;
  /** True if the work checked out another branch. The other branch may have the same commit. */
  readonly isSwitch: boolean;
  /** The time at which the work ended, in ms since the epoch. */
  readonly ended: number;
}

/** The maximum number of reflog lines that `reflogMessages` follows back from the last line. */
const MOST_STEPS = 1_000;

/**
 * Returns the messages of the lines that lead from the commit `before` to the commit `after`, the oldest first. Returns
 * an empty list if the reflog has no such lines, or if the work ended before these lines were written.
 */
export function reflogMessages(all: readonly ReflogLine[], { before, after, isSwitch, ended }: HeadMove): string[] {
  // The times in a reflog are whole seconds. A line of the second in which the work ended may therefore be later than
  // the work. If the work switched no branch, a line that keeps the commit may be such a later switch, and is ignored.
  const lines = isSwitch ? all : all.filter((line) => line.before !== line.after);
  const isStart = (line: ReflogLine): boolean =>
    before === undefined ? /^0+$/.test(line.before) : line.before === before;
  const last = lines.findLastIndex((line) => line.after === after && line.time * 1000 <= ended);
  for (let at = last; at >= 0 && last - at < MOST_STEPS; at -= 1) {
    const line = lines[at];
    if (line === undefined || (at < last && line.after !== lines[at + 1]?.before)) return [];
    if (isStart(line)) return lines.slice(at, last + 1).map(({ message }) => message);
  }
  return [];
}
