import { ChronicleError } from "../../core/values/errors.ts";
import { compareHashed, LookTooLong, readDisk } from "../capture/read-disk.ts";
import type { Context } from "../log/context.ts";
import { type FollowState, recordingOf } from "./recording.ts";

/**
 * The limits of the scan. The limits are low, because a list of the history waits for the result. The scan of a large
 * folder is given up after `ms` milliseconds. Any scan is given up if it would have to read more than `bytes` bytes.
 */
const MOST = { ms: 100, bytes: 16 * 1024 ** 2 };

/**
 * Returns the number of paths whose state on disk differs from the recorded state. Returns `undefined` while a recorder
 * records all changes of the folder. Also returns `undefined` if the scan exceeds its limits (`MOST`), or if the folder
 * cannot be read, which `status` reports. Records nothing.
 */
export async function unrecordedPaths(context: Context, follow: FollowState | undefined): Promise<number | undefined> {
  try {
    if ((await recordingOf(context, follow)).state === "everything") return undefined;
    const reading = await readDisk(context, { hashOnly: true, atMost: MOST });
    const { changes } = await compareHashed(context, reading);
    const files = changes.filter(({ before, after }) => (after ?? before)?.kind !== "dir");
    return files.length === 0 ? changes.length : files.length;
  } catch (error) {
    if (error instanceof LookTooLong || error instanceof ChronicleError) return undefined;
    throw error;
  }
}
