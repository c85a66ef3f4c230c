import { type CommandSpec, NOW, type OptionSpec } from "./spec.ts";

const GROUP = "Keep";

const limit = (flags: string, description: string): OptionSpec => ({
  flags,
  description,
  value: "count",
  localOnly: {
    why: "--max-… and --min-… stand in for this machine's config.yaml, and the server has its own",
    instead: "say what to keep: --keep-last, --keep-within …",
  },
});

export const PRUNE: CommandSpec = {
  name: "prune",
  group: GROUP,
  summary: "give up old moments, so that gc can free their contents",
  details:
    "Each --keep rule keeps more; without any the limits of config.yaml hold, or those given here instead. The baseline, named and pinned snapshots " +
    "and what open transactions need stay in any case, and nothing younger than min_age_hours (24) goes. It is an event " +
    "in the log: no line is removed, and verify says what was pruned. For 24 hours gc frees nothing of it, and `chronicle unforget` " +
    "brings it back. Without a terminal it needs --yes. --now lets gc free it at once: only a person at a terminal can say so, and " +
    "only while nobody is at work there, and nothing that was pruned before can still be brought back.",
  args: [],
  options: [
    { flags: "--keep-last <n>", description: "the newest actions and snapshots", value: "count" },
    { flags: "--keep-hourly <n>", description: "the newest of each of so many hours", value: "count" },
    { flags: "--keep-daily <n>", description: "of each of so many days (UTC)", value: "count" },
    { flags: "--keep-weekly <n>", description: "of each of so many weeks", value: "count" },
    { flags: "--keep-monthly <n>", description: "of each of so many months", value: "count" },
    { flags: "--keep-yearly <n>", description: "of each of so many years", value: "count" },
    { flags: "--keep-within <time>", description: "everything younger than this, such as 7d or 12h" },
    { flags: "--keep-pinned", description: "keep pinned ones: the default" },
    limit("--max-snapshots <n>", "instead of the configured limit (0: none)"),
    limit("--max-age-days <n>", "instead of the configured limit (0: none)"),
    limit("--min-age-hours <n>", "instead of the configured one (0: none)"),
    { flags: "--drop-pinned", description: "let go of pinned ones too, if no rule keeps them" },
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
  group: GROUP,
  summary: "take contents out of the history: a secret that got in, a file that should never have been recorded",
  details:
    "A path with all beneath it, the SHA-256 of a content (`chronicle history --json` names it), or every path that a pattern matches. From then on " +
    "nothing gives these contents out, and what restores a state that had them leaves the path as it is and says so. Their bytes leave the " +
    "store with the first gc in 24 hours; until then `chronicle unerase` brings them back. The log keeps their hashes, by which a short secret can be guessed: change the secret as well. " +
    "What is kept aside of such files that git ignores goes as well. Command lines, messages and records of users are not reached. What a path has now is not erased: change or remove it first. A path that the rules leave out by now is an exception: it is recorded as gone, and its file stays on " +
    "disk. A file that has such a content later is left out and named, and stays on disk. Other workspaces keep what they have until it is erased there; folders that follow this one erase it as soon as they hear of it, but for what lies in them now, and keep the bytes for 24 hours of their own. Without a terminal it needs --yes. --now frees the bytes at once: only a person at a terminal can say so, and only while nobody is at work there.",
  args: [{ name: "[what]", description: "a path, or the SHA-256 of a content", completes: "path" }],
  options: [
    { flags: "--match <pattern>", description: "all paths that it matches or matched, as in a .gitignore" },
    { flags: "--reason <text>", description: "why: it stands in the log for ever" },
    { flags: "-n, --dry-run", description: "only show what would be erased" },
    { flags: "-y, --yes", description: "do not ask" },
    NOW,
  ],
  examples: [
    { line: "chronicle erase .env --dry-run", why: "which contents, and who else has them" },
    {
      line: "chronicle erase --match '*.pem' --reason 'keys do not belong here'",
      why: "every key that was ever recorded",
    },
  ],
};

export const UNERASE: CommandSpec = {
  name: "unerase",
  group: GROUP,
  summary: "bring back what was erased within the last 24 hours, or list what was erased",
  args: [{ name: "[id]", description: "an erasure's id, or its unique beginning" }],
  options: [],
  examples: [
    { line: "chronicle unerase", why: "what was erased, when, by whom and why" },
    { line: "chronicle unerase 3f2a", why: "cat, diff and restore as before" },
  ],
};

export const PIN: CommandSpec = {
  name: "pin",
  group: GROUP,
  summary: "keep an action or a snapshot from being pruned",
  args: [{ name: "<id>", description: "an action's id, a snapshot's number, name or id", completes: "moment" }],
  options: [{ flags: "--off", description: "no longer" }],
  examples: [
    { line: "chronicle pin 12", why: "snapshot 12 stays" },
    { line: "chronicle pin 3f2a --off", why: "as chronicle unpin" },
  ],
};

export const UNPIN: CommandSpec = {
  name: "unpin",
  group: GROUP,
  summary: "no longer keep an action or a snapshot from being pruned",
  args: [{ name: "<id>", description: "an action's id, a snapshot's number, name or id", completes: "moment" }],
  options: [],
  examples: [{ line: "chronicle unpin 12", why: "the next pruning may give it up" }],
};
