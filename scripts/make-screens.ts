import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { screenSvg } from "./screens/screen-svg.ts";

/**
 * Makes the pictures of the terminal in docs/screens: plays the story of docs/recipes.md, and keeps what a terminal
 * (tmux) shows of each command. Needs tmux and a build: `npm run build && node scripts/make-screens.ts`.
 */

const repo = dirname(import.meta.dirname);
const base = mkdtempSync(join(tmpdir(), "chronicle-screens-"));

interface Screen {
  readonly name: string;
  readonly columns: number;
  /** The commands, of which the screen is what all of them have printed. */
  readonly commands: readonly string[];
  readonly title: string;
}

const SCREENS: readonly Screen[] = [
  {
    name: "timeline",
    columns: 160,
    commands: ["chronicle"],
    title: "chronicle lists what two agents and a person did, newest first",
  },
  {
    name: "timeline-80",
    columns: 80,
    commands: ["chronicle"],
    title: "the same in a terminal of 80 columns",
  },
  {
    name: "undo",
    columns: 110,
    commands: ["chronicle undo --actor codex --file parser.ts", "chronicle blame parser.ts", "chronicle redo"],
    title:
      "chronicle undo takes back what one agent did to a file, blame says who wrote each line, and redo brings it back",
  },
];

function must(command: string, words: readonly string[], env: NodeJS.ProcessEnv, cwd = base): string {
  const ran = spawnSync(command, words, { cwd, env, encoding: "utf8" });
  if (ran.status !== 0) throw new Error(`${command} ${words.join(" ")}: ${ran.stderr}`);
  return ran.stdout;
}

function environment(): NodeJS.ProcessEnv {
  const bin = join(base, "bin");
  for (const name of ["bin", "home"]) mkdirSync(join(base, name));
  const program = `#!/bin/sh\nexec '${process.execPath}' '${join(repo, "bin/chronicle.js")}' "$@"\n`;
  writeFileSync(join(bin, "chronicle"), program);
  chmodSync(join(bin, "chronicle"), 0o755);
  const path = `${bin}:${process.env["PATH"] ?? ""}`;
  return { PATH: path, HOME: join(base, "home"), LC_ALL: "C.UTF-8", TERM: "xterm-256color", CHRONICLE_DIRECT: "1" };
}

/** Returns the first runnable block of the recipes, which makes the repository and its story. */
function story(): string {
  const found = /```sh runnable\n(.*?)```/s.exec(readFileSync(join(repo, "docs/recipes.md"), "utf8"));
  if (found?.[1] === undefined) throw new Error("docs/recipes.md has no runnable block");
  return found[1];
}

/** Runs the commands in a terminal. Resolves to its lines with the escape sequences of their looks. */
async function shown({ columns, commands }: Screen, env: NodeJS.ProcessEnv): Promise<string> {
  const tmux = (...words: readonly string[]): string =>
    must("tmux", ["-S", join(base, "socket"), "-f", "/dev/null", ...words], env);
  const rc = join(base, "rc");
  writeFileSync(rc, "PS1='$ '\n");
  const size = ["-x", String(columns), "-y", "60"];
  tmux("new-session", "-d", ...size, "-c", join(base, "shop"), `exec bash --noprofile --rcfile ${rc}`);
  const isReady = (prompts: number): boolean => {
    const text = tmux("capture-pane", "-p", "-J").trimEnd();
    return text.endsWith("$") && (text.match(/^\$/gm) ?? []).length === prompts;
  };
  try {
    for (const [at, command] of commands.entries()) {
      while (!isReady(at + 1)) await sleep(50);
      tmux("send-keys", "-l", `${command} --no-pager`);
      tmux("send-keys", "Enter");
    }
    while (!isReady(commands.length + 1)) await sleep(50);
    const lines = tmux("capture-pane", "-p", "-e").replaceAll(" --no-pager", "").trimEnd().split("\n");
    // The last line is only the prompt for a next command.
    return lines.slice(0, -1).join("\n");
  } finally {
    tmux("kill-server");
  }
}

try {
  const env = environment();
  must("bash", ["-ec", story()], env);
  mkdirSync(join(repo, "docs/screens"), { recursive: true });
  for (const screen of SCREENS) {
    const path = join(repo, "docs/screens", `${screen.name}.svg`);
    writeFileSync(path, screenSvg(await shown(screen, env), screen));
    process.stdout.write(`${path}\n`);
  }
} finally {
  rmSync(base, { recursive: true, force: true });
}
