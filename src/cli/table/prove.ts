import type { CommandSpec } from "./spec.ts";

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
      localOnly: {
        why: "a store is repaired on its own machine, not through a server",
        instead: "run it there, or with --remote '' for the store of this machine",
      },
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
  details:
    "A signed note (C2SP checkpoint). Keep it anywhere else; `verify --expect` holds the log to it. Where the history is not " +
    "signed (the kept head or the key is missing, or not its own), none is printed, and it exits 6. Where the log " +
    "contradicts the kept head (it was cut or replaced, or the store was put back from an older copy), nothing can be recorded. " +
    "In both cases --accept goes on from what is there: an event names the log's end and the old head, whose note is kept. " +
    "Without a terminal it needs --yes.",
  args: [],
  options: [
    {
      flags: "--accept",
      description: "go on from what is there, with a new head: for people",
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
