import { homedir } from "node:os";
import { crc32 } from "node:zlib";
import packageJson from "../../package.json" with { type: "json" };
import { NodeDisk } from "../disk/node-disk.ts";
import { failedHook, hookCommand } from "../daemon/hook-command.ts";
import { IS_CURRENT, programMark, STALE_EXIT } from "../daemon/hook-image.ts";
import { HookProcess } from "../daemon/hook-process.ts";

/**
 * Entry point of the installed hook, run if the server does not answer or is not asked: `hook.cjs AGENT [--strict]
 * [--direct] [--store DIR] [--parent PID]`. It exists beside `chronicle hook` because it starts faster: no table of
 * commands, no parser, one file. The script that starts it uses an image of it, or its compiled code, from the store's
 * cache.
 */
async function main([agent = "", ...rest]: readonly string[]): Promise<number> {
  const at = rest.indexOf("--store");
  const strict = rest.includes("--strict");
  const parent = rest.includes("--parent") ? Number(rest[rest.indexOf("--parent") + 1]) : 0;
  const words = {
    agent,
    strict,
    store: at < 0 ? undefined : rest[at + 1],
    direct: rest.includes("--direct"),
    ...(parent > 0 ? { parent } : {}),
  };
  try {
    return await hookCommand(new HookProcess(packageJson.version), words);
  } catch (error) {
    return failedHook(error, { strict, write: (text) => process.stderr.write(text) });
  }
}

/** Ends the process at once. Closing the engine first would take a tenth of the hook's time and save nothing. */
function end(code: number): void {
  // oxlint-disable-next-line unicorn/no-process-exit
  process.exit(code);
}

/** Runs the hook. Called at the end of the bundle, when that file itself was started. */
export function startHook(): void {
  void main(process.argv.slice(2)).then(end);
}

/** Returns the mark of the program, which an image stores. */
export function markOfImage(): string {
  // The bundle loads these modules on first use. These calls load them before the image is made.
  crc32("");
  homedir();
  return programMark(new NodeDisk());
}

/**
 * Runs the hook in a process that was started with an image, unless the program has changed. `mark`: the program's mark
 * when the image was made.
 */
export function startImage(mark: string): void {
  if (markOfImage() !== mark) end(STALE_EXIT);
  else if (process.argv[2] === IS_CURRENT) end(0);
  else startHook();
}
