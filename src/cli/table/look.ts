import { RECENT_KINDS } from "../../api/recent-api.ts";
import type { CommandSpec, ArgumentSpec } from "./spec.ts";
import { TURN_OPTIONS } from "./back.ts";
import { ASKING, NO_RENAMES } from "./work.ts";

const PROVE_GROUP = "Prove";

const ONE_PATH: ArgumentSpec = { name: "<file>", description: "a path, also of a deleted file", completes: "path" };

const LOOK_GROUP = "Look";

export const STATUS: CommandSpec = {
  name: "status",
  group: LOOK_GROUP,
  summary: "what is recorded, what changed since, what is not covered",
  details:
    "A renamed file is listed as one path if at least half of its lines are the same. A modified text file is " +
    "listed with the numbers of added and removed lines. Lines are counted in at most 100 files; sizes are shown " +
    "for the others.",
  args: [],
  options: [],
  examples: [
    { line: "chronicle status", why: "the present state" },
    { line: "chronicle status --json", why: "for programs" },
  ],
};

export const LIST: CommandSpec = {
  name: "list",
  paged: true,
  group: LOOK_GROUP,
  summary: "everything that happened, newest first, and the commands that undo it or restore the state before it",
  details:
    "`chronicle` without a command does the same. A line is a run, the turn of an agent, an action outside of " +
    "turns, a burst of edits (without a pause of more than five minutes), an undo or another operation, a snapshot, " +
    "or what a sync brought. Edits that nothing recorded as they were made are listed with two times: when they " +
    "were found, and when the whole folder had last been looked at before that. Added and removed lines are counted " +
    "if that is quick, and never in secrets. Beneath a run or a turn, its changes of the state of git are listed. " +
    "With `--snapshots`, the number counts all paths that were touched since the previous snapshot, including paths " +
    "that are again as they were. Several filters must all match.",
  args: [],
  options: [
    { flags: "--snapshots", description: "list snapshots instead" },
    { flags: "--actions", description: "also list the actions of turns and runs, and actions that changed nothing" },
    { flags: "--actor <name>", description: "only work of this actor: a name, or agent, sub-agent, person, command" },
    {
      flags: "--file <path>",
      description: "only work that changed this path, or a path beneath it",
      completes: "path",
    },
    { flags: "--since <moment>", description: "only work after a moment (10m, 3, seq:40)", completes: "moment" },
    {
      flags: "--kind <kind>",
      description: "only lines of this kind, such as turn, run or edit",
      completes: RECENT_KINDS,
    },
    { flags: "--session <id>", description: "only work of this session or run", completes: "session" },
    { flags: "--grep <text>", description: "only work with this text in its title, its command or its actions" },
    { flags: "--graph", description: "draw which work ran at the same time, a lane for each session or actor" },
    NO_RENAMES,
    { flags: "--limit <n>", description: "at most so many lines, the newest (default 20; 0: all)", value: "count" },
  ],
  examples: [
    { line: "chronicle list", why: "what happened lately" },
    { line: "chronicle list --actor claude --since 1h", why: "what one agent did in the last hour" },
    { line: "chronicle list --file src --actions", why: "who worked on src, action by action" },
    { line: "chronicle list --graph", why: "which agents worked at the same time" },
    { line: "chronicle list --snapshots", why: "every snapshot by number" },
  ],
};

export const LOG: CommandSpec = {
  name: "log",
  paged: true,
  group: LOOK_GROUP,
  summary: "the events, as the log holds them",
  details:
    "The events are in the order of the log. As text, the newest 50 events are shown; with --from, the first 50 " +
    "events from that event on are shown. --limit 0 shows all. As JSON, all events are given unless --limit is " +
    "given. With -S, log instead lists the changes that made a text occur more or less often in a file, newest " +
    "first. Each line has the time, the action, the actor, the number of occurrences before and after, and the path " +
    "with its iteration.",
  args: [
    { name: "[path]", description: "with -S: search only this file, or files beneath this folder", completes: "path" },
  ],
  options: [
    { flags: "--from <seq>", description: "the number (seq) of the first event to show", value: "count" },
    { flags: "--to <seq>", description: "the number (seq) of the last event to show", value: "count" },
    {
      flags: "--limit <n>",
      description: "show this many of the newest events, or with --from of the first ones from that event on (0: all)",
      value: "count",
    },
    { flags: "--reverse", description: "newest first" },
    { flags: "-S, --search <text>", description: "list the changes that added or removed this text (taken as it is)" },
    {
      flags: "--prefix <text>",
      description: "show only events of records whose id begins with this text, like file:src/",
    },
  ],
  examples: [
    { line: "chronicle log --prefix file:src/ --reverse", why: "what happened below src, newest first" },
    { line: "chronicle log -S parseConfig src", why: "who added or removed this name below src" },
    { line: "chronicle log --from 100 --to 120 --json", why: "for programs" },
  ],
};

