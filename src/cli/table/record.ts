import type { CommandSpec, OptionSpec } from "./spec.ts";

const RECORDS_GROUP = "Records";

const RECORD_GROUP = "Record";

export const INIT: CommandSpec = {
  name: "init",
  group: RECORD_GROUP,
  summary: "begin a history for a folder and take the baseline (snapshot 0)",
  details:
    "The first path is the workspace's own folder; further ones are tracked beside it. A single file may be a " +
    "root; no root may lie within another one. Without a path: the current folder. If the folder has a workspace " +
    "already, that one is used; a further path that it does not track is refused. The history of a single file " +
    "continues only in a file of that name, never in a folder. In a folder that another workspace records, both " +
    "record it: commands there use the new, inner one, and init says so.",
  args: [{ name: "[path...]", description: "folders or single files to track", completes: "path" }],
  options: [
    {
      flags: "--exclude <pattern>",
      description: "leave out: a path component, or with / a part of the path",
      repeated: true,
    },
    { flags: "--exclude-glob <glob>", description: "leave out file names that match", repeated: true },
    {
      flags: "--force-include <pattern>",
      description: "include it, whatever other rules say (same form as --exclude)",
      repeated: true,
    },
    { flags: "--no-gitignore", description: "do not respect .gitignore" },
    { flags: "--max-entries <n>", description: "most paths (default 300000; 0: no limit)", value: "count" },
    { flags: "--max-bytes <size>", description: "most bytes (default 2GiB; 0: no limit)", value: "size" },
    { flags: "--max-file-size <size>", description: "leave out larger files (default 0: no limit)", value: "size" },
    {
      flags: "--adopt <id>",
      description: "continue this workspace's history in a folder that was moved or copied",
      completes: "workspace",
    },
    {
      flags: "--force",
      description: "allow /, a home folder and Desktop, Documents, Downloads; adopt from a folder that still exists",
    },
  ],
  examples: [
    { line: "chronicle init", why: "protect this folder" },
    { line: "chronicle init --exclude build --max-bytes 10GiB", why: "leave build folders out, allow more" },
    { line: "chronicle init ~/moved --adopt 01JD", why: "continue after the folder was moved" },
  ],
  localOnly: {
    instead: "start the server in the folder, or begin one without a folder: chronicle workspaces create [name]",
  },
};

export const RUN: CommandSpec = {
  name: "run",
  group: RECORD_GROUP,
  summary: "run a command, record what it changes, say how to take it back",
  details:
    "stdin, stdout and the terminal are the command's; Chronicle's own messages go to stderr. The exit code is " +
    "the command's, or 128 + signal if a signal ended it (after Ctrl-C, Chronicle ends by SIGINT as well, so that " +
    "a shell's loop ends), even if the recording failed meanwhile. It is 125 if Chronicle failed before the " +
    "command started, 122 if --rollback-on-failure could not take back all changes of a failed command, and 1 if " +
    "the command succeeded, but removed or overwrote omitted files that nobody kept, or its changes could not be " +
    "committed (--rollback-on-failure; NOT committed names what keeps them). A file that you excluded (--exclude, " +
    "--exclude-glob) and that the command overwrote is named, but changes no exit code, although its earlier content " +
    "is gone; its removal does. A run within a run, or within an " +
    "agent's tool call, is part of it: it is rolled back by itself, and undone with what is around it. No init is " +
    "needed. Off the record (--otr), nothing is stored of the command, and the paths that it changes stay out of " +
    "the history until somebody else changes them (or `chronicle snapshot --on-record PATH` includes them): status " +
    "and explain name them, and no undo or restore overwrites them. While the command runs, only paths that agents' " +
    "tools declare are recorded; options about the record are refused with --otr. With --json the result is one " +
    "line of JSON at the end of stderr.",
  usage: "[options] [--] <command> [argument...]",
  args: [{ name: "[command...]", description: "the command and its arguments" }],
  options: [
    { flags: "--rollback-on-failure", description: "take all changes back if the command fails" },
    { flags: "--otr", description: "off the record: store nothing about the command or its changes, now or later" },
    { flags: "--summary <file>", description: "write the result as JSON to this file", completes: "path" },
    {
      flags: "--network-events <file>",
      description:
        "keep this JSON array with the session: what a sandbox or proxy saw; read when the command has ended",
      completes: "path",
    },
    { flags: "--note <text>", description: "keep a note with the session", repeated: true },
  ],
  examples: [
    { line: "chronicle run -- npm test", why: "record a command" },
    { line: "chronicle run -- claude", why: "an agent keeps its terminal" },
    { line: "chronicle run --rollback-on-failure -- ./migrate.sh", why: "all or nothing" },
    { line: "chronicle undo", why: "take the last run back" },
  ],
  passThrough: true,
  localOnly: {
    instead:
      "run it on the server's machine; for work that you do yourself: chronicle transaction begin, then commit or rollback",
  },
};

