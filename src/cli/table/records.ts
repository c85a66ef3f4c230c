import type { CommandSpec, OptionSpec } from "./spec.ts";

const GROUP = "Records";

const FOLDER: OptionSpec = {
  flags: "--folder <dir>",
  description: "a record store of its own in this folder (default: the workspace of the current folder)",
  completes: "path",
  localOnly: { why: "--folder is on this machine, and the server elsewhere", instead: "for no server: --remote ''" },
};

export const RECORD: CommandSpec = {
  name: "record",
  group: GROUP,
  summary: "JSON records of your own on the hash-chained log: put, get, delete, list, replay, export, verify",
  details:
    "put writes a record (a JSON object; -: from stdin), get prints one, delete leaves a tombstone: no line is ever " +
    "removed. list shows what is there, replay every event of records, export one JSON line for each record. verify " +
    "recomputes the whole chain and exits 4 if something is damaged. compact moves the log into the archive, backup " +
    "copies it all into a new folder beneath <id>. A missing record exits 3.",
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
    { flags: "--from <seq>", description: "replay from this event on", value: "count" },
    { flags: "--depth <n>", description: "how deep in nested agents (put, delete; default 0)", value: "count" },
  ],
  examples: [
    { line: `chronicle record put FACT-001 '{"text": "the sky is blue"}'`, why: "durable when it returns" },
    { line: "chronicle record get FACT-001", why: "print it" },
    { line: "chronicle record list --folder ~/facts", why: "a store that belongs to no workspace" },
    { line: "chronicle record export > records.ndjson", why: "what is not deleted, a line each" },
  ],
};

export const IMPORT: CommandSpec = {
  name: "import",
  group: GROUP,
  summary: "bring in the records of another program's log, verified line by line",
  details:
    "chronomemory: the original's events.wal. Every line's hash and link is checked first; the first that is wrong is " +
    "named, and nothing is imported. Times, head and SHA-256 of the original are kept in one event before its records, and " +
    "what of it could not be verified, with --accept-checkpoint or --up-to-tear, is named there.",
  args: [{ name: "<file>", description: "the log", completes: "path" }],
  options: [
    { flags: "--from <program>", description: "whose log it is: chronomemory", completes: ["chronomemory"] },
    FOLDER,
    { flags: "--round-numbers", description: "round integers beyond 2^53 instead of refusing the file" },
    {
      flags: "--accept-checkpoint",
      description: "of a compacted log: take the records of the snapshot.json beside it, which nothing vouches for",
    },
    { flags: "--up-to-tear", description: "take what stands in front of the first line that does not verify" },
  ],
  examples: [
    { line: "chronicle import --from chronomemory .chronomemory/events.wal", why: "into this workspace" },
    { line: "chronicle import --from chronomemory events.wal --folder ~/facts", why: "into a store of its own" },
  ],
};
