import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { amountFor, type Bench, type BenchContext } from "./lib/bench.ts";
import { chronicleCommand, LIMITS_OFF } from "./lib/chronicle-tool.ts";
import { type Command, runCommand, timeCommands } from "./lib/command.ts";
import { gitTool } from "./lib/git-tool.ts";

const FILES = 5_000;
/** Each file has about so many bytes, in each of two states. */
const FILE_BYTES = 100_000;
const STATES = 2;
/** A text that is in one file, and a pattern that is in one line of each file. */
const TEXT = "value77 = seek(4711";
const PATTERN = String.raw`value9\d = seek\(\d+, "last"\)`;

export const searchContents: Bench = {
  name: "search-contents",
  promise: "a search for a pattern in 1 GB of kept contents takes at most 5 s, with all cores",
  run(context) {
    const files = amountFor(context, { what: "files", all: FILES });
    const tree = context.scratch.fresh("search-contents-tree");
    const chronicle = chronicleCommand(tree, context.scratch.fresh("search-contents-store"));
    const git = gitTool.begin(tree, context.scratch.fresh("search-contents-git"));
    const env = git.record()[0]?.env ?? {};
    for (let state = 0; state < STATES; state += 1) {
      context.say(`recording ${files} files, state ${state + 1} of ${STATES}`);
      writeFiles(tree, files, state);
      timeCommands([state === 0 ? chronicle("init", ...LIMITS_OFF) : chronicle("snapshot"), ...git.record()]);
    }
    const gitCommand = (...args: string[]): Command => ({ argv: ["git", ...args], cwd: tree, env });
    const both = (...args: string[]): Command => chronicle("grep", "--history", ...args);
    refuseOther(both("--json", "-l", PATTERN), files * STATES);
    const samples = (command: Command): number[] => timed(context, command);
    return {
      rows: [
        {
          what: "git log -S, the same text in the same states",
          unit: "ms",
          samples: samples(gitCommand("log", "-S", TEXT)),
        },
        {
          what: "git grep, the same pattern in the last state only",
          unit: "ms",
          samples: samples(gitCommand("grep", "-lE", PATTERN.replaceAll(String.raw`\d`, "[0-9]"), "HEAD")),
        },
      ],
      ratios: [
        { what: "a text", unit: "ms", samples: samples(both("-F", TEXT)), target: { kind: "at-most", value: 5_000 } },
        {
          what: "a pattern",
          unit: "ms",
          samples: samples(both("-l", PATTERN)),
          target: { kind: "at-most", value: 5_000 },
        },
      ],
      notes: [
        `${files} files of ${FILE_BYTES / 1000} kB in ${STATES} states, ${Math.round((files * STATES * FILE_BYTES) / 1e6)} MB of different contents. The time is that of the whole command, without the store's process`,
      ],
    };
  },
};

/** Returns the milliseconds of each round. */
function timed({ options }: BenchContext, command: Command): number[] {
  return Array.from({ length: options.rounds }, () => 1000 * timeCommands([command]));
}

function refuseOther(command: Command, contents: number): void {
  const found = JSON.parse(runCommand(command)) as { contents: number; total_matches: number; complete: boolean };
  if (found.contents !== contents || !found.complete || found.total_matches === 0)
    throw new Error(`${found.contents} contents were searched, not ${contents}`);
}

function writeFiles(tree: string, files: number, state: number): void {
  for (let file = 0; file < files; file += 1) {
    const folder = join(tree, `folder${file % 50}`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${file}.ts`), textOf(file, state));
  }
}

function textOf(file: number, state: number): string {
  const lines: string[] = [];
  for (let bytes = 0, line = 0; bytes < FILE_BYTES; line += 1) {
    const end = line === 99 ? "last" : "some text";
    const text = `  const value${line % 100} = seek(${(file * 7919 + state * 104_729 + line * 31) % 1_000_003}, "${end}");\n`;
    lines.push(text);
    bytes += text.length;
  }
  return lines.join("");
}
