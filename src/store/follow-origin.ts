import { ChronicleError } from "../core/values/errors.ts";
import type { UpstreamLayout } from "../storage/files/layout.ts";
import type { Backends } from "./backends.ts";

/** How long one that is just being stopped is waited for, in ms. */
const WAIT_MS = 2_000;

/**
 * Takes the place of the one process that may follow a workspace's origin; it is given back by disposing of it. The folder
 * `upstream/` must be there. Throws `LOCKED` where another one has it.
 */
export async function followOrigin(backends: Pick<Backends, "lock">, layout: UpstreamLayout): Promise<Disposable> {
  const lock = backends.lock(layout.follower);
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
      hint: "`chronicle sync stop FOLDER` ends it, and so does Ctrl-C where it runs in a terminal",
      data: error.data,
      cause: error,
    });
  }
}
