import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { BenchContext } from "./bench.ts";
import type { Command } from "./command.ts";
import { gitTool } from "./git-tool.ts";
import type { Row } from "./result.ts";

const TIMES = 50;

/**
 * Measures in milliseconds how long git takes for the requests that a file server gets: the content of a path at a
 * commit, the list of paths, and one object from `git http-backend`. This backend serves objects by their hash,
 * compressed as they are stored. One object is less than a real read needs, because a client must first read the commit
 * and the trees to find a file's hash.
 */
export function timeGitReads(context: BenchContext, path: string, text: string): Row[] {
  const tree = context.scratch.fresh("git-reads-tree");
  mkdirSync(dirname(join(tree, path)), { recursive: true });
  writeFileSync(join(tree, path), text);
  const store = context.scratch.fresh("git-reads-store");
  const commands = gitTool.begin(tree, store).record();
  for (const command of commands) run(command);
  const env = commands[0]?.env ?? {};
  const git = (...args: string[]): Command => ({ argv: ["git", ...args], cwd: tree, env });
  const hash = run(git("rev-parse", `HEAD:${path}`))
    .toString()
    .trim();
  const cgi = {
    ...git("http-backend"),
    env: {
      ...env,
      GIT_PROJECT_ROOT: store,
      GIT_HTTP_EXPORT_ALL: "1",
      REQUEST_METHOD: "GET",
      PATH_INFO: `/git/objects/${hash.slice(0, 2)}/${hash.slice(2)}`,
    },
  };
  return [
    time("git cat-file blob HEAD:FILE, p50", git("cat-file", "blob", `HEAD:${path}`), (out) =>
      out.equals(Buffer.from(text)),
    ),
    time("git ls-tree -r HEAD, p50", git("ls-tree", "-r", "HEAD"), (out) => out.includes(path)),
    time("git http-backend, one loose object, p50", cgi, (out) => out.includes("application/x-git-loose-object")),
  ];
}

function time(what: string, command: Command, isRight: (out: Buffer) => boolean): Row {
  const samples = Array.from({ length: TIMES }, () => {
    const started = performance.now();
    const out = run(command);
    const ms = performance.now() - started;
    if (!isRight(out)) throw new Error(`${what}: wrong answer`);
    return ms;
  });
  return { what, unit: "ms", samples };
}

function run({ argv: [program = "", ...args], cwd, env }: Command): Buffer {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, env });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${String(stderr)}`);
  return stdout;
}
