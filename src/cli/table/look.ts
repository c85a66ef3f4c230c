import type { CommandSpec, ArgumentSpec } from "./spec.ts";
import { ASKING } from "./work.ts";

const PROVE_GROUP = "Prove";

const ONE_PATH: ArgumentSpec = { name: "<file>", description: "a path, also of a deleted file", completes: "path" };

const LOOK_GROUP = "Look";

export const STATUS: CommandSpec = {
  name: "status",
  group: LOOK_GROUP,
  summary: "what is recorded, what changed since, what is not covered",
  args: [],
  options: [],
  examples: [
    { line: "chronicle status", why: "the present state" },
    { line: "chronicle status --json", why: "for programs" },
  ],
};

export const LIST: CommandSpec = {
  name: "list",
  group: LOOK_GROUP,
  summary: "recent work, and the commands that undo it or restore the state before it",
  details:
    "A bare `chronicle` does the same. Beside a snapshot it counts the paths that were changed outside of all work with " +
    "a line of its own (a run, an undo, an agent's action); `--snapshots` counts all paths that were touched since the " +
    "snapshot before, also where they are as they were.",
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
  group: LOOK_GROUP,
  summary: "the events, as the log holds them",
  details:
    "In the order of the log. Text shows the newest 50 events, or with --from the first 50 from there on; --limit 0 shows " +
    "all. JSON gives all unless --limit says otherwise.",
  args: [],
  options: [
    { flags: "--from <seq>", description: "first event", value: "count" },
    { flags: "--to <seq>", description: "last event", value: "count" },
    {
      flags: "--limit <n>",
      description: "how many: the newest, or with --from the first from there on (0: all)",
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
  group: LOOK_GROUP,
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
  group: LOOK_GROUP,
  summary: "all sessions, newest first",
  args: [],
  options: [{ flags: "--limit <n>", description: "at most so many (0: all)", value: "count" }],
  examples: [{ line: "chronicle sessions", why: "who ran what, and how it ended" }],
};

export const DIFF: CommandSpec = {
  name: "diff",
  group: LOOK_GROUP,
  summary: "what differs between two moments",
  details:
    "Without moments: between the latest snapshot and the disk. With one: between it and the disk. A moment is a " +
    "snapshot's number, seq:N, an id or its prefix, a name, latest, baseline, now, a time (10m, " +
    "2026-01-31T12:00), or X~2: two snapshots before X. git apply takes the text of -p. It refuses all of it if " +
    "the text names a file whose content cannot be shown (binary, too large, a secret). Paths that could not be " +
    "recorded now, or at one of the moments, cannot be compared: they are listed, and the exit code is then 1.",
  usage: "[options] [from [to]] [--] [path...]",
  args: [
    { name: "[from]", description: "a moment (default: latest)", completes: "moment" },
    { name: "[to]", description: "a moment (default: now, the disk)", completes: "moment" },
    {
      name: "[path...]",
      description: "only these; write -- before them if no moment is given",
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
  group: LOOK_GROUP,
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
  group: LOOK_GROUP,
  summary: "the iterations of a file, deletions too",
  details: "If no such path is recorded, all recorded paths with that file name are listed, also deleted ones.",
  args: [ONE_PATH],
  options: [],
  examples: [
    { line: "chronicle history src/main.ts", why: "every recorded state" },
    { line: "chronicle history main.ts", why: "find it by its name" },
  ],
};

export const CAT: CommandSpec = {
  name: "cat",
  group: LOOK_GROUP,
  summary: "the content of a file at an iteration",
  args: [
    {
      ...ONE_PATH,
      name: "<file[@n]>",
      description: "a path, and the iteration (default: the latest); a path called so if only that is recorded",
    },
  ],
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
  group: LOOK_GROUP,
  summary: "why a path is or is not tracked",
  args: [{ name: "<path...>", description: "paths, existing or not", completes: "path" }],
  options: [],
  examples: [{ line: "chronicle explain dist/app.js", why: "names the rule and its line" }],
};

export const VERIFY: CommandSpec = {
  name: "verify",
  group: PROVE_GROUP,
  summary: "recompute everything and list every problem",
  details:
    "Changes nothing. Reads all contents of the store, also those that only its other workspaces need. Exits 4 if " +
    "something is damaged. With --repair-from, each content that is missing or " +
    "damaged is looked for by its SHA-256: among the files below a folder (it may be the workspace's own), in " +
    "another store, or at a server (`origin`: that of the origin which a replica follows; the token is given as " +
    "with --remote). A content that is found is stored again, and damaged files of the store are set aside until " +
    "the next gc. The history is not changed. Exits 0 only if nothing is damaged afterwards.",
  args: [],
  options: [
    { flags: "--quick", description: "log, links, root and heads only; no contents" },
    {
      flags: "--expect <file>",
      description:
        "the earlier output of head (-: stdin): also finds that the log was cut, replaced or rolled back since",
      completes: "path",
    },
    {
      flags: "--repair-from <place>",
      description: "replace bad contents from a folder, a store, a server's URL[#WORKSPACE], or origin",
      repeated: true,
      completes: "path",
      localOnly: {
        why: "a store is repaired on its own machine, not through a server",
        instead: "run it there, or with --remote '' for the store of this machine",
      },
    },
  ],
  examples: [
    { line: "chronicle verify", why: "check all" },
    { line: "chronicle verify --repair-from . --repair-from /mnt/backup/chronicle", why: "replace damaged contents" },
    {
      line: "chronicle head > head.txt; chronicle verify --expect head.txt",
      why: "check the history against it later",
    },
  ],
};

export const HEAD: CommandSpec = {
  name: "head",
  group: PROVE_GROUP,
  summary: "the signed head, which commits to the whole history",
  details:
    "A signed note (C2SP checkpoint). Keep it in another place: `verify --expect` checks the log against it. If " +
    "the history is not signed (the kept head or the key is missing or belongs to another history), no head is " +
    "printed, and the exit code is 6. If the log contradicts the kept head (it was cut or replaced, or the store " +
    "was restored from an older copy), nothing can be recorded. In both cases --accept continues from the present " +
    "log: an event names the log's end and the old head, whose note is kept. Without a terminal it needs --yes.",
  args: [],
  options: [
    {
      flags: "--accept",
      description: "continue from the present log, with a new head: for people",
      localOnly: { why: "--accept is about a store of this machine", instead: "run it there, in a terminal" },
    },
    { flags: "-y, --yes", description: "do not ask" },
  ],
  examples: [
    { line: "chronicle head > head.txt", why: "keep it" },
    { line: "chronicle head --json", why: "with its parts and the key" },
    { line: "chronicle head --accept", why: "after the store was put back from an older backup" },
  ],
};

export const ACTIONS: CommandSpec = {
  name: "actions",
  group: "Look",
  summary: "the actions of agents' tools, newest first; one action with its differences to now",
  details:
    "An action is one tool call. The paths that it was about to touch were recorded before it ran. Text shows the " +
    "last 20; JSON gives all unless --limit says otherwise.",
  args: [{ name: "[action]", description: "an id, its beginning, or the agent's own id of the call" }],
  options: [
    { flags: "--session <id>", description: "only this session's (an id or its beginning)" },
    { flags: "--turn <id>", description: "only this turn's (an id or its beginning)" },
    { flags: "--limit <n>", description: "at most so many, the newest (default 20; 0: all)", value: "count" },
  ],
  examples: [
    { line: "chronicle actions", why: "what was done lately" },
    { line: "chronicle actions 3f2a9c", why: "one action, compared with the present state" },
    { line: "chronicle changes --turn last", why: "what the last turn changed" },
  ],
};

export const ROLLBACK: CommandSpec = {
  name: "rollback",
  group: "Go back",
  summary: "make the files of one action as they were before it",
  details:
    "Later changes of these files are reverted too, whoever made them: the present state is recorded first, and " +
    "`chronicle undo` restores it. To take back only what the action did, and leave later work, use `chronicle " +
    "undo --action ID`. On a terminal it asks as undo does, and always with --outside.",
  args: [{ name: "<action>", description: "an id, its beginning, or the agent's own id of the call" }],
  options: [
    { flags: "--dry-run", description: "say what would be done or refused, change nothing (exit code as without it)" },
    { flags: "--force", description: "leave what cannot be changed and do the rest" },
    {
      flags: "--outside <path>",
      description: "only this path outside of the workspace (absolute; may be repeated)",
      repeated: true,
    },
    ...ASKING,
  ],
  examples: [
    { line: "chronicle rollback 3f2a9c --dry-run", why: "see it first" },
    { line: "chronicle rollback 3f2a9c", why: "as it was before that tool call" },
  ],
};
