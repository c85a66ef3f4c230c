import type { CommandSpec } from "../spec.ts";

const GROUP = "Prove";

export const VERIFY: CommandSpec = {
  name: "verify",
  group: GROUP,
  summary: "recompute everything and list every problem",
  details:
    "Changes nothing. Exits 4 if something is damaged. With --repair-from, each content that is missing or damaged is looked " +
    "for by its SHA-256: among the files below a folder (that of the workspace, too), in another store, or at a server " +
    "(`origin`: the one that a replica follows; the token as with --remote). What is found is stored anew, and damaged files " +
    "of the store are put aside until the next gc. The history stays as it is. Exits 0 only if all is well afterwards.",
  args: [],
  options: [
    { flags: "--quick", description: "log, links, root and heads only; no contents" },
    {
      flags: "--expect <file>",
      description: "what head printed earlier (-: from stdin): also finds a log cut, replaced or rolled back since",
      completes: "path",
    },
    {
      flags: "--repair-from <place>",
      description: "heal contents from a folder, a store, a server's URL[#WORKSPACE], or origin",
      repeated: true,
      completes: "path",
    },
  ],
  examples: [
    { line: "chronicle verify", why: "check all" },
    { line: "chronicle verify --repair-from . --repair-from /mnt/backup/chronicle", why: "heal what rotted" },
    { line: "chronicle head > head.txt; chronicle verify --expect head.txt", why: "hold it to its word later" },
  ],
};

export const HEAD: CommandSpec = {
  name: "head",
  group: GROUP,
  summary: "the signed head: what commits to the whole history",
  details: "A signed note (C2SP checkpoint). Keep it anywhere else; `verify --expect` holds the log to it.",
  args: [],
  options: [],
  examples: [
    { line: "chronicle head > head.txt", why: "keep it" },
    { line: "chronicle head --json", why: "with its parts and the key" },
  ],
};
