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

/** Is it a header, or a file, that is compared? */
export function isCompared(where: "header" | "file", name: string): boolean {
  return !NOT_COMPARED.some((one) => one.in === where && one.found.test(name));
}

/** A text of the old program that the new one has changed on purpose. */
export interface Accepted {
  readonly old: string;
  readonly new: string;
  readonly why: string;
}

/** Where two transcripts first differ. */
export interface Difference {
  /** Names its kind: the same for each history that meets it. */
  readonly kind: string;
  readonly step: number;
  readonly call: string;
  readonly old: string;
  readonly new: string;
}

const MOST_SHOWN = 600;

/** Compares what two programs did with one history. `undefined`: the same. */
export function compare(old: Transcript, fresh: Transcript, accepted: readonly Accepted[]): Difference | undefined {
  const length = Math.max(old.entries.length, fresh.entries.length);
  for (let i = 0; i < length; i += 1) {
    const [a, b] = [old.entries[i], fresh.entries[i]];
    const found = differ(a, b, accepted);
    if (found !== undefined) {
      const entry = a ?? b;
      return { ...named(entry, found), step: entry?.step ?? -1, call: entry?.call ?? "" };
    }
  }
  const files = differ(old.files, fresh.files, accepted);
  return files === undefined ? undefined : { ...named(undefined, files), step: -1, call: "what lies on disk" };
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

function differ(old: unknown, fresh: unknown, accepted: readonly Accepted[]): Leaf | undefined {
  const [a, b] = [normal(old, accepted), normal(fresh, [])];
  if (a === b) return undefined;
  const all = [...leaves(parsed(a), parsed(b), "")];
  // A hash differs because something else does.
  return all.find((one) => !HASH.test(one.old) || !HASH.test(one.new)) ?? all[0] ?? { path: "", old: a, new: b };
}

function normal(value: unknown, accepted: readonly Accepted[]): string {
  let text = JSON.stringify(value) ?? "";
  for (const one of NOT_COMPARED) if (one.as !== undefined) text = text.replace(one.found, one.as);
  for (const one of accepted) text = text.replace(new RegExp(one.old, "g"), one.new);
  return text;
}

function parsed(text: string): unknown {
  return text === "" ? undefined : JSON.parse(text);
}

const HASH = /^[0-9a-f]{64}$/;

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
