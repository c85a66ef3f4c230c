import type { Entry, Transcript } from "./transcript.ts";

/** What two runs of one program differ in, though everything is fixed that can be: see `preload.ts` for that. */
interface NotCompared {
  readonly in: "text" | "header" | "file";
  /** In a text it is replaced by `as`; a header of that name, or a file of that path, is left out. */
  readonly found: RegExp;
  readonly as?: string;
  readonly why: string;
}

const NOT_COMPARED: readonly NotCompared[] = [
  {
    ...{ in: "text", found: /(\\*"seconds\\*":\s*)[\d.]+/g, as: "$1null" },
    why: "how long a verify or a rebuild took is measured, by no clock that can be set",
  },
  {
    ...{ in: "text", found: /(\\*"anchored_to\\*":\s*)\d+/g, as: "$1null" },
    why: "a process that stays signs the head a moment after the commit; its last one is among the files",
  },
  {
    ...{ in: "text", as: "" },
    found: /(?<=\\"head\\": )\{\\n\s+\\"seq\\": \d+,\\n\s+\\"hash\\": \\"[0-9a-f]{64}\\"\\n\s+\}(?=,\\n\s+\\"by\\")/g,
    why: "the signed head in the note of a pruning: in a process that stays, as above",
  },
  {
    ...{ in: "text", found: /hook-[0-9a-f]{12}\.blob/g, as: "hook-N.blob" },
    why: "the image of the hook is named after the code that was built",
  },
  { in: "header", found: /^(date|connection|keep-alive)$/, why: "written by Node, with the time of the connection" },
  { in: "header", found: /^content-length$/, why: "the body is compared; `seconds` may be longer or shorter in it" },
  {
    ...{ in: "file", found: /(^|\/)index\.db(-wal|-shm)?$/ },
    why: "made from the log, in pages that SQLite lays out; what they say is in the answers",
  },
  {
    ...{ in: "file", found: /(^|\/)(lock|gc|follower)\.db(-wal|-shm|\.\d+(-wal|-shm)?)?$/ },
    why: "databases that serve as locks; they hold nothing",
  },
  {
    ...{ in: "file", found: /(^|\/)stat\.cache(\.watch.*)?$/ },
    why: "inodes and times of change, by which a look is spared",
  },
  { in: "file", found: /^store\/cache\//, why: "compiled code, and answers that are found out again" },
  { in: "file", found: /^run\//, why: "sockets and diagnostics of processes, and marks of the play itself" },
];

/**
 * A history with such a record names a content that no two plays have alike: what was left out, with inodes and times of change.
 * Its hash is in the chain of events: hashes are then compared by where they come again, and sizes of what is stored are not.
 */
const UNLIKE = /"omitted_before\\*":/;
const SIZES = /([a-z_]*bytes\\*":\s*)\d+|\d+ bytes(?=, )|\d+(\.\d+)? (B|KiB)\b/g;

/** Is it a header, or a file, that is compared? */
export function isCompared(where: "header" | "file", name: string): boolean {
  return !NOT_COMPARED.some((one) => one.in === where && one.found.test(name));
}

/** What may differ: texts that match are the same for both programs. Read from a file, which says why. */
export interface Accepted {
  readonly found: string;
  readonly as: string;
  readonly why: string;
}

/** A place where two transcripts differ. */
export interface Difference {
  /** Names its kind: the same for each history that meets it. */
  readonly kind: string;
  readonly step: number;
  readonly call: string;
  readonly old: string;
  readonly new: string;
}

const MOST_SHOWN = 600;

/**
 * Compares what two programs did with one history: of each answer, and of what lay on disk in the end, the first difference.
 * Ends where the two were asked for different things, because what follows is another history; and after the first difference
 * where hashes are compared as they are, because it changes all that follow.
 */
export function compare(old: Transcript, fresh: Transcript, accepted: readonly Accepted[]): Difference[] {
  const isExact = accepted.length === 0 && !UNLIKE.test(JSON.stringify([old.files, fresh.files]));
  const [before, after] = [new Reader(isExact, accepted), new Reader(isExact, accepted)];
  const all: Difference[] = [];
  const note = (entry: Entry | undefined, found: Leaf | undefined): void => {
    // A hash differs because of something before it.
    if (found === undefined || (all.length > 0 && isOfHashes(found))) return;
    all.push({ ...named(entry, found), step: entry?.step ?? -1, call: entry?.call ?? "what lies on disk" });
  };
  const length = Math.max(old.entries.length, fresh.entries.length);
  for (let i = 0; i < length; i += 1) {
    const [a, b] = [old.entries[i], fresh.entries[i]];
    note(a ?? b, differ(before.read(a), after.read(b)));
    if (a?.call !== b?.call || (isExact && all.length > 0)) return all;
  }
  note(undefined, differ(before.read(old.files), after.read(fresh.files)));
  return all;
}

/** Reads a transcript from its beginning, without what is not compared. */
class Reader {
  readonly #isExact: boolean;
  readonly #accepted: readonly Accepted[];
  /** Hashes and signatures in the order in which they first come. */
  readonly #names = new Map<string, string>();

  constructor(isExact: boolean, accepted: readonly Accepted[]) {
    this.#isExact = isExact;
    this.#accepted = accepted;
  }

  read(value: unknown): string {
    let text = JSON.stringify(value) ?? "";
    for (const one of NOT_COMPARED) if (one.as !== undefined) text = text.replace(one.found, one.as);
    if (this.#isExact) return text;
    text = text.replace(SIZES, "$1null");
    for (const one of this.#accepted) text = text.replace(new RegExp(one.found, "g"), one.as);
    // A record that may differ makes all hashes behind it others: those are compared by where they come again.
    const names = (_: string, held: unknown): unknown =>
      typeof held === "string"
        ? held.replace(/[0-9a-f]{64}|[A-Za-z0-9+/]{43,}={0,2}/g, (hash) => this.#nameOf(hash))
        : held;
    return text === "" ? "" : JSON.stringify(JSON.parse(text, names));
  }

  #nameOf(hash: string): string {
    const name = this.#names.get(hash) ?? `hash-${this.#names.size + 1}`;
    this.#names.set(hash, name);
    return name;
  }
}

interface Leaf {
  readonly path: string;
  readonly old: string;
  readonly new: string;
}

function named(entry: Entry | undefined, { path, ...texts }: Leaf): Pick<Difference, "kind" | "old" | "new"> {
  const [old, fresh] = around(texts.old, texts.new);
  const call = (entry?.call ?? "on disk").split(/[ /?]/, 2).join(" ");
  const where = path.replace(/\d+/g, "N").replace(/h\d+/g, "");
  return { kind: `${call} ${where}: ${masked(old)} → ${masked(fresh)}`, old, new: fresh };
}

/** Two texts from a little before their first difference on. */
function around(old: string, fresh: string): [string, string] {
  let same = 0;
  while (same < old.length && old[same] === fresh[same]) same += 1;
  const from = Math.max(0, same - 60);
  return [old.slice(from, from + MOST_SHOWN), fresh.slice(from, from + MOST_SHOWN)];
}

/** Without what differs from history to history. */
function masked(text: string): string {
  return text
    .slice(0, 140)
    .replace(/[0-9a-f]{6,}(-[0-9a-f]+)*/g, "#")
    .replace(/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, "#")
    .replace(/\d+/g, "N")
    .replace(/\s+/g, " ");
}

function differ(a: string, b: string): Leaf | undefined {
  if (a === b) return undefined;
  const all = [...leaves(parsed(a), parsed(b), "")];
  // A hash differs because something else does.
  return all.find((one) => !isOfHashes(one)) ?? all[0] ?? { path: "", old: a, new: b };
}

function parsed(text: string): unknown {
  return text === "" ? undefined : JSON.parse(text);
}

const HASH = /^([0-9a-f]{64}|hash-\d+)$/;

function isOfHashes({ old, new: fresh }: Leaf): boolean {
  return HASH.test(old) && HASH.test(fresh);
}

/** The places at which two values differ; what is missing counts as `(nothing)`. */
function* leaves(old: unknown, fresh: unknown, path: string): Generator<Leaf> {
  if (isPlain(old) && isPlain(fresh)) {
    for (const key of new Set([...Object.keys(old), ...Object.keys(fresh)]))
      yield* leaves(old[key], fresh[key], `${path}.${key}`);
    return;
  }
  const [a, b] = [shown(old), shown(fresh)];
  if (a !== b) yield { path, old: a, new: b };
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function shown(value: unknown): string {
  if (value === undefined) return "(nothing)";
  return typeof value === "string" ? value : JSON.stringify(value);
}
