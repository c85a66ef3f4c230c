import type { CommandSpec, OptionSpec } from "./spec.ts";

const GROUP = "Sync";

const MODES = ["two-way-safe", "two-way-resolved", "one-way-safe", "one-way-replica"];

/** Options that say how a folder follows, for `replicate` and `sync start`. */
const FOLLOWING: readonly OptionSpec[] = [
  {
    flags: "--mode <mode>",
    description: "what goes which way, and who wins (default: two-way-safe)",
    completes: MODES,
  },
  {
    flags: "--filter-to <pattern>",
    description: "do not bring here what this names, as a line of a .gitignore",
    value: "text",
    repeated: true,
  },
  { flags: "--filter-from <pattern>", description: "do not write back what this names", value: "text", repeated: true },
  { flags: "--without-filter-to", description: "no longer: what was kept from coming here comes" },
  { flags: "--without-filter-from", description: "no longer: what was not written back goes" },
  {
    flags: "--policy <name>",
    description: "a set of patterns with a name: sandbox (no build output, dependencies, large binaries, logs go back)",
    completes: ["sandbox"],
  },
  {
    flags: "--editor-files <what>",
    description: "leave: editors' backups, swap files and locks stay where they are (default); sync: they go both ways",
    completes: ["leave", "sync"],
  },
  {
    flags: "--with-protected",
    description:
      "bring files here that are secrets by their names (.env, id_rsa …), and write them back: with a person's token",
  },
  {
    flags: "--without-protected",
    description: "no longer: from now on each side keeps its own secrets to itself; nothing is deleted",
  },
  { flags: "--force", description: "also into a home folder, or one of the system's" },
  { flags: "--debounce <ms>", description: "a file must have been quiet for so long (default 50)", value: "count" },
];

const DETAILS_OF_MODES =
  "two-way-safe: both ways, and what was changed differently on both sides is a conflict that you settle; two-way-resolved: " +
  "the same, but the origin wins; one-way-safe: from the origin to the folder, what was changed there stays; " +
  "one-way-replica: the folder becomes what the origin is. A conflict loses nothing: both sides are kept.";

export const REPLICATE: CommandSpec = {
  name: "replicate",
  group: GROUP,
  summary: "have a folder follow a workspace of another store, and write back to it, until Ctrl-C",
  details:
    "For a sandbox: the folder is filled with the files of the origin's workspace, and both follow each other's changes. A " +
    "history of its own is begun where there is none; a folder that has files already is joined with the origin's. The " +
    "origin is a server that was started with `chronicle serve --replication`. " +
    DETAILS_OF_MODES +
    " In the background: chronicle sync start. More: docs/replication.md.",
  args: [{ name: "<folder>", description: "the folder; made where it is not there", completes: "path" }],
  options: [
    { flags: "--connect <socket>", description: "the Unix socket of the origin's server", completes: "path" },
    { flags: "--ws-connect <url>", description: "ws://HOST:PORT or wss://…, with the token of --token-file" },
    {
      flags: "--workspace <id>",
      description: "the origin's workspace, by id or name (default: its server's own, or its only one)",
    },
    ...FOLLOWING,
  ],
  examples: [
    { line: "chronicle replicate ./sandbox --connect /run/origin.sock", why: "from a server on this machine" },
    {
      line: "chronicle replicate ./box --ws-connect wss://host:7420 --token-file t --policy sandbox",
      why: "from another machine, without what builds leave",
    },
  ],
  localOnly: { instead: "run it on the machine where the folder is", ignoresEnvironment: true },
};

export const SYNC: CommandSpec = {
  name: "sync",
  group: GROUP,
  summary: "folders of this machine that follow a workspace of another store, in the background",
  usage: "[options] <what> [arguments...]",
  details:
    "start URL#WORKSPACE FOLDER begins one: http(s)://HOST:PORT of a server that was started with --replication, or unix:/PATH " +
    "of its socket. The store's process runs it (started by itself, as for hooks; it stays while there are syncs), or this " +
    "one with --foreground. status, stop, pause, resume, adopt-as-new (go on as another replica, after this one was put back to an older state or copied), rejoin (go on with an origin that was put back: what it has lost is proposed to it), " +
    "flush (wait until both sides have everything; exit code 1 where the origin has refused something of this folder, with each path, why, and what to do), monitor and conflicts take a sync by its folder, its id or its beginning; where none is given status and monitor are " +
    "about all, the others about that of the folder one stands in, else the only one. resolve PATH settles a conflict. " +
    DETAILS_OF_MODES +
    " More: docs/replication.md.",
  args: [
    {
      name: "<what>",
      description: "what to do",
      completes: [
        "start",
        "status",
        "stop",
        "pause",
        "resume",
        "adopt-as-new",
        "rejoin",
        "flush",
        "monitor",
        "conflicts",
        "resolve",
      ],
    },
    { name: "[arguments...]", description: "URL#WORKSPACE FOLDER, a sync, or a path", completes: "path" },
  ],
  options: [
    ...FOLLOWING,
    { flags: "--foreground", description: "with start: stay, and end it with Ctrl-C" },
    {
      flags: "--accept-deletions",
      description: "with resume: what was deleted is to be deleted on the other side, too",
    },
    { flags: "--restore-files", description: "with resume: what was deleted is put back" },
    { flags: "--timeout <seconds>", description: "with flush: how long to wait (default 60)", value: "seconds" },
    { flags: "--patch", description: "with conflicts: the differences as text" },
    { flags: "--keep-local", description: "with resolve: what is in the folder goes to the origin" },
    { flags: "--accept-upstream", description: "with resolve: the origin's side comes into the folder" },
    { flags: "--merge", description: "with resolve: both, where they merge, or as --tool or --merged has it" },
    {
      flags: "--tool <command>",
      description: "with --merge: a command that writes $MERGED from $LOCAL, $UPSTREAM and $BASE",
    },
    { flags: "--merged <file>", description: "with --merge: what becomes of the file", completes: "path" },
  ],
  examples: [
    { line: "chronicle sync start http://127.0.0.1:7420#project ~/desk", why: "with the token of --token-file" },
    { line: "chronicle sync start unix:/run/origin.sock ~/desk --foreground", why: "until Ctrl-C" },
    { line: "chronicle sync status", why: "how they are doing" },
    { line: "chronicle sync conflicts", why: "what was changed differently on both sides" },
    { line: "chronicle sync resolve notes.txt --keep-local", why: "settles it" },
  ],
  localOnly: { instead: "run it on the machine where the folder is", ignoresEnvironment: true },
};
