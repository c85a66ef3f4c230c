import { type CommandSpec, NOW, type OptionSpec } from "./spec.ts";

const RETENTION_GROUP = "Keep";

const KEEP_GROUP = "Keep";

export const CONFIG: CommandSpec = {
  name: "config",
  group: KEEP_GROUP,
  summary: "show or change what is tracked, and the limits",
  details:
    "The keys are useGitignore, excludePatterns, excludeGlobs, forceInclude, maxEntries, maxBytes, maxFileSize, " +
    "keepAside, recordPrompts and protectedNames. For a list, give all its values at once: they replace the " +
    "present ones. If keepAside is false, the next gc also frees what was kept aside before, and no undo can " +
    "bring that back. If recordPrompts is false, what you ask an agent is no longer kept, and the next gc also " +
    "frees the prompts that were kept before. " +
    "config also shows the limits of what is kept (max_snapshots, max_age_days, min_age_hours, max_store_bytes, " +
    "max_private_bytes) and the config.yaml that sets them. Only a person changes these limits.",
  args: [
    { name: "[key]", description: "one of the keys", completes: "config-key" },
    { name: "[value...]", description: "the key's new value; for a list, all values" },
  ],
  options: [{ flags: "--clear", description: "make a list empty" }],
  examples: [
    { line: "chronicle config", why: "show all" },
    { line: "chronicle config maxBytes 10GiB", why: "change a limit" },
    { line: "chronicle config excludePatterns build .cache", why: "two patterns instead of the present ones" },
  ],
};

export const DU: CommandSpec = {
  name: "du",
  group: KEEP_GROUP,
  summary: "show how much space the whole store takes on disk",
  details:
    "Also shows what prompts, git objects, and files that were set aside take. These contents are kept beside the " +
    "history for some days, so that an undo can bring them back. For each workspace, du shows how much of its " +
    "budget for them is used (max_private_bytes in config.yaml), and what was given up because the budget was " +
    "exceeded.",
  args: [],
  options: [
    {
      flags: "--by <what>",
      description: "also show how much space this workspace's contents take, by session, path or age",
      completes: ["session", "path", "age"],
    },
  ],
  examples: [
    { line: "chronicle du", why: "contents, logs, indexes and the rest; works in any folder" },
    { line: "chronicle du --by session", why: "how much each session added" },
  ],
};

export const GC: CommandSpec = {
  name: "gc",
  group: KEEP_GROUP,
  summary: "free contents that no history needs any more",
  details:
    "Acts on the whole store, whatever the current folder is. Nothing that a history can still reach is removed.",
  args: [],
  options: [],
  examples: [{ line: "chronicle gc", why: "after forget" }],
};

export const COMPACT: CommandSpec = {
  name: "compact",
  group: KEEP_GROUP,
  summary: "move the log into the archive and continue with a short one",
  details:
    "Nothing is lost: every moment can still be restored, and verify reads the archive, too. With " +
    "--drop-archive, the whole history is verified first; then its archived events are removed for good. The " +
    "history then begins at the compaction: earlier snapshots are still listed but cannot be restored, and undo " +
    "does not reach further back. Without a terminal, --drop-archive needs --yes.",
  args: [],
  options: [
    { flags: "--drop-archive", description: "verify everything, then remove all archived events" },
    { flags: "-y, --yes", description: "do not ask" },
  ],
  examples: [
    { line: "chronicle compact", why: "a shorter log; everything stays" },
    { line: "chronicle compact --drop-archive", why: "give up the past; `chronicle gc` then frees its space" },
  ],
};

export const REBUILD: CommandSpec = {
  name: "rebuild",
  group: KEEP_GROUP,
  summary: "make the index anew from the log",
  args: [],
  options: [],
  examples: [{ line: "chronicle rebuild", why: "the index is never the only copy of anything" }],
};

export const DOCTOR: CommandSpec = {
  name: "doctor",
  group: KEEP_GROUP,
  summary: "check the machine, the store and the key, and say what is wrong",
  args: [],
  options: [],
  examples: [{ line: "chronicle doctor", why: "exits 1 if something is wrong" }],
};

