import type { CommandSpec, OptionSpec } from "./spec.ts";

const GROUP = "Files";

const IF_MATCH: OptionSpec = {
  flags: "--if-match <hash>",
  description:
    "write only if the hash of the present content is this one (*: any hash; none: the path does not exist); " +
    "else exit with 6",
};

export const FILES: CommandSpec = {
  name: "files",
  paged: true,
  group: GROUP,
  summary: "list the files as they are recorded, now or at a moment",
  details: "Files on disk that are not recorded yet are not listed; `chronicle status` shows them.",
  args: [{ name: "[path]", description: "a folder: only what is beneath it", completes: "path" }],
  options: [
    {
      flags: "--depth <n>",
      description: "how many levels of folders to list; 1: only direct children (default: all)",
      value: "count",
    },
    { flags: "--at <moment>", description: "list the files as they were at this moment", completes: "moment" },
  ],
  examples: [
    { line: "chronicle -w session-17 files", why: "all files of a workspace without a folder" },
    { line: "chronicle files src --depth 1 --at 10m", why: "the files in src ten minutes ago" },
    { line: "chronicle cat README.md", why: "print one of these files" },
  ],
};

export const PUT: CommandSpec = {
  name: "put",
  group: GROUP,
  summary: "write a file and record it at once; undo takes it back",
  details:
    "Also works in a workspace without a folder, and on a server (--remote). If there is a folder, its present state is " +
    "recorded first. Missing folders are made.",
  args: [
    { name: "<path>", description: "its path in the workspace", completes: "path" },
    {
      name: "[file]",
      description: "the file that holds the new content (default: stdin, which can also be written as -)",
      completes: "path",
    },
  ],
  options: [
    IF_MATCH,
    {
      flags: "--mode <octal>",
      description: "the file's permissions, such as 755 (default: unchanged; for a new file: 644)",
    },
  ],
  examples: [
    { line: "echo hello | chronicle -w session-17 put notes/hello.txt", why: "into a workspace without a folder" },
    { line: "chronicle put --if-match none config.json ./config.json", why: "only if there is none yet" },
    { line: "chronicle undo", why: "take it back" },
  ],
};

export const RM: CommandSpec = {
  name: "rm",
  group: GROUP,
  summary: "delete a file and record that; undo brings it back",
  args: [{ name: "<path>", description: "the file, link or folder", completes: "path" }],
  options: [
    { flags: "-r, --recursive", description: "delete a folder with everything in it" },
    {
      flags: "--if-match <hash>",
      description: "delete only if the hash of the present content is this one; else exit with 6",
    },
  ],
  examples: [
    { line: "chronicle -w session-17 rm notes/hello.txt", why: "its history stays" },
    { line: "chronicle -w session-17 rm -r notes", why: "a whole folder" },
  ],
};

export const MV: CommandSpec = {
  name: "mv",
  group: GROUP,
  summary: "move a file or folder and record that; undo moves it back",
  args: [
    { name: "<from>", description: "the file, link or folder", completes: "path" },
    { name: "<to>", description: "its new path (not the folder to put it in)", completes: "path" },
  ],
  options: [
    { flags: "--overwrite", description: "replace a file or link that is at <to> already" },
    {
      flags: "--if-match <hash>",
      description: "move only if the hash of the present content of <from> is this one; else exit with 6",
    },
  ],
  examples: [{ line: "chronicle -w session-17 mv draft.md final.md", why: "give the file another name" }],
};
