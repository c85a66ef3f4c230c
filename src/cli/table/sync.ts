import type { CommandSpec, OptionSpec } from "./spec.ts";

const GROUP = "Sync";

const MODES = ["two-way-safe", "two-way-resolved", "one-way-safe", "one-way-replica"];

/** Options of `replicate` and `sync start`. */
const FOLLOWING: readonly OptionSpec[] = [
  {
    flags: "--mode <mode>",
    description: "the directions of changes, and the side that wins (default: two-way-safe)",
    completes: MODES,
  },
  {
    flags: "--filter-to <pattern>",
    description: "do not bring files here that this line of a .gitignore matches",
    value: "text",
    repeated: true,
  },
  {
    flags: "--filter-from <pattern>",
    description: "do not write back files that this line matches",
    value: "text",
    repeated: true,
  },
  {
    flags: "--without-filter-to",
    description: "drop the filters of --filter-to: the files that they kept away are brought here",
  },
  {
    flags: "--without-filter-from",
    description: "drop the filters of --filter-from: the files that they held back are written back",
  },
  {
    flags: "--policy <name>",
    description:
      "a named set of filters: sandbox (build output, dependencies, large binaries and logs are not written back)",
    completes: ["sandbox"],
  },
  {
    flags: "--editor-files <what>",
    description: "leave: editors' backups, swap files and locks stay on their side (default); sync: they go both ways",
    completes: ["leave", "sync"],
  },
  {
    flags: "--with-protected",
    description:
      "bring files here that are secrets by their names (.env, id_rsa …), and write them back; this needs a " +
      "person's token",
  },
  {
    flags: "--without-protected",
    description: "end --with-protected: from now on each side keeps its own secrets; nothing is deleted",
  },
  { flags: "--force", description: "allow a home folder or a folder of the system" },
  {
    flags: "--debounce <ms>",
    description: "how many milliseconds a file must be unchanged before it is sent (default 50)",
    value: "count",
  },
];

const DETAILS_OF_MODES =
  "The modes are these. two-way-safe: changes go both ways, and a path that was changed differently on both " +
  "sides is a conflict that you settle. two-way-resolved: changes go both ways, and where both sides changed a " +
  "path differently, the origin wins. one-way-safe: changes go only to the folder, and the folder's own " +
  "changes stay. one-way-replica: the folder is made equal to the origin. A conflict loses nothing: both sides " +
  "are kept.";

export const REPLICATE: CommandSpec = {
  name: "replicate",
  group: GROUP,
  summary: "have a folder follow a workspace of another store, and write back to it, until Ctrl-C",
  details:
    "This is for a sandbox: the folder is filled with the files of the origin's workspace, and each of the two " +
    "follows the changes of the other. If the folder has no history, one is begun. Files that are already in the " +
    "folder are reconciled with the origin's files. The origin is a server that was started with `chronicle " +
    "serve --replication`. " +
    DETAILS_OF_MODES +
    " To do the same in the background, use `chronicle sync start`. More: docs/replication.md.",
  args: [{ name: "<folder>", description: "the folder; made if it is missing", completes: "path" }],
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
      why: "from another machine, without build output",
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
    "start URL#WORKSPACE FOLDER begins a sync. The URL is http(s)://HOST:PORT of a server that was started with " +
    "--replication, or unix:/PATH of its socket. The store's server runs the sync; this server is started if " +
    "necessary, as for hooks, and stays while there are syncs. With --foreground, this process runs the sync " +
    "instead. adopt-as-new continues as another replica, after this replica was restored to an older state or " +
    "copied. rejoin continues with an origin that was restored to an older state: changes that the origin has lost " +
    "are proposed to it. flush waits until each side has everything that can be synced to it. It exits with 1 if " +
    "conflicts are open, or if the origin has refused something of this folder; each such path is listed with the " +
    "reason and what to do. adopt-as-new, rejoin, flush, status, stop, pause, resume, monitor and conflicts take a " +
    "sync by its folder, its id or the beginning of its id. If you name no sync, status and monitor are about all " +
    "syncs; the others are about the sync of the current folder, or about the only sync. resolve PATH settles a " +
    "conflict of the sync whose folder holds the path, or of the sync that -w names by its folder or its id. " +
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
    { flags: "--foreground", description: "with start: run the sync in this process, until Ctrl-C" },
    {
      flags: "--accept-deletions",
      description: "with resume: delete the deleted files on the other side, too",
    },
    { flags: "--restore-files", description: "with resume: restore the deleted files" },
    {
      flags: "--timeout <seconds>",
      description: "with flush: how many seconds to wait (default 60)",
      value: "seconds",
    },
    { flags: "--patch", description: "with conflicts: show the differences as text" },
    { flags: "--keep-local", description: "with resolve: send the folder's side to the origin" },
    { flags: "--accept-upstream", description: "with resolve: take the origin's side into the folder" },
    { flags: "--merge", description: "with resolve: take both sides merged, or the result of --tool or --merged" },
    {
      flags: "--tool <command>",
      description: "with --merge: a command that writes $MERGED from $LOCAL, $UPSTREAM and $BASE",
    },
    { flags: "--merged <file>", description: "with --merge: a file with the new content", completes: "path" },
  ],
  examples: [
    { line: "chronicle sync start http://127.0.0.1:7420#project ~/desk", why: "with the token of --token-file" },
    { line: "chronicle sync start unix:/run/origin.sock ~/desk --foreground", why: "until Ctrl-C" },
    { line: "chronicle sync status", why: "the state of all syncs" },
    { line: "chronicle sync conflicts", why: "the paths that were changed differently on both sides" },
    { line: "chronicle sync resolve notes.txt --keep-local", why: "settle it with the side of the folder" },
  ],
  localOnly: { instead: "run it on the machine where the folder is", ignoresEnvironment: true },
};