export const WORKSPACES: CommandSpec = {
  name: "workspaces",
  group: KEEP_GROUP,
  summary: "list the workspaces of the store, create one, or archive one",
  details:
    "create begins a workspace without a folder: its files are only in its history. Programs work in it through " +
    "the API, and -w NAME selects it for every command. With --from, the new workspace begins with the files " +
    "that another workspace had at a moment (default: the last recorded state), and both share the contents. An " +
    "archived workspace can only be read until unarchive.",
  args: [
    {
      name: "[what]",
      description: "what to do (default: list)",
      completes: ["list", "create", "archive", "unarchive"],
    },
    {
      name: "[workspace]",
      description: "with create: a name for the new workspace; otherwise: the name or id of a workspace",
      completes: "workspace",
    },
  ],
  options: [
    {
      flags: "--from <workspace[@moment]>",
      description: "with create: begin with the files of this workspace",
      completes: "workspace",
    },
  ],
  tried: { "--at": "the moment follows the workspace: --from WORKSPACE@MOMENT" },
  examples: [
    { line: "chronicle workspaces", why: "list them all, also those whose folder is gone" },
    { line: "chronicle workspaces create session-17", why: "create one without a folder" },
    { line: "chronicle workspaces create try --from session-17@10m", why: "with the files of ten minutes ago" },
    { line: "chronicle -w try restore now --to ./try", why: "its files, in a folder" },
    { line: "chronicle workspaces archive session-17", why: "keep it, read-only" },
  ],
};

export const FORGET: CommandSpec = {
  name: "forget",
  group: KEEP_GROUP,
  summary: "remove a workspace's history from the store (never its files)",
  details:
    "For 24 hours, `chronicle unforget` can bring the history back; after that, `chronicle gc` frees its space. " +
    "Without a terminal, forget needs --yes. With --now, the history cannot be brought back at all: only a " +
    "person at a terminal can ask for that, and only while nobody is at work in the workspace.",
  args: [
    { name: "<id>", description: "the workspace's name, its id, or a unique prefix of the id", completes: "workspace" },
  ],
  options: [{ flags: "-y, --yes", description: "do not ask" }, NOW],
  examples: [{ line: "chronicle forget 01JD", why: "a day later `chronicle gc` frees the space" }],
};

export const UNFORGET: CommandSpec = {
  name: "unforget",
  group: KEEP_GROUP,
  summary: "bring back what forget or prune gave up within the last 24 hours, or list it",
  details: "forget gives up a whole history, and prune gives up a part of one.",
  args: [
    {
      name: "[id]",
      description: "an id from the list, a unique prefix of an id, or a name (default: list everything)",
    },
  ],
  options: [],
  examples: [
    { line: "chronicle unforget", why: "lists what can be brought back" },
    { line: "chronicle unforget 01JD", why: "log, snapshots and undo are again as they were" },
  ],
  localOnly: { instead: "run it where the store is" },
};

export const COMPLETION: CommandSpec = {
  name: "completion",
  group: KEEP_GROUP,
  summary: "print completions for a shell",
  args: [{ name: "<shell>", description: "bash, zsh or fish", completes: ["bash", "zsh", "fish"] }],
  options: [],
  examples: [
    { line: 'eval "$(chronicle completion bash)"', why: "in ~/.bashrc" },
    { line: "source <(chronicle completion zsh)", why: "in ~/.zshrc" },
    { line: "chronicle completion fish > ~/.config/fish/completions/chronicle.fish", why: "once" },
  ],
  localOnly: {
    instead: "the completions are the same wherever the store is: leave --remote out",
    ignoresEnvironment: true,
  },
};

export const COMPLETE: CommandSpec = {
  name: "complete",
  group: KEEP_GROUP,
  summary: "the possible next words (called by the completion scripts)",
  args: [{ name: "[word...]", description: "the words so far, after --" }],
  options: [],
  examples: [],
  passThrough: true,
  hidden: true,
};

