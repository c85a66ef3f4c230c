import { ChronicleError } from "../../core/values/errors.ts";
import { compareHashed, LookTooLong, readDisk } from "../capture/read-disk.ts";
import type { Context } from "../log/context.ts";
import { type FollowState, recordingOf } from "./recording.ts";

/**
 * Limits a look beside a list: the time, in milliseconds, after which the scan of a large folder is given up, and the
 * bytes that are read.
 */
const MOST = { ms: 100, bytes: 16 * 1024 ** 2 };

/**
 * Returns the number of paths that differ from what is recorded, if nobody records them at present. Returns `undefined`
 * if somebody records, and if it is not known: because the folder is large, because much was changed, or because the
 * folder cannot be looked at, which `status` reports. Records nothing.
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
