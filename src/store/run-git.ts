import { spawn } from "node:child_process";
import type { GitCommand, GitOutput } from "../worktree/git/run-git.ts";

/** The longest text of an error of git that is reported, in characters. */
const MOST_ERROR = 300;

/**
 * Runs git. The folder is `/`, so that an entry of `PATH` that is no absolute path finds nothing of a workspace. Never
 * rejects: `problem` says why git failed.
 */
export function runGit({ args, env, input, mostBytes, timeoutMs }: GitCommand): Promise<GitOutput> {
  // Only PATH is taken over, because without it git could not be found.
  // oxlint-disable-next-line node/no-process-env
  const PATH = process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin";
  const { promise, resolve } = Promise.withResolvers<GitOutput>();
  const child = spawn("git", args, { cwd: "/", env: { ...env, PATH }, stdio: "pipe", timeout: timeoutMs });
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