export const WATCH: CommandSpec = {
  name: "watch",
  group: RECORD_GROUP,
  summary: "record changes as they happen, without wrapping a command",
  details: "Runs until Ctrl-C. The folder is scanned when something changes, so nothing is missed.",
  args: [],
  options: [],
  examples: [
    { line: "chronicle watch", why: "protect this folder while you work" },
    { line: "chronicle -C ~/project watch", why: "another folder" },
  ],
  localOnly: { instead: "a server itself watches the folders that it hosts: chronicle log shows what it recorded" },
};

export const SNAPSHOT: CommandSpec = {
  name: "snapshot",
  group: RECORD_GROUP,
  summary: "record the present state and give it a number",
  details:
    "It says the number of changes that `chronicle list` has beside it: those outside of runs and all other work with a " +
    "line of its own there. Exits 1 if something could not be recorded (coverage is partial), and names it; over a " +
    "limit, it names the folder and the number of its paths.",
  args: [],
  options: [
    { flags: "-m, --message <text>", description: "what this state is" },
    { flags: "--name <name>", description: "a name for the moment, to be used like its number" },
    { flags: "--pin", description: "never prune it" },
    { flags: "--paranoid", description: "read every file again, whatever its stat says" },
    {
      flags: "--accept-deletions",
      description:
        "record all files as deleted, although the folder is on another device or mount than before: for people",
    },
    {
      flags: "--on-record <path>",
      description: "record what was left off the record at this path and beneath it, as it is now",
      repeated: true,
      completes: "path",
    },
  ],
  examples: [
    { line: 'chronicle snapshot -m "before the big rename"', why: "with a message" },
    { line: "chronicle snapshot --name good --pin", why: "restore it later with: chronicle restore good" },
    { line: "chronicle list --snapshots", why: "see them all" },
  ],
  meant: { flag: "-m", what: "a message" },
};

const FOLDER: OptionSpec = {
  flags: "--folder <dir>",
  description: "a record store of its own in this folder (default: the workspace of the current folder)",
  completes: "path",
  localOnly: { why: "--folder is on this machine, and the server is elsewhere", instead: "for no server: --remote ''" },
};

export const RECORD: CommandSpec = {
  name: "record",
  group: RECORDS_GROUP,
  summary: "JSON records of your own on the hash-chained log: put, get, delete, list, replay, export, verify",
  details:
    "put writes a record (a JSON object; -: from stdin), get prints one, delete leaves a tombstone: no line is " +
    "ever removed. list shows the live records, replay every event of records, export one JSON line for each live " +
    "record. verify recomputes the whole chain and exits 4 if something is damaged. compact moves the log into " +
    "the archive. backup makes a new folder beneath <id>: of a store of its own (--folder) a copy that is such a " +
    "store again; of a workspace its log, which also holds the history of its files, without their contents, and " +
    "records.ndjson with the live records, as export prints them: no command opens that copy. A missing record " +
    "exits 3.",
  args: [
    {
      name: "<what>",
      description: "what to do",
      completes: ["put", "get", "delete", "list", "replay", "export", "verify", "compact", "backup"],
    },
    { name: "[id]", description: "the record's id; for backup, a folder" },
    { name: "[json]", description: "for put: the record, or - for stdin" },
  ],
  options: [
    FOLDER,
    { flags: "--from <seq>", description: "replay from this event on", value: "count" },
    { flags: "--depth <n>", description: "the depth in nested agents (put, delete; default 0)", value: "count" },
  ],
  examples: [
    { line: `chronicle record put FACT-001 '{"text": "the sky is blue"}'`, why: "durable when it returns" },
    { line: "chronicle record get FACT-001", why: "print it" },
    { line: "chronicle record list --folder ~/facts", why: "a store that belongs to no workspace" },
    { line: "chronicle record export > records.ndjson", why: "one line for each live record" },
  ],
};

export const IMPORT: CommandSpec = {
  name: "import",
  group: RECORDS_GROUP,
  summary: "bring in the records of another program's log, verified line by line",
  details:
    "chronomemory: the original's events.wal. Every line's hash and link is checked first: if one is wrong, the " +
    "line is named, and nothing is imported. One event before the records holds the times, head and SHA-256 of " +
    "the original. It also names what could not be verified (with --accept-checkpoint or --up-to-tear).",
  args: [{ name: "<file>", description: "the log", completes: "path" }],
  options: [
    { flags: "--from <program>", description: "whose log it is: chronomemory", completes: ["chronomemory"] },
    FOLDER,
    { flags: "--round-numbers", description: "round integers beyond 2^53 instead of refusing the file" },
    {
      flags: "--accept-checkpoint",
      description: "for a compacted log: also import the records of the snapshot.json beside it, which no hash covers",
    },
    { flags: "--up-to-tear", description: "import the lines before the first one that does not verify" },
  ],
  examples: [
    { line: "chronicle import --from chronomemory .chronomemory/events.wal", why: "into this workspace" },
    { line: "chronicle import --from chronomemory events.wal --folder ~/facts", why: "into a store of its own" },
  ],
};