const limit = (flags: string, description: string): OptionSpec => ({
  flags,
  description,
  value: "count",
  localOnly: {
    why: "--max-… and --min-… replace limits of this machine's config.yaml, and the server has its own",
    instead: "use rules: --keep-last, --keep-within …",
  },
});

export const PRUNE: CommandSpec = {
  name: "prune",
  group: RETENTION_GROUP,
  summary: "give up old moments, so that gc can free their contents",
  details:
    "Each --keep rule keeps additional moments. Without such a rule, the limits of config.yaml apply, or the limits " +
    "that you give here instead. Some things are kept in any case: the baseline, named snapshots, pinned snapshots " +
    "(unless --drop-pinned is given), everything that open transactions need, and everything younger than " +
    "min_age_hours (24). A pruning is an event in the log: no line is removed, and verify says what was pruned. For " +
    "24 hours, gc frees nothing of what was pruned, and `chronicle unforget` can bring it back. Without a terminal, " +
    "prune needs --yes. With --now, gc can free the contents at once: only a person at a terminal can ask for that, " +
    "only while nobody is at work in the workspace, and only if no earlier pruning can still be brought back.",
  args: [],
  options: [
    { flags: "--keep-last <n>", description: "keep this many of the newest actions and snapshots", value: "count" },
    { flags: "--keep-hourly <n>", description: "keep the newest one of each of this many hours", value: "count" },
    { flags: "--keep-daily <n>", description: "keep the newest one of each of this many days (UTC)", value: "count" },
    { flags: "--keep-weekly <n>", description: "keep the newest one of each of this many weeks", value: "count" },
    { flags: "--keep-monthly <n>", description: "keep the newest one of each of this many months", value: "count" },
    { flags: "--keep-yearly <n>", description: "keep the newest one of each of this many years", value: "count" },
    { flags: "--keep-within <time>", description: "keep everything younger than this, such as 7d or 12h" },
    { flags: "--keep-pinned", description: "keep pinned actions and snapshots (the default)" },
    limit("--max-snapshots <n>", "instead of the configured limit (0: none)"),
    limit("--max-age-days <n>", "instead of the configured limit (0: none)"),
    limit("--min-age-hours <n>", "use this limit instead of the configured one (0: no limit)"),
    { flags: "--drop-pinned", description: "also give up pinned actions and snapshots that no rule keeps" },
    { flags: "-n, --dry-run", description: "only show what would be given up" },
    { flags: "-y, --yes", description: "do not ask" },
    NOW,
  ],
  examples: [
    { line: "chronicle prune --dry-run", why: "what the configured limits would give up" },
    { line: "chronicle prune --keep-last 10 --keep-daily 7 --yes", why: "a day later `chronicle gc` frees the space" },
  ],
};

export const ERASE: CommandSpec = {
  name: "erase",
  group: RETENTION_GROUP,
  summary: "remove contents from the history: a secret, or a file that should never have been recorded",
  details:
    "Erases one of these: the contents of a path and of everything beneath it; a content that is named by its " +
    "SHA-256 (`chronicle history --json` shows it); or the contents of all paths that a pattern matches. From then " +
    "on, no command gives out these contents. If a restore needs such a content for a path, it leaves the path as " +
    "it is and says so. The bytes leave the store with the first gc after 24 hours; until then, `chronicle unerase` " +
    "can bring the contents back. The log keeps their hashes, from which a short secret can be guessed: change the " +
    "secret as well. Copies of such files that were kept aside are erased, too. Command lines, messages and records " +
    "of users are not affected. The present content of a path is not erased: change or remove the file first. There " +
    "is one exception: a path that the rules now leave out is recorded as deleted, and its file stays on disk. If a " +
    "file gets an erased content later, the file is left out and named, and stays on disk. Other workspaces keep " +
    "the contents until they are erased there. Folders that follow this workspace erase the contents as soon as " +
    "they learn of the erasure, except the contents of files that are in these folders now. These folders keep the " +
    "bytes for another 24 hours. Without a terminal, erase needs --yes. --now frees the bytes at once: only a " +
    "person at a terminal can ask for that, and only while nobody is at work in the workspace.",
  args: [{ name: "[what]", description: "a path, or the SHA-256 of a content", completes: "path" }],
  options: [
    {
      flags: "--match <pattern>",
      description: "all paths, present or past, that this pattern of a .gitignore matches",
    },
    { flags: "--reason <text>", description: "the reason; it stays in the log forever" },
    { flags: "-n, --dry-run", description: "only show what would be erased" },
    { flags: "-y, --yes", description: "do not ask" },
    NOW,
  ],
  examples: [
    { line: "chronicle erase .env --dry-run", why: "show which contents, and which other workspaces have them" },
    {
      line: "chronicle erase --match '*.pem' --reason 'keys do not belong here'",
      why: "every key that was ever recorded",
    },
  ],
};

