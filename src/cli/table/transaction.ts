import type { CommandSpec } from "./spec.ts";

export const TRANSACTION: CommandSpec = {
  name: "transaction",
  group: "Record",
  summary: "changes that land whole or are taken back whole: begin, commit, rollback, list",
  details:
    "begin prints an id; what is changed from then on belongs to it, until it is committed or rolled back. Begun within " +
    "another one it is a savepoint. rollback takes back exactly its changes, merged with later work of others; what " +
    "does not merge stays as it is, and is a conflict. Without an id, the innermost active one is meant.",
  args: [
    { name: "<what>", description: "what to do", completes: ["begin", "commit", "rollback", "list"] },
    { name: "[id]", description: "the transaction, or the beginning of its id", completes: "operation" },
  ],
  options: [
    { flags: "--name <name>", description: "begin: for people" },
    { flags: "--session <id>", description: "begin: only the actions of this agent's session belong to it" },
    { flags: "--pid <pid>", description: "begin: rolled back when this process is gone", value: "count" },
    { flags: "--keep", description: "begin, with --pid: committed instead" },
    { flags: "--force", description: "rollback: leave what cannot be changed and do the rest" },
  ],
  examples: [
    { line: "chronicle transaction begin --name refactoring", why: "from here on …" },
    { line: "chronicle transaction rollback", why: "… and back to here" },
    { line: "chronicle run --rollback-on-failure -- make", why: "a transaction around one command" },
  ],
};
