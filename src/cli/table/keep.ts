import { type CommandSpec, NOW } from "./spec.ts";

const GROUP = "Keep";

export const CONFIG: CommandSpec = {
  name: "config",
  group: GROUP,
  summary: "what is tracked, and the limits: show or change it",
  details:
    "Keys: useGitignore, excludePatterns, excludeGlobs, forceInclude, maxEntries, maxBytes, maxFileSize, keepAside, protectedNames. A list takes " +
    "all its values at once. Shown too: how much is kept (max_snapshots, max_age_days, min_age_hours, max_store_bytes), and " +
    "the config.yaml that says so: only a person changes that.",
  args: [
    { name: "[key]", description: "one of the keys", completes: "config-key" },
    { name: "[value...]", description: "its new value; for a list, all values" },
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
  group: GROUP,
  summary: "how much the whole store takes on disk",
  args: [],
  options: [
    {
      flags: "--by <what>",
      description: "also the contents of this workspace by session, path or age",
      completes: ["session", "path", "age"],
    },
  ],
  examples: [
    { line: "chronicle du", why: "contents, logs, indexes and the rest: in any folder" },
    { line: "chronicle du --by session", why: "what each session brought" },
  ],
};

export const GC: CommandSpec = {
  name: "gc",
  group: GROUP,
  summary: "free contents that nothing names any more",
  details: "Acts on the whole store, in any folder. Nothing that a history can still reach is removed.",
  args: [],
  options: [],
  examples: [{ line: "chronicle gc", why: "after forget" }],
};

export const COMPACT: CommandSpec = {
  name: "compact",
  group: GROUP,
  summary: "move the log into the archive and go on in a short one",
  details:
    "Nothing is lost: every moment can still be gone back to, and verify goes through the archive. With --drop-archive " +
    "the whole history is verified, then its archived events are removed for good: it begins at the compaction, " +
    "earlier snapshots are listed but cannot be restored, and undo does not reach further. Without a terminal that " +
    "needs --yes.",
  args: [],
  options: [
    { flags: "--drop-archive", description: "remove all archived events, once everything was verified" },
    { flags: "-y, --yes", description: "do not ask" },
  ],
  examples: [
    { line: "chronicle compact", why: "a shorter log; everything stays" },
    { line: "chronicle compact --drop-archive", why: "forget the past; then `chronicle gc` frees its space" },
  ],
};

export const REBUILD: CommandSpec = {
  name: "rebuild",
  group: GROUP,
  summary: "make the index anew from the log",
  args: [],
  options: [],
  examples: [{ line: "chronicle rebuild", why: "the index is never the only copy of anything" }],
};

export const DOCTOR: CommandSpec = {
  name: "doctor",
  group: GROUP,
  summary: "look at the machine, the store and the key, and say what is wrong",
  args: [],
  options: [],
  examples: [{ line: "chronicle doctor", why: "exits 1 if something is wrong" }],
};

export const WORKSPACES: CommandSpec = {
  name: "workspaces",
  group: GROUP,
  summary: "every workspace in the store: list them, create, archive",
  details:
    "create begins one without a folder, whose files are only in its history: programs work in it through the API, and " +
    "-w NAME shows it to every command. With --from it begins with the files that another one had at a moment (default: as last " +
    "recorded); contents are shared. An archived one is only read, until unarchive.",
  args: [
    {
      name: "[what]",
      description: "what to do (default: list)",
      completes: ["list", "create", "archive", "unarchive"],
    },
    { name: "[workspace]", description: "create: a name for it; else its name or id", completes: "workspace" },
  ],
  options: [
    { flags: "--from <workspace[@moment]>", description: "create: begin with these files", completes: "workspace" },
  ],
  tried: { "--at": "the moment stands behind the workspace: --from WORKSPACE@MOMENT" },
  examples: [
    { line: "chronicle workspaces", why: "also those whose folder is gone" },
    { line: "chronicle workspaces create session-17", why: "one without a folder" },
    { line: "chronicle workspaces create try --from session-17@10m", why: "what it was ten minutes ago" },
    { line: "chronicle -w try restore now --to ./try", why: "its files, in a folder" },
    { line: "chronicle workspaces archive session-17", why: "keep it, change it no more" },
  ],
};

export const FORGET: CommandSpec = {
  name: "forget",
  group: GROUP,
  summary: "remove a workspace's history from the store (never its files)",
  details:
    "For 24 hours `chronicle unforget` brings it back; then `chronicle gc` frees it. Without a terminal it needs --yes. --now frees it at once: only a person at a terminal can say so, and only while nobody is at work there.",
  args: [{ name: "<id>", description: "a name, an id or its unique prefix", completes: "workspace" }],
  options: [{ flags: "-y, --yes", description: "do not ask" }, NOW],
  examples: [{ line: "chronicle forget 01JD", why: "a day later `chronicle gc` frees the space" }],
};

export const UNFORGET: CommandSpec = {
  name: "unforget",
  group: GROUP,
  summary: "bring back what was given up within the last 24 hours, or list it",
  details: "That is: a history that was forgotten, and the part of one that prune gave up.",
  args: [{ name: "[id]", description: "an id, its unique prefix, or a name" }],
  options: [],
  examples: [
    { line: "chronicle unforget", why: "lists what can be brought back" },
    { line: "chronicle unforget 01JD", why: "log, snapshots and undo as they were" },
  ],
  localOnly: { instead: "run it where the store is" },
};

export const COMPLETION: CommandSpec = {
  name: "completion",
  group: GROUP,
  summary: "print completions for a shell",
  args: [{ name: "<shell>", description: "bash, zsh or fish", completes: ["bash", "zsh", "fish"] }],
  options: [],
  examples: [
    { line: 'eval "$(chronicle completion bash)"', why: "in ~/.bashrc" },
    { line: "source <(chronicle completion zsh)", why: "in ~/.zshrc" },
    { line: "chronicle completion fish > ~/.config/fish/completions/chronicle.fish", why: "once" },
  ],
  localOnly: { instead: "it is the same wherever the store is: leave --remote out", ignoresEnvironment: true },
};

/** Called by the completion scripts, not by people. */
export const COMPLETE: CommandSpec = {
  name: "complete",
  group: GROUP,
  summary: "the words that may stand next (called by the completion scripts)",
  args: [{ name: "[word...]", description: "the words so far, after --" }],
  options: [],
  examples: [],
  passThrough: true,
  hidden: true,
};