export const UNERASE: CommandSpec = {
  name: "unerase",
  group: RETENTION_GROUP,
  summary: "bring back contents that were erased within the last 24 hours, or list the erasures",
  args: [{ name: "[id]", description: "an erasure's id, or a unique beginning of the id" }],
  options: [],
  examples: [
    { line: "chronicle unerase", why: "each erasure: when, by whom and why" },
    { line: "chronicle unerase 3f2a", why: "cat, diff and restore work as before" },
  ],
};

export const PIN: CommandSpec = {
  name: "pin",
  group: RETENTION_GROUP,
  summary: "keep an action or a snapshot from being pruned",
  args: [{ name: "<id>", description: "an action's id, a snapshot's number, name or id", completes: "moment" }],
  options: [{ flags: "--off", description: "remove the pin" }],
  examples: [
    { line: "chronicle pin 12", why: "snapshot 12 stays" },
    { line: "chronicle pin 3f2a --off", why: "the same as chronicle unpin" },
  ],
};

export const UNPIN: CommandSpec = {
  name: "unpin",
  group: RETENTION_GROUP,
  summary: "no longer keep an action or a snapshot from being pruned",
  args: [{ name: "<id>", description: "an action's id, a snapshot's number, name or id", completes: "moment" }],
  options: [],
  examples: [{ line: "chronicle unpin 12", why: "the next pruning may give it up" }],
};

export const EXPORT: CommandSpec = {
  name: "export",
  group: KEEP_GROUP,
  summary: "write a workspace's whole history into one file, which import reads on any machine",
  details:
    "The archive is a tar file with every line of the log, the signed head, and, once each, all contents that the " +
    "history needs. The same history always gives the same bytes. The archive contains only what is recorded: run " +
    "`chronicle snapshot` first to record the rest. The contents of secrets (.env, id_rsa and the like) are left " +
    "out unless a person gives --with-protected. What was kept aside, and files outside of the workspace, are left " +
    "out unless a person gives --with-private. The number of contents that were left out is printed. A file that " +
    "ends in .zst is compressed. The file may not lie in the workspace's own folder, where it would be recorded. " +
    "With --with-key, whoever has the archive can sign as you: keep the archive as safe as the key itself. See " +
    "docs/archive.md.",
  usage: "[options] [workspace] <file>",
  args: [
    {
      name: "<workspace-or-file>",
      description: "the workspace by its name or id (default: that of the current folder), if the file follows",
      completes: "workspace",
    },
    { name: "[file]", description: "the file to write", completes: "path" },
  ],
  options: [
    { flags: "--force", description: "replace the file if it exists" },
    { flags: "--with-key", description: "also export the signing key" },
    { flags: "--with-protected", description: "also export the contents of files that are secrets by their names" },
    { flags: "--with-private", description: "also export what was kept aside, and files outside of the workspace" },
  ],
  examples: [
    { line: "chronicle export ../project.chronicle.tar", why: "the history of this folder" },
    { line: "chronicle export notes ../notes.tar.zst", why: "of a workspace by its name, compressed" },
    {
      line: "chronicle export ../project.chronicle.tar --with-key --with-protected --with-private",
      why: "everything, to go on with it on another machine",
    },
  ],
  localOnly: { instead: "run it on the server's machine; `chronicle replicate` keeps a copy of a server's workspace" },
};
