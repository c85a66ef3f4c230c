import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { VerifyProblemShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { chronicleBin } from "./cli-package.ts";

/** Helpers for tests of failures: a shell in a mount namespace of its own, and questions to a workspace. */

export const isRoot = process.getuid?.() === 0;

/** True if this process can mount file systems in a mount namespace of its own. */
export const canMount =
  isRoot && spawnSync("unshare", ["-m", "sh", "-c", "mount -t tmpfs none /mnt"], { stdio: "ignore" }).status === 0;

/** The options of running a script. */
export interface ShellOptions {
  /** The folder of the script. Default: a temporary one, which is removed afterwards. */
  readonly folder?: string;
  /** Runs the script as this user (and group), without rights of root. Default: as the test. */
  readonly user?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Runs a bash script with the command `chronicle` and a home of its own, in a mount namespace of its own if that is
 * possible. Every line of it must succeed. Returns its stdout. If the script fails, throws an error with all of its
 * output.
 */
export function inMountSpace(script: string, options: ShellOptions = {}): string {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), "chronicle-shell-"));
  try {
    return runScript(folder, script, options);
  } finally {
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

function runScript(folder: string, script: string, { user, env }: ShellOptions): string {
  const home = join(folder, "home");
  mkdirSync(home, { recursive: true });
  // Other users must be able to enter the folder, and to write in it.
  for (const path of [folder, home]) chmodSync(path, 0o777);
  const bin = chronicleBin();
  chmodSync(dirname(dirname(bin)), 0o755);
  const file = join(folder, "script.sh");
  const chronicle = `chronicle() { "${process.execPath}" "${bin}" "$@"; }`;
  writeFileSync(file, `set -eEo pipefail\ntrap 'echo "line $LINENO: $BASH_COMMAND" >&2' ERR\n${chronicle}\n${script}`);
  const shell = ["bash", file];
  const drop = user === undefined ? [] : ["setpriv", `--reuid=${user}`, `--regid=${user}`, "--clear-groups"];
  const space = canMount ? ["unshare", "-m"] : [];
  const [command = "", ...args] = [...space, ...drop, ...shell];
  const ran = spawnSync(command, args, {
    cwd: folder,
    env: { CI: "true", PATH: process.env["PATH"], HOME: home, LC_ALL: "C.UTF-8", ...env },
    encoding: "utf8",
    maxBuffer: 256 * 1024 ** 2,
    timeout: 60_000,
  });
  if (ran.status !== 0) throw new Error(`the script ended with ${ran.status}: ${ran.stderr}\n${ran.stdout}`);
  return ran.stdout;
}

/** Reads the whole content of an iteration. Default: the last one. */
export async function contentOf(workspace: WorkspaceApi, path: string, iteration?: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of (await workspace.cat(path, iteration)).pieces()) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

/** Returns the problems that `verify` finds. */
export async function isSound(workspace: WorkspaceApi): Promise<readonly VerifyProblemShape[]> {
  return (await workspace.verify()).problems;
}

/**
 * Runs JavaScript (CommonJS, with `args`) in another process until it is disposed of. Resolves once the process has
 * started. `attempt` in the code ignores errors, because the files that the process works on come and go.
 */
export async function background(code: string, ...args: readonly string[]): Promise<Disposable> {
  const script = `const fs = require("fs"); const args = process.argv.slice(1);
    const attempt = (work) => { try { work(); } catch {} };
    console.log("begun"); ${code}`;
  const child = spawn(process.execPath, ["-e", script, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return { [Symbol.dispose]: () => void child.kill("SIGKILL") };
}
