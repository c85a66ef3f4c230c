import { spawn } from "node:child_process";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import type { GitCommand, GitOutput, RunGit } from "../worktree/git/run-git.ts";

/** The maximum length, in characters, of git's own error text in a report. */
const MOST_ERROR = 300;

export interface GitProgramOptions {
  readonly disk: Pick<Disk, "realpath" | "lstat">;
  /** Returns the folders from which no program is started, because others can write to them: the tracked folders. */
  readonly untrusted: () => readonly string[];
}

/** Returns the function that runs git. The function starts no `git` that lies in an untrusted folder. */
export function gitRunner(options: GitProgramOptions): RunGit {
  return async (command) => {
    // Only `PATH` is read from the environment, because git is looked up in it.
    // oxlint-disable-next-line node/no-process-env
    const found = findGit(process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin", options);
    if (found === undefined) return { stdout: Buffer.alloc(0), problem: "git is not installed" };
    return runGit(found, command);
  };
}

/** The absolute path of git, and the `PATH` for the programs that git itself starts. */
export interface GitProgram {
  readonly program: string;
  readonly PATH: string;
}

/**
 * Finds git in the folders of a `PATH`. Leaves out a folder whose path is not absolute, a folder within an untrusted
 * folder, and a `git` that is a link into an untrusted folder. An npm script, for example, has `node_modules/.bin` in
 * its `PATH`, and an agent can put a program there. Returns `undefined` if no git remains.
 */
function findGit(path: string, { disk, untrusted }: GitProgramOptions): GitProgram | undefined {
  const realOf = (name: string): string | undefined => {
    try {
      return disk.realpath(name);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return undefined;
    }
  };
  const kept = untrusted().map((folder) => realOf(folder) ?? folder);
  const isSafe = (real: string): boolean =>
    !kept.some((folder) => real === folder || real.startsWith(folder === "/" ? folder : `${folder}/`));
  const named = path.split(":").filter((folder) => folder.startsWith("/"));
  const folders = named.map(realOf).filter((real) => real !== undefined && isSafe(real));
  const programs = folders.map((folder) => `${folder === "/" ? "" : folder}/git`);
  const program = programs.find((one) => {
    const real = realOf(one);
    if (real === undefined || !isSafe(real)) return false;
    const stat = disk.lstat(real);
    return stat?.kind === "file" && (stat.mode & 0o111) !== 0;
  });
  return program === undefined ? undefined : { program, PATH: folders.join(":") };
}

/** Runs git, in the folder `/`. Never rejects: `problem` says why git failed. */
function runGit(
  { program, PATH }: GitProgram,
  { args, env, input, mostBytes, timeoutMs }: GitCommand,
): Promise<GitOutput> {
  const { promise, resolve } = Promise.withResolvers<GitOutput>();
  const child = spawn(program, args, { cwd: "/", env: { ...env, PATH }, stdio: "pipe", timeout: timeoutMs });
  const pieces: Buffer[] = [];
  let bytes = 0;
  let errors = "";
  let isTooLong = false;
  child.stdout.on("data", (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= mostBytes) pieces.push(piece);
    else if (!isTooLong) isTooLong = child.kill("SIGKILL");
  });
  child.stderr.on("data", (piece: Buffer) => (errors = `${errors}${piece.toString()}`.slice(0, MOST_ERROR)));
  // If git ends before it has read everything, the pipe breaks. The exit code then tells the reason.
  child.stdin.on("error", () => undefined);
  child.on("error", (error: NodeJS.ErrnoException) => {
    const problem = error.code === "ENOENT" ? "git is not installed" : `git cannot be started (${error.code ?? "?"})`;
    resolve({ stdout: Buffer.alloc(0), problem });
  });
  child.on("close", (code, signal) => {
    const stdout = Buffer.concat(pieces);
    if (code === 0) resolve({ stdout });
    else if (isTooLong) resolve({ stdout, problem: `more than ${mostBytes} bytes` });
    else if (signal !== null) resolve({ stdout, problem: `git was ended by ${signal}` });
    else resolve({ stdout, problem: errors.trim() || `git ended with exit code ${code ?? "?"}` });
  });
  child.stdin.end(input);
  return promise;
}
