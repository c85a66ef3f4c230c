import type { CommandSpec } from "../spec.ts";

const GROUP = "Prove";

export const VERIFY: CommandSpec = {
  name: "verify",
  group: GROUP,
  summary: "recompute everything and list every problem",
  details: "Changes nothing. Exits 4 if something is damaged.",
  args: [],
  options: [
    { flags: "--quick", description: "log, links, root and heads only; no contents" },
    {
      flags: "--expect <file>",
      description: "what head printed earlier (-: from stdin): also finds a log cut, replaced or rolled back since",
      completes: "path",
    },
  ],
  examples: [
    { line: "chronicle verify", why: "check all" },
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