export const SHOW: CommandSpec = {
  name: "show",
  paged: true,
  group: LOOK_GROUP,
  summary: "one session: its command, times, exit code, roots and changes",
  args: [{ name: "[session]", description: "an id or its unique prefix (default: the latest)", completes: "session" }],
  options: [{ flags: "-p, --patch", description: "also show what the session changed, as unified text" }, NO_RENAMES],
  examples: [
    { line: "chronicle show", why: "the latest session" },
    { line: "chronicle show 01JD --json", why: "for programs" },
  ],
};

export const SESSIONS: CommandSpec = {
  name: "sessions",
  paged: true,
  group: LOOK_GROUP,
  summary: "all sessions, newest first",
  args: [],
  options: [{ flags: "--limit <n>", description: "show at most this many (0: all)", value: "count" }],
  examples: [{ line: "chronicle sessions", why: "who ran what, and how it ended" }],
};

export const TURNS: CommandSpec = {
  name: "turns",
  paged: true,
  group: LOOK_GROUP,
  summary: "what you asked agents, newest first, and what they changed to answer",
  details:
    "Each line has a number for `chronicle rewind`, when you asked, whom, the turn's id, the first line of what you " +
    "asked, and what was changed. A turn that changed nothing, or that is undone, has no number. What you ask is " +
    "kept for thirty days, with secrets masked, and is shown to persons only. After `chronicle config recordPrompts " +
    "false`, what you ask is not kept.",
  args: [],
  options: [
    ...TURN_OPTIONS,
    { flags: "--limit <n>", description: "show at most this many (default 20; 0: all)", value: "count" },
  ],
  examples: [
    { line: "chronicle turns", why: "what did I ask, and what did it do?" },
    { line: "chronicle turns --actor codex --json", why: "one agent, for programs" },
  ],
};

export const DIFF: CommandSpec = {
  name: "diff",
  paged: true,
  group: LOOK_GROUP,
  summary: "what differs between two moments",
  details:
    "Without a moment, compares the latest snapshot with the disk. With one moment, compares that moment with the " +
    "disk. A moment is a snapshot's number, seq:N, an id or its prefix, a name, latest, baseline, now, a time (10m, " +
    "2026-01-31T12:00), or X~2 (two snapshots before X). `git apply` accepts the text of -p, but refuses the whole " +
    "text if it names a file whose content cannot be shown (because it is binary, too large, or a secret). A " +
    "renamed file is shown as one change if at least half of its lines are the same. Paths that could not be " +
    "recorded now, or at one of the moments, cannot be compared: they are listed, and the exit code is 1.",
  usage: "[options] [from [to]] [--] [path...]",
  args: [
    { name: "[from]", description: "a moment (default: latest)", completes: "moment" },
    { name: "[to]", description: "a moment (default: now, the disk)", completes: "moment" },
    {
      name: "[path...]",
      description: "compare only these paths; write -- before them if you give no moment",
      completes: "path",
    },
  ],
  options: [
    { flags: "-p, --patch", description: "unified text" },
    { flags: "--stat", description: "added and removed lines of each file" },
    NO_RENAMES,
  ],
  examples: [
    { line: "chronicle diff", why: "since the latest snapshot" },
    { line: "chronicle diff 10m -p -- src", why: "the last ten minutes below src, as text" },
    { line: "chronicle diff 3 5 --stat", why: "between two snapshots" },
  ],
};

export const MANIFEST: CommandSpec = {
  name: "manifest",
  paged: true,
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
  paged: true,
  group: LOOK_GROUP,
  summary: "the iterations of a file, including its deletions",
  details:
    "A file that was renamed is followed to its earlier paths if at least half of its lines stayed the same. If the " +
    "given path is not recorded, all recorded paths with that file name are listed, also deleted ones. As text, the " +
    "newest 100 iterations are shown; as JSON, all are given unless --limit is given. With -p, no " +
    "patch shows a secret. The total size of the patches is limited: in a very long history, the oldest patches are " +
    "left out, and a comment in their place says so.",
  args: [ONE_PATH],
  options: [
    { flags: "-p, --patch", description: "also show what each iteration changed, as unified text" },
    { flags: "--limit <n>", description: "at most so many, the newest (default 100; 0: all)", value: "count" },
  ],
  examples: [
    { line: "chronicle history src/main.ts", why: "every recorded state" },
    { line: "chronicle history -p src/main.ts", why: "with the changed lines of each" },
    { line: "chronicle history main.ts", why: "find it by its name" },
  ],
};

