import { ChronicleError } from "../core/values/errors.ts";
import type { UpstreamLayout } from "../storage/layout.ts";
import type { Backends } from "./backends.ts";

/**
 * The maximum time, in milliseconds, to wait for the lock. Waiting helps if the process that holds the lock is about to
 * end.
 */
const WAIT_MS = 2_000;

/**
 * Takes the lock that lets only one process sync a workspace. Disposing of the result releases the lock. The folder
 * `upstream/` must exist. Throws `LOCKED` if another process syncs the workspace.
 */
export async function followOrigin(backends: Pick<Backends, "openLock">, layout: UpstreamLayout): Promise<Disposable> {
  const lock = await backends.openLock(layout.follower);
  try {
    const held = await lock.exclusive(WAIT_MS);
    return {
      [Symbol.dispose]: () => {
        held.release();
        lock.close();
      },
    };
  } catch (error) {
    lock.close();
    if (!(error instanceof ChronicleError) || error.code !== "LOCKED") throw error;
    throw new ChronicleError("LOCKED", "another process syncs this workspace", {
      hint: "`chronicle sync stop FOLDER` ends that sync, and so does Ctrl-C in the terminal in which it runs",
      data: error.data,
      cause: error,
    });
  }
}
