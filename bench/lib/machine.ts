import { spawnSync } from "node:child_process";
import { cpus, platform, release, totalmem } from "node:os";

/** The machine of the measurements, and the versions of the other tools. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly system: string;
  readonly node: string;
  readonly git: string | undefined;
  readonly restic: string | undefined;
}

/** Returns the first line that the program prints; `undefined` if it is not installed or fails. */
function versionOf(program: string, ...args: string[]): string | undefined {
  const run = spawnSync(program, args, { encoding: "utf8" });
  return run.status === 0 ? run.stdout.split("\n")[0] : undefined;
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()}`,
    node: process.versions.node,
    git: versionOf("git", "--version"),
    restic: versionOf("restic", "version"),
  };
}
