import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { mayBeSandboxed } from "../../daemon/command-call.ts";
import { launcherPath } from "../../daemon/program-paths.ts";
import { makeRunFolder, ownUid, runFolder } from "../../daemon/run-folder.ts";
import { startServer } from "../../daemon/start-server.ts";
import { NodeDisk } from "../../disk/node-disk.ts";

/**
 * Starts the long-lived process of a store, for later commands. Does nothing if the store does not exist, belongs to
 * another user or cannot be written. Does nothing, either, if a start was tried just before (see `startServer`), or if
 * this process may be in a sandbox. Ignores system errors and `ChronicleError`s, because every command also works
 * without the long-lived process.
 */
export function startProcess(home: string, env: Readonly<Record<string, string | undefined>>): void {
  const disk = new NodeDisk();
  const uid = ownUid();
  try {
    // The long-lived process has the rights of the process that starts it. A process in a sandbox does not start it,
    // because commands from outside of the sandbox have other rights, but would ask the same long-lived process.
    if (disk.lstat(`${home}/workspaces`)?.uid !== uid || mayBeSandboxed(disk)) return;
    const run = runFolder(disk, { env, home, uid });
    makeRunFolder(disk, run, uid);
    startServer(disk, { run, home, launcher: launcherPath(), env });
  } catch (error) {
    if (errnoOf(error) === undefined && !(error instanceof ChronicleError)) throw error;
  }
}
