import type { Entry, Transcript } from "./transcript.ts";

/** A difference that even two runs of the same program have, although `preload.ts` fixes everything that it can fix. */
interface NotCompared {
  readonly in: "text" | "header" | "file";
  /**
   * With `text`, every match in an answer or a file is replaced by `as`. With `header` and `file`, headers with such a
   * name and files with such a path are not compared.
   */
  readonly found: RegExp;
  readonly as?: string;
  readonly why: string;
}

const NOT_COMPARED: readonly NotCompared[] = [
  {
    ...{ in: "text", found: /(\\*"seconds\\*":\s*)[\d.]+/g, as: "$1null" },
    why: "the duration of a verify or a rebuild is measured with a clock that cannot be set",
  },
  {
    ...{ in: "text", found: /(\\*"anchored_to\\*":\s*)\d+/g, as: "$1null" },
    why: "a long-lived process signs the head a moment after the commit; the last signed head is among the files",
  },
  {
    ...{ in: "text", as: "" },
    found: /(?<=\\"head\\": )\{\\n\s+\\"seq\\": \d+,\\n\s+\\"hash\\": \\"[0-9a-f]{64}\\"\\n\s+\}(?=,\\n\s+\\"by\\")/g,
    why: "the signed head in the note about a pruning, for the same reason",
  },
  {
    ...{ in: "text", found: /hook-[0-9a-f]{12}\.blob/g, as: "hook-N.blob" },
    why: "the name of the hook's image depends on the built code",
  },
  {
    in: "header",
    found: /^(date|connection|keep-alive)$/,
    why: "Node writes these headers; they depend on the connection",
  },
  {
    in: "header",
    found: /^content-length$/,
    why: "the length depends on the digits of `seconds`; the body itself is compared",
  },
  {
    ...{ in: "file", found: /(^|\/)index\.db(-wal|-shm)?$/ },
    why: "the index is made from the log, in pages that SQLite lays out; the answers show its content",
  },
  {
    ...{ in: "file", found: /(^|\/)(lock|gc|follower)\.db(-wal|-shm|\.\d+(-wal|-shm)?)?$/ },
    why: "these databases serve as locks, and have no content",
  },
  {
    ...{ in: "file", found: /(^|\/)stat\.cache(\.watch.*)?$/ },
    why: "the stat cache has inodes and times of changes",
  },
  { in: "file", found: /^store\/cache\//, why: "compiled code, and cached answers that can be found again" },
  { in: "file", found: /^run\//, why: "sockets and diagnostics of processes, and files of the play itself" },
];

/**
 * Matches a record with the hash of a list of omitted paths. The list has inodes and times of changes, so its hash
 * differs in every play, and with it the hashes of all later events. In a history with such a record, hashes are
 * therefore compared by the order in which they first occur, and sizes of stored data are not compared.
 */
const UNLIKE = /"omitted_before\\*":/;
const SIZES = /([a-z_]*bytes\\*":\s*)\d+|\d+ bytes(?=, )|\d+(\.\d+)? (B|KiB)\b/g;

/** Returns true if the header with this name, or the file with this path, is compared. */
export function isCompared(where: "header" | "file", name: string): boolean {
  return !NOT_COMPARED.some((one) => one.in === where && one.found.test(name));
}

/**
 * A difference that is accepted, from the file of `--accepted`. In the answers and files of both programs, every match
 * of the regular expression `found` is replaced by `as`. `why`: the reason, for readers of the file.
 */
export interface Accepted {
  readonly found: string;
  readonly as: string;
  readonly why: string;
}

/** A place where two transcripts differ. */
export interface Difference {
  /** The kind of the difference. The same difference has the same kind in every history. */
  readonly kind: string;
  readonly step: number;
  readonly call: string;
  readonly old: string;
  readonly new: string;
}

const MOST_SHOWN = 600;

/**
 * Compares the transcripts of two programs for one history. Returns the first difference of each answer, and the first
 * difference of the files at the end.
 *
 * Ends at the first entry in which the programs got different requests, because a different history follows. If hashes
 * are compared by their values, ends after the first difference, because that changes all later hashes.
 */
export function compare(old: Transcript, fresh: Transcript, accepted: readonly Accepted[]): Difference[] {
  const isExact = accepted.length === 0 && !UNLIKE.test(JSON.stringify([old.files, fresh.files]));
  const [before, after] = [new Reader(isExact, accepted), new Reader(isExact, accepted)];
  const all: Difference[] = [];
  const note = (entry: Entry | undefined, found: Leaf | undefined): void => {
    // After a first difference, hashes differ only because of that.
    if (found === undefined || (all.length > 0 && isOfHashes(found))) return;
    all.push({ ...named(entry, found), step: entry?.step ?? -1, call: entry?.call ?? "the files at the end" });
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

/** Converts the entries of one transcript to texts, in order, without the differences that are not compared. */
class Reader {
  readonly #isExact: boolean;
  readonly #accepted: readonly Accepted[];
  /** Hash or signature → the name that replaces it. The names are numbered in the order of the first occurrences. */
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
    // A record that may differ changes all later hashes. Hashes are therefore compared by the order in which they first
    // occur.
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

/** Returns a part of each of two texts, which begins a little before their first difference. */
function around(old: string, fresh: string): [string, string] {
  let same = 0;
  while (same < old.length && old[same] === fresh[same]) same += 1;
  const from = Math.max(0, same - 60);
  return [old.slice(from, from + MOST_SHOWN), fresh.slice(from, from + MOST_SHOWN)];
}

/** Returns the beginning of a text, without hashes, ids and numbers, because these differ between histories. */
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
  // A hash differs only because something else differs. So other differences come first.
  return all.find((one) => !isOfHashes(one)) ?? all[0] ?? { path: "", old: a, new: b };
}

function parsed(text: string): unknown {
  return text === "" ? undefined : JSON.parse(text);
}

const HASH = /^([0-9a-f]{64}|hash-\d+)$/;

function isOfHashes({ old, new: fresh }: Leaf): boolean {
  return HASH.test(old) && HASH.test(fresh);
}

/** Yields the places at which two values differ. A missing value is shown as `(nothing)`. */
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
