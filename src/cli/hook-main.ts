import { homedir } from "node:os";
import { crc32 } from "node:zlib";
import packageJson from "../../package.json" with { type: "json" };
import { NodeDisk } from "../disk/node-disk.ts";
import { failedHook, hookCommand } from "../daemon/hook-command.ts";
import { IS_CURRENT, programMark, STALE_EXIT } from "../daemon/hook-image.ts";
import { HookProcess } from "../daemon/hook-process.ts";

/**
 * The entry point of the installed hook: `hook.cjs AGENT [--strict] [--direct] [--store DIR] [--parent PID]`. The
 * hook's script runs this program if the server does not answer, or if the script does not ask the server. The program
 * starts faster than `chronicle hook`, because it is one file without the table of commands and without a parser. The
 * script starts the program from an image (a startup snapshot of Node) or from compiled code. Both are in the store's
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

/**
 * Ends the process at once. The engine is not closed first, because closing it would take a tenth of the hook's time
 * and have no benefit.
 */
function end(code: number): void {
  // oxlint-disable-next-line unicorn/no-process-exit
  process.exit(code);
}

/** The last line of the bundle calls this function if the bundle is the started program. */
export function startHook(): void {
  void main(process.argv.slice(2)).then(end);
}

/** Returns the mark of the program (see `programMark`). An image stores the mark. */
export function markOfImage(): string {
  // The bundle loads these modules on first use. These calls load the modules before the image is made.
  crc32("");
  homedir();
  return programMark(new NodeDisk());
}

/**
 * Runs the hook in a process that was started from an image. If the program has changed since the image was made, exits
 * with `STALE_EXIT`. With the argument `IS_CURRENT`, exits with 0 instead of running the hook. `mark`: the mark of the
 * program when the image was made.
 */
export function startImage(mark: string): void {
  if (markOfImage() !== mark) end(STALE_EXIT);
  else if (process.argv[2] === IS_CURRENT) end(0);
  else startHook();
}
