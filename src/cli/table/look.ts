import type { ArgumentSpec, CommandSpec } from "./spec.ts";

const GROUP = "Look";

const ONE_PATH: ArgumentSpec = { name: "<file>", description: "a path, also of a deleted file", completes: "path" };

export const STATUS: CommandSpec = {
  name: "status",
  group: GROUP,
  summary: "what is recorded, what changed since, what is not covered",
  args: [],
  options: [],
  examples: [
    { line: "chronicle status", why: "where things stand" },
    { line: "chronicle status --json", why: "for programs" },
  ],
};

export const LIST: CommandSpec = {
  name: "list",
  group: GROUP,
  summary: "recent work, and how to take it back or go back to before it",
  details: "A bare `chronicle` does the same.",
  args: [],
  options: [
    { flags: "--snapshots", description: "list snapshots instead" },
    { flags: "--limit <n>", description: "at most so many lines, the newest (default 20; 0: all)", value: "count" },
  ],
  examples: [
    { line: "chronicle list", why: "what happened lately" },
    { line: "chronicle list --snapshots", why: "every snapshot by number" },
  ],
};

export const LOG: CommandSpec = {
  name: "log",
  group: GROUP,
  summary: "the events, as they stand in the log",
  details:
    "In the order of the log. Text shows the newest 50 events, or with --from the first 50 from there on; --limit 0 shows " +
    "all. JSON gives all unless --limit says otherwise.",
  args: [],
  options: [
    { flags: "--from <seq>", description: "first event", value: "count" },
    { flags: "--to <seq>", description: "last event", value: "count" },
    {
      flags: "--limit <n>",
      description: "the newest so many; with --from the first from there on (0: all)",
      value: "count",
    },
    { flags: "--reverse", description: "newest first" },
    { flags: "--prefix <text>", description: "only records whose id begins with this, like file:src/" },
  ],
  examples: [
    { line: "chronicle log --prefix file:src/ --reverse", why: "what happened below src, newest first" },
    { line: "chronicle log --from 100 --to 120 --json", why: "for programs" },
  ],
};

export const SHOW: CommandSpec = {
  name: "show",
  group: GROUP,
  summary: "one session: its command, times, exit code, roots and changes",
  args: [{ name: "[session]", description: "an id or its unique prefix (default: the latest)", completes: "session" }],
  options: [{ flags: "-p, --patch", description: "also what it changed, as unified text" }],
  examples: [
    { line: "chronicle show", why: "the latest session" },
    { line: "chronicle show 01JD --json", why: "for programs" },
  ],
};

export const SESSIONS: CommandSpec = {
  name: "sessions",
  group: GROUP,
  summary: "all sessions, newest first",
  args: [],
  options: [{ flags: "--limit <n>", description: "at most so many (0: all)", value: "count" }],
  examples: [{ line: "chronicle sessions", why: "who ran what, and how it ended" }],
};

export const DIFF: CommandSpec = {
  name: "diff",
  group: GROUP,
  summary: "what differs between two moments",
  details:
    "Without moments: between the latest snapshot and the disk. With one: between it and the disk. A moment is a " +
    "snapshot's number, seq:N, an id or its prefix, a name, latest, baseline, now, a time (10m, 2026-01-31T12:00), " +
    "or X~2: two snapshots before X. git apply takes the text of -p, and refuses all of it where a file is in it whose " +
    "content no text shows (binary, too large, a secret).",
  usage: "[options] [from [to]] [--] [path...]",
  args: [
    { name: "[from]", description: "a moment (default: latest)", completes: "moment" },
    { name: "[to]", description: "a moment (default: now, the disk)", completes: "moment" },
    {
      name: "[path...]",
      description: "only these; write -- before them where no moments are given",
      completes: "path",
    },
  ],
  options: [
    { flags: "-p, --patch", description: "unified text" },
    { flags: "--stat", description: "added and removed lines of each file" },
  ],
  examples: [
    { line: "chronicle diff", why: "since the latest snapshot" },
    { line: "chronicle diff 10m -p -- src", why: "the last ten minutes below src, as text" },
    { line: "chronicle diff 3 5 --stat", why: "between two snapshots" },
  ],
};

export const MANIFEST: CommandSpec = {
  name: "manifest",
  group: GROUP,
  summary: "every path at a moment, with hash, size and permissions",
  args: [{ name: "[moment]", description: "a moment (default: latest)", completes: "moment" }],
  options: [],
  examples: [
    { line: "chronicle manifest 0", why: "the baseline" },
    { line: "chronicle manifest latest --json", why: "for programs" },
  ],
};

export const HISTORY: CommandSpec = {
  name: "history",
  group: GROUP,
  summary: "the iterations of a file, deletions too",
  details: "Where no such path is recorded, paths with that file name are listed: so a deleted file is found again.",
  args: [ONE_PATH],
  options: [],
  examples: [
    { line: "chronicle history src/main.ts", why: "every recorded state" },
    { line: "chronicle history main.ts", why: "find it by its name" },
  ],
};

export const CAT: CommandSpec = {
  name: "cat",
  group: GROUP,
  summary: "the content of a file at an iteration",
  args: [{ ...ONE_PATH, name: "<file[@n]>", description: "a path, and the iteration (default: the latest)" }],
  options: [
    {
      flags: "-n, --iteration <n>",
      description: "the iteration; the path is then taken literally",
      value: "count",
    },
  ],
  examples: [
    { line: "chronicle cat notes.txt", why: "the latest state, also of a deleted file" },
    { line: "chronicle cat notes.txt@3 > old.txt", why: "the third iteration" },
  ],
};

export const EXPLAIN: CommandSpec = {
  name: "explain",
  group: GROUP,
  summary: "why a path is or is not tracked",
  args: [{ name: "<path...>", description: "paths, existing or not", completes: "path" }],
  options: [],
  examples: [{ line: "chronicle explain dist/app.js", why: "names the rule and the line where it stands" }],
};
