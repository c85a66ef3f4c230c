/** A line of a reflog (`git help reflog`): a ref was moved from one commit to another one. */
export interface ReflogLine {
  /** The hash of the commit; all zeros if there was none. */
  readonly before: string;
  readonly after: string;
  /** In seconds since the epoch. */
  readonly time: number;
  /** What moved the ref, in git's words: `reset: moving to HEAD~1`. */
  readonly message: string;
}

const LINE = /^([0-9a-f]{40,64}) ([0-9a-f]{40,64}) .*> (\d{1,12}) [+-]\d{4}\t(.*)$/;

/** Parses a reflog or the end of one. Leaves out what is no whole line. */
export function parseReflog(text: string): ReflogLine[] {
  return text.split("\n").flatMap((line) => {
    const [, before, after, time, message] = LINE.exec(line) ?? [];
    if (before === undefined || after === undefined || message === undefined) return [];
    return [{ before, after, time: Number(time), message }];
  });
}

/** A move of HEAD that some work has made, which ended at a time (in ms since the epoch). `undefined`: no commit. */
export interface HeadMove {
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** True if another branch was checked out, which can be done without a move to another commit. */
  readonly isSwitch: boolean;
  readonly ended: number;
}

/** The most lines of a reflog that lead from one commit to another. */
const MOST_STEPS = 1_000;

/**
 * Returns the messages of the lines that lead from one commit to another, the oldest first. Returns none if the reflog
 * has no such lines, or if they are later than the work.
 */
export function reflogMessages(all: readonly ReflogLine[], { before, after, isSwitch, ended }: HeadMove): string[] {
  // Lines of the second in which the work ended can be later than the work. A switch to another branch is, if the work
  // was none.
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
