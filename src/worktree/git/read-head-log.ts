import { errnoOf } from "../../core/values/errors.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import { childOf, ROOT } from "../../core/values/path.ts";
import { type ReflogLine, parseReflog } from "../../core/records/git-reflog.ts";

/** The maximum number of bytes that are read from the end of a reflog. */
const MOST_BYTES = 256 * 1024;

const HEAD_LOG = childOf(childOf(ROOT, "logs"), "HEAD");

/**
 * Returns the last lines of HEAD's reflog, the oldest first. The list is empty if the reflog cannot be read. Follows no
 * link.
 */
export function readHeadLog(fs: ConfinedFs): readonly ReflogLine[] {
  try {
    using file = fs.openRead(HEAD_LOG);
    const { kind, size } = fs.fstat(file);
    if (kind !== "file") return [];
    const bytes = Buffer.alloc(Math.min(size, MOST_BYTES));
    let filled = 0;
    while (filled < bytes.length) {
      const count = fs.read(file, bytes.subarray(filled), size - bytes.length + filled);
      if (count === 0) break;
      filled += count;
    }
    return parseReflog(bytes.toString("utf8", 0, filled));
  } catch (error) {
    if (errnoOf(error) !== undefined) return [];
    throw error;
  } finally {
    fs.release();
  }
}
