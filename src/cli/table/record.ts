import type { CommandSpec, OptionSpec } from "./spec.ts";

const RECORDS_GROUP = "Records";

const RECORD_GROUP = "Record";

export const INIT: CommandSpec = {
  name: "init",
  group: RECORD_GROUP,
  summary: "begin a history for a folder and take the baseline (snapshot 0)",
  details:
    "The first path is the workspace's own folder; further paths are tracked beside it. A root may also be a " +
    "single file, but no root may lie within another one. Without a path, the current folder is used. If the " +
    "folder has a workspace already, that workspace is used, and a further path that it does not track is " +
    "refused. The history of a single file continues only in a file of the same name, never in a folder. If " +
    "another workspace already records the folder, both workspaces record it from then on: commands in the " +
    "folder use the new, inner workspace, and init says so.",
  args: [{ name: "[path...]", description: "folders or single files to track", completes: "path" }],
  options: [
    {
      flags: "--exclude <pattern>",
      description: "leave out paths that have this component; if it contains /, paths that have this part",
      repeated: true,
    },
    { flags: "--exclude-glob <glob>", description: "leave out files whose name matches", repeated: true },
    {
      flags: "--force-include <pattern>",
      description: "include such paths, whatever other rules say (same form as --exclude)",
      repeated: true,
    },
    { flags: "--no-gitignore", description: "do not respect .gitignore" },
    {
      flags: "--max-entries <n>",
      description: "record at most this many paths (default 300000; 0: no limit)",
      value: "count",
    },
    {
      flags: "--max-bytes <size>",
      description: "record at most this many bytes (default 2GiB; 0: no limit)",
      value: "size",
    },
    {
      flags: "--max-file-size <size>",
      description: "leave out files larger than this (default: 0, which means no limit)",
      value: "size",
    },
    {
      flags: "--adopt <id>",
      description: "continue this workspace's history in a folder that was moved or copied",
      completes: "workspace",
    },
    {
      flags: "--force",
      description:
        "allow /, a home folder, Desktop, Documents and Downloads; with --adopt: allow it although the old folder " +
        "still exists",
    },
  ],
  examples: [
    { line: "chronicle init", why: "protect this folder" },
    { line: "chronicle init --exclude build --max-bytes 10GiB", why: "leave build folders out, and allow more bytes" },
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
    "The command has stdin, stdout and the terminal to itself; Chronicle's own messages go to stderr. The exit code " +
    "is that of the command, even if the recording failed meanwhile. If a signal ended the command, the exit code " +
    "is 128 plus the signal's number. (After Ctrl-C, Chronicle itself also ends by SIGINT, so that a loop of the " +
    "shell ends.) The exit code is 125 if Chronicle failed before the command started, and 122 if " +
    "--rollback-on-failure could not take back all changes of a failed command. It is 1 if the command succeeded " +
    "but removed or overwrote omitted files that nobody kept. It is also 1 if, with --rollback-on-failure, the " +
    "changes of a successful command could not be committed; a line that begins with NOT committed then names a " +
    "command that keeps them. If the command overwrote a file that you excluded (--exclude, --exclude-glob), the " +
    "file is named, but the exit code does not change, although the earlier content is gone. If the command " +
    "succeeded but removed such a file, the exit code is 1. A run within another run, or within an agent's tool " +
    "call, is a part of that run or call: the inner run is rolled back alone, but undone together with the run or " +
    "call around it. No init is needed. Off the record (--otr), nothing is stored of the command, and the paths " +
    "that it changes stay out of the history until somebody else changes them, or `chronicle snapshot --on-record " +
    "PATH` includes them. status and explain name these paths, and no undo or restore overwrites them. While a " +
    "command runs off the record, only paths that agents' tools declare are recorded. Options about the record are " +
    "refused with --otr. With --json, the result is one line of JSON at the end of stderr.",
  usage: "[options] [--] <command> [argument...]",
  args: [{ name: "[command...]", description: "the command and its arguments" }],
  options: [
    { flags: "--rollback-on-failure", description: "take all changes back if the command fails" },
    { flags: "--otr", description: "off the record: store nothing about the command or its changes, now or later" },
    { flags: "--summary <file>", description: "write the result as JSON to this file", completes: "path" },
    {
      flags: "--network-events <file>",
      description:
        "keep the JSON array in this file with the session, such as the requests that a proxy saw; the file is read " +
        "when the command has ended",
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
  summary: "record changes as they happen, without wrapping a command, or install a service that does",
  details:
    "Runs until Ctrl-C, SIGTERM, or the end of its terminal. At its end, watch records what has changed until then. " +
    "(setsid keeps it running without a terminal. nohup does not, because Node.js drops that setting.) The folder " +
    "is scanned when something changes, so nothing is missed. If the folder is recorded already (by another watch, " +
    "a run or a server), watch says so. Each change is recorded once. With two watches, a change belongs to the " +
    "session of the earlier watch. With --install, a service of your login session records the folder from now on " +
    "and after each login: a systemd user unit on Linux, a launchd agent on macOS. The folder's history is begun " +
    "first, and the whole workspace around the folder is recorded. The service is restarted if it fails, and when " +
    "the program is upgraded. Without a running service manager (in most containers), nothing is installed, and the " +
    "exit code is 1. Only a person may install or uninstall a watch.",
  args: [{ name: "[folder...]", description: "with --install and --uninstall: the folders", completes: "path" }],
  options: [
    { flags: "--install", description: "install and start a service that records the folders" },
    { flags: "--uninstall", description: "end and remove the services of the folders, and nothing else" },
    { flags: "--list", description: "list the installed services, with their states" },
    { flags: "--dry-run", description: "with --install: print the service's file, and change nothing" },
  ],
  examples: [
    { line: "chronicle watch", why: "protect this folder while you work" },
    { line: "chronicle -C ~/project watch", why: "another folder" },
    { line: "chronicle watch --install ~/project", why: "always, from each login on" },
    { line: "chronicle watch --uninstall ~/project", why: "no longer" },
  ],
  localOnly: { instead: "a server itself watches the folders that it hosts: chronicle log shows what it recorded" },
};

export const SNAPSHOT: CommandSpec = {
  name: "snapshot",
  group: RECORD_GROUP,
  summary: "record the present state and give it a number",
  details:
    "The printed number of changes is the number that `chronicle list` shows beside the snapshot. Changes of work " +
    "that has its own line in the list, such as a run, are not counted. If something could not be recorded (the " +
    "coverage is partial), snapshot names it and exits with 1. For a folder that exceeds a limit, snapshot names " +
    "the folder and the number of its paths.",
  args: [],
  options: [
    { flags: "-m, --message <text>", description: "a message that describes this state" },
    { flags: "--name <name>", description: "a name that can be used for this moment like its number" },
    { flags: "--pin", description: "never prune this snapshot" },
    { flags: "--paranoid", description: "read every file again, even if its size and times have not changed" },
    {
      flags: "--accept-deletions",
      description:
        "record all files as deleted although the folder is on another device or mount than before; only a person " +
        "may do this",
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
  description: "use the separate record store in this folder (default: the records of the current folder's workspace)",
  completes: "path",
  localOnly: {
    why: "--folder is on this machine, and the server is elsewhere",
    instead: "to use no server: --remote ''",
  },
};

export const RECORD: CommandSpec = {
  name: "record",
  group: RECORDS_GROUP,
  summary: "JSON records of your own on the hash-chained log: put, get, delete, list, replay, export, verify",
  details:
    "put writes a record, which is a JSON object (-: read it from stdin). get prints a record. delete leaves a " +
    "tombstone: no line is ever removed. list shows the live records, replay shows every event of records, and " +
    "export prints one JSON line for each live record. verify recomputes the whole chain and exits with 4 if " +
    "something is damaged. compact moves the log into the archive. backup makes a new folder beneath <id>. With " +
    "--folder, the backup is a complete record store, which --folder can open. Without --folder, the backup " +
    "holds the log of the workspace, which includes the history of its files but not their contents, and " +
    "records.ndjson with the live records, as export prints them; no command opens this backup. If a record is " +
    "missing, the exit code is 3.",
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
    { flags: "--from <seq>", description: "with replay: begin with this event", value: "count" },
    {
      flags: "--depth <n>",
      description: "with put and delete: how deep the writing agent is nested in other agents (default 0)",
      value: "count",
    },
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
  summary: "bring in a history that export has written, or the records of another program's log",
  details:
    "Without --from, the file is an archive that `chronicle export` has written, and its whole history becomes a " +
    "workspace of this store. Everything is verified before anything of it is visible; if anything is wrong, " +
    "nothing is left. The workspace has no folder here until you give it one: with --to, or later with `chronicle " +
    "init --adopt ID DIR`. Without a folder, -w selects it for every command. If this machine has no key, or " +
    "another key than the one that has signed the history, the history continues under the key of this machine, and " +
    "an event says so. With --use-key, the key in the archive (export --with-key) becomes the key of a machine " +
    "without one. Only a person may import an archive. See docs/archive.md. With --from chronomemory, the file is " +
    "the events.wal of chronomemory, whose records are added to a workspace or a record store. First, the hash and " +
    "the link of every line are checked: if one is wrong, the line is named, and nothing is imported. Before the " +
    "records, one event is written with the times, the head and the SHA-256 of the original log. With " +
    "--accept-checkpoint or --up-to-tear, this event also names what could not be verified.",
  args: [{ name: "<file>", description: "the archive, or the log", completes: "path" }],
  options: [
    { flags: "--as <name>", description: "of an archive: give the workspace this name" },
    {
      flags: "--to <dir>",
      description: "of an archive: give the workspace this folder, which must be empty or missing",
      completes: "path",
    },
    { flags: "--use-key", description: "of an archive: make its signing key the key of this machine, which has none" },
    {
      flags: "--from <program>",
      description: "the program that wrote the log: chronomemory",
      completes: ["chronomemory"],
    },
    { ...FOLDER, description: `with --from: ${FOLDER.description}` },
    { flags: "--round-numbers", description: "with --from: round integers beyond 2^53 instead of refusing the file" },
    {
      flags: "--accept-checkpoint",
      description:
        "with --from, for a compacted log: also import the records of the snapshot.json beside it, which no hash covers",
    },
    { flags: "--up-to-tear", description: "with --from: import the lines before the first one that does not verify" },
  ],
  examples: [
    {
      line: "chronicle import project.chronicle.tar",
      why: "verified as a whole; then it is a workspace of this store",
    },
    { line: "chronicle import project.chronicle.tar --to ~/project", why: "with its files, in a new folder" },
    { line: "chronicle import --from chronomemory .chronomemory/events.wal", why: "records, into this workspace" },
    { line: "chronicle import --from chronomemory events.wal --folder ~/facts", why: "into a store of its own" },
  ],
};
