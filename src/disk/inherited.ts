import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/**
 * Matches the targets of descriptors that Node opens for itself before the first line of a program runs. An inherited
 * descriptor of such a kind cannot be distinguished from Node's own.
 */
const OF_NODE = /^anon_inode:\[(?:eventpoll|eventfd|io_uring)\]$/;

/** fcntl(2) flags: the access mode, and non-blocking. */
const ACCESS = 0o3;
const WRITE_ONLY = 0o1;
const NONBLOCK = 0o4000;

interface Descriptor {
  readonly fd: number;
  /** The target of the descriptor, in the form of proc_pid_fd(5). */
  readonly target: string;
  readonly flags: number;
}

/** A pipe of which this process has both ends open. */
interface Pipe {
  readonly target: string;
  readonly first: number;
  readonly isBlocking: boolean;
  readonly isNonblocking: boolean;
}

/**
 * Returns the open descriptors from 3 up that this process inherited, with their targets. Call this before the program
 * opens anything. Before the program opens anything, every descriptor that does not look like Node's own is inherited.
 * Returns an empty map if there is no `/proc`.
 */
export function inheritedDescriptors(): ReadonlyMap<number, string> {
  const open = descriptorsOf("self").filter(({ fd }) => fd > 2);
  const own = pipesOfNode(open);
  const inherited = open.filter(({ target }) => !OF_NODE.test(target) && !own.has(target));
  return new Map(inherited.map(({ fd, target }) => [fd, target]));
}

/** Returns those of the given descriptors that are still open with the same target. */
export function stillOpen(descriptors: ReadonlyMap<number, string>): readonly number[] {
  if (descriptors.size === 0) return [];
  return descriptorsOf("self").flatMap(({ fd, target }) => (descriptors.get(fd) === target ? [fd] : []));
}

/**
 * Returns the targets of Node's own pipes. Node keeps both ends of a few pipes open: one blocking pipe, and some
 * non-blocking pipes. A parent may pass on a similar pipe (the job tokens of `make` are a blocking pipe). Such a pipe
 * is not counted as Node's, because the parent has it open, too.
 */
function pipesOfNode(open: readonly Descriptor[]): ReadonlySet<string> {
  const pipes = pipesIn(open);
  const own = new Set(pipes.filter(({ isNonblocking }) => isNonblocking).map(({ target }) => target));
  const waiting = pipes.filter(({ isBlocking }) => isBlocking);
  const ofParent = waiting.length > 1 ? targetsOfParent() : new Set<string>();
  const lowest = open.find(({ target }) => OF_NODE.test(target))?.fd ?? 0;
  const lock = waiting.find(({ target, first }) => first > lowest && !ofParent.has(target));
  if (lock !== undefined) own.add(lock.target);
  return own;
}

function pipesIn(open: readonly Descriptor[]): Pipe[] {
  const ends = new Map<string, Descriptor[]>();
  for (const one of open) {
    if (one.target.startsWith("pipe:")) ends.set(one.target, [...(ends.get(one.target) ?? []), one]);
  }
  return [...ends.entries()].flatMap(([target, of]) => {
    if (of.length !== 2 || of.filter(({ flags }) => (flags & ACCESS) === WRITE_ONLY).length !== 1) return [];
    const waits = of.filter(({ flags }) => (flags & NONBLOCK) === 0).length;
    return [{ target, first: of[0]?.fd ?? 0, isBlocking: waits === 2, isNonblocking: waits === 0 }];
  });
}

function targetsOfParent(): ReadonlySet<string> {
  return new Set(descriptorsOf(String(process.ppid)).map(({ target }) => target));
}

/** Returns the descriptors of a process, sorted by number; empty if they cannot be read. */
function descriptorsOf(pid: string): Descriptor[] {
  let names: string[];
  try {
    names = readdirSync(`/proc/${pid}/fd`);
  } catch {
    return [];
  }
  const found = names.flatMap((name) => {
    try {
      const target = readlinkSync(`/proc/${pid}/fd/${name}`);
      const info = readFileSync(`/proc/${pid}/fdinfo/${name}`, "latin1");
      return [{ fd: Number(name), target, flags: Number.parseInt(/^flags:\s*([0-7]+)/m.exec(info)?.[1] ?? "0", 8) }];
    } catch {
      // The descriptor was closed since the folder was listed. Usually, this is the descriptor through which the folder
      // itself was read.
      return [];
    }
  });
  return found.toSorted((a, b) => a.fd - b.fd);
}

/** Returns the exact words of this process's command line, including Node's own; `undefined` if there is no `/proc`. */
export function argumentBytes(): readonly Buffer[] | undefined {
  return wordsIn("/proc/self/cmdline");
}

/** Returns the initial environment of this process, as `NAME=value`; `undefined` if there is no `/proc`. */
export function environmentBytes(): readonly Buffer[] | undefined {
  return wordsIn("/proc/self/environ");
}

/** Returns the words of a file in which each word ends with a zero byte. */
function wordsIn(path: string): readonly Buffer[] | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    return undefined;
  }
  const words: Buffer[] = [];
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(0, from);
    const to = end < 0 ? bytes.length : end;
    words.push(bytes.subarray(from, to));
    from = to + 1;
  }
  return words;
}