export const BLAME: CommandSpec = {
  name: "blame",
  paged: true,
  group: LOOK_GROUP,
  summary: "who wrote each line of a file, and when",
  details:
    "Each line is shown with the action or operation that wrote it (the beginning of its id), the actor, the turn " +
    "and the time. Edits on disk that are not recorded yet are among the lines. A renamed file is followed to its " +
    "earlier paths if at least half of its lines stayed the same. A column shows the earlier paths. Lines that undo " +
    "or restore brought back belong to whoever wrote them first. Lines that are older than the kept contents are " +
    "marked as such. The file may be deleted.",
  args: [ONE_PATH],
  options: [
    { flags: "-L, --lines <range>", description: "only these lines: 10, 10,20 (from, to), 10,+5 or 10," },
    { flags: "--at <moment>", description: "the file as it was at this moment", completes: "moment" },
  ],
  examples: [
    { line: "chronicle blame src/main.ts", why: "every line" },
    { line: "chronicle blame -L 10,20 src/main.ts --at 1h", why: "some lines, as they were an hour ago" },
    { line: "chronicle changes --action 3f2a9c -p", why: "the whole change behind a line" },
  ],
};

export const GREP: CommandSpec = {
  name: "grep",
  paged: true,
  group: LOOK_GROUP,
  summary: "the lines that match a pattern, now or at any time",
  details:
    "Searches the last recorded state, the state at a moment, or with --history all kept contents of any time. The " +
    "pattern is a JavaScript regular expression, and each line is searched by itself. With --history, the newest " +
    "lines come first, each with the change that added it (the action, by whom, when), and whether the line is " +
    "still there. If the pattern takes too long for a content, that content is named, and the exit code is 1.",
  args: [
    { name: "<pattern>", description: "a regular expression; write -- before a pattern that begins with -" },
    { name: "[path...]", description: "search only these files, and files beneath these folders", completes: "path" },
  ],
  options: [
    { flags: "--history", description: "search all kept contents of any time" },
    { flags: "--at <moment>", description: "search the state at this moment", completes: "moment" },
    { flags: "-i, --ignore-case", description: "treat upper and lower case alike" },
    { flags: "-F, --fixed", description: "take the pattern as plain text, and not as a regular expression" },
    { flags: "-l, --files", description: "show only the paths" },
    { flags: "--limit <n>", description: "show at most this many matches (default 1000; 0: all)", value: "count" },
  ],
  examples: [
    { line: "chronicle grep 'parse\\w*Config' src", why: "in the last recorded state" },
    { line: "chronicle grep --history -F 'timeout = 30'", why: "who brought or removed this line, ever" },
    { line: "chronicle grep -l TODO --at yesterday", why: "which files had one" },
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
      description:
        "a path, and perhaps @ and an iteration (default: the latest); if only a path with this whole name is " +
        "recorded, that path",
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

export const BISECT: CommandSpec = {
  name: "bisect",
  group: LOOK_GROUP,
  summary: "find the first recorded change after which a test fails",
  details:
    "The test passes if it exits with 0. It must pass at --from and fail at --to. Between them, bisect tests about " +
    "log2(n) of the n recorded changes. Each test runs twice, each time in a new copy of the files among the " +
    "temporary files; the folder itself is not touched. If the two runs disagree, the test is flaky, and bisect " +
    "says so. The exit code 125 means that the test cannot tell; the exit codes 126 and 127 of a shell mean the " +
    "same. Dependencies that are not recorded (node_modules, .venv, vendor and the like) are linked into each copy " +
    "from the folder, so a test can change them. Only recorded changes are tested. The test runs in the folder of " +
    "the copy that corresponds to the current folder.",
  usage: "[options] -- <test> [argument...]",
  args: [{ name: "<test...>", description: "a command and its arguments", completes: "command" }],
  options: [
    {
      flags: "--from <moment>",
      description: "a moment at which the test passes (default: baseline)",
      completes: "moment",
    },
    {
      flags: "--to <moment>",
      description: "a moment at which the test fails (default: the last recorded state)",
      completes: "moment",
    },
    {
      flags: "--link <path>",
      description: "link this path of the folder into each copy, too",
      repeated: true,
      completes: "path",
    },
    { flags: "--no-dependencies", description: "link no dependencies" },
    { flags: "-q, --quiet", description: "do not show the output of the test (by default it is shown on stderr)" },
  ],
  examples: [
    { line: "chronicle bisect -- npm test", why: "which change broke the tests?" },
    {
      line: "chronicle bisect --from 1h -q -- grep -q TODO src/main.ts",
      why: "which change of the last hour removed it?",
    },
  ],
  passThrough: true,
};

export const EXPLAIN: CommandSpec = {
  name: "explain",
  paged: true,
  group: LOOK_GROUP,
  summary: "why a path is or is not tracked",
  args: [{ name: "<path...>", description: "paths, existing or not", completes: "path" }],
  options: [],
  examples: [{ line: "chronicle explain dist/app.js", why: "names the rule, and the line that holds it" }],
};

export const VERIFY: CommandSpec = {
  name: "verify",
  group: PROVE_GROUP,
  summary: "recompute everything and list every problem",
  details:
    "Without --repair-from, verify changes nothing. It reads all contents of the store, also those that only " +
    "other workspaces of the store need, and exits with 4 if something is damaged. With --repair-from, verify " +
    "looks for each missing or damaged content by its SHA-256: among the files below a folder (which may be the " +
    "workspace's own folder), in another store, or at a server, whose token is given as with --remote. For a " +
    "replica, `origin` means the server of the origin that it follows. A content that is found is stored again, " +
    "and damaged files of the store are set aside until the next gc. The history is not changed. verify then " +
    "exits with 0 only if nothing is damaged afterwards.",
  args: [],
  options: [
    { flags: "--quick", description: "check only the log, its links, its root and its heads, and no contents" },
    {
      flags: "--expect <file>",
      description:
        "an earlier output of `chronicle head` (-: stdin); verify then also finds out if the log was cut, replaced " +
        "or rolled back since",
      completes: "path",
    },
    {
      flags: "--repair-from <place>",
      description: "replace bad contents with good ones from a folder, a store, a server (URL[#WORKSPACE]) or `origin`",
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
    "The head is printed as a signed note (C2SP checkpoint). Keep it in another place: `verify --expect` can " +
    "later check the log against it. If the history is not signed (the kept head or the key is missing or " +
    "belongs to another history), no head is printed, and the exit code is 6. If the log contradicts the kept " +
    "head (it was cut or replaced, or the store was restored from an older copy), nothing can be recorded. In " +
    "both cases, --accept continues from the present log: an event names the end of this log and the old head, " +
    "and the note of the old head is kept. Without a terminal, --accept needs --yes.",
  args: [],
  options: [
    {
      flags: "--accept",
      description: "continue from the present log with a new head; only a person may do this",
      localOnly: { why: "--accept is about a store of this machine", instead: "run it there, in a terminal" },
    },
    { flags: "-y, --yes", description: "do not ask" },
  ],
  examples: [
    { line: "chronicle head > head.txt", why: "keep it" },
    { line: "chronicle head --json", why: "the parts of the head, and the key" },
    { line: "chronicle head --accept", why: "after the store was put back from an older backup" },
  ],
};

export const ACTIONS: CommandSpec = {
  name: "actions",
  paged: true,
  group: "Look",
  summary: "list the actions of agents' tools, newest first, or compare one action with the present state",
  details:
    "An action is one tool call. The paths that it was about to touch were recorded before it ran. As text, the " +
    "newest 20 are shown; as JSON, all are given unless --limit is given.",
  args: [{ name: "[action]", description: "an id, its beginning, or the agent's own id of the call" }],
  options: [
    { flags: "--session <id>", description: "only actions of this session (its id, or the beginning of its id)" },
    { flags: "--turn <id>", description: "only actions of this turn (its id, or the beginning of its id)" },
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
  summary: "make the files of one action equal to their state before the action",
  details:
    "Later changes of these files are taken back too, whoever made them. The present state is recorded first, " +
    "and `chronicle undo` restores it. To take back only what the action did, and leave later work, use " +
    "`chronicle undo --action ID`. On a terminal, rollback asks in the same cases as undo, and always with " +
    "--outside.",
  args: [{ name: "<action>", description: "an id, its beginning, or the agent's own id of the call" }],
  options: [
    {
      flags: "--dry-run",
      description:
        "show what would be done or refused, and change nothing (the exit code is the same as without --dry-run)",
    },
    { flags: "--force", description: "leave what cannot be changed, and do the rest" },
    {
      flags: "--outside <path>",
      description: "restore only this path, which is outside of the workspace (an absolute path; may be repeated)",
      repeated: true,
    },
    ...ASKING,
  ],
  examples: [
    { line: "chronicle rollback 3f2a9c --dry-run", why: "see it first" },
    { line: "chronicle rollback 3f2a9c", why: "as it was before that tool call" },
  ],
};
