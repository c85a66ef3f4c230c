import type { ForcedShape, RestoreShape } from "../../api/shapes.ts";
import { ChronicleError, type ErrorCode } from "../../core/values/errors.ts";

/** The codes of an operation that is not done as it is asked for, and of which `force` may do a part. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(["REFUSED", "PRUNED", "ERASED", "BLOB_MISSING"]);

function isRefusal(error: unknown): error is ChronicleError {
  return error instanceof ChronicleError && REFUSALS.has(error.code);
}

/** Options of an operation that can be forced. */
export interface ForcedHow {
  readonly dryRun?: boolean | undefined;
  readonly force?: boolean | undefined;
}

/**
 * Carries an operation out, or a dry run of it. A dry run refuses what the operation itself would refuse, by the same error; its
 * `data.forced` (a `ForcedShape`) is what it would do with `force`, and `null` where it would refuse that as well.
 */
export async function orForced<Shape extends RestoreShape>(
  { dryRun, force = false }: ForcedHow,
  go: (force: boolean) => Promise<Shape>,
): Promise<Shape> {
  try {
    return await go(force);
  } catch (error) {
    if (dryRun !== true || force || !isRefusal(error)) throw error;
    const result = await go(true).catch((again: unknown) => {
      if (isRefusal(again)) return null;
      throw again;
    });
    const { code, message, hint, data } = error;
    const forced = result === null ? null : forcedShape(result);
    throw new ChronicleError(code, message, {
      hint: [...(hint === undefined ? [] : [hint]), forcedHint(forced)].join("\n"),
      data: { ...data, forced },
      cause: error,
    });
  }
}

/** The most paths of each kind in an error. */
const MOST_PATHS = 100;
/** The most of them that are named to people. */
const MOST_NAMED = 5;

function forcedShape({ changes, skipped }: RestoreShape): ForcedShape {
  return {
    total_changes: changes.length,
    changes: changes.slice(0, MOST_PATHS),
    total_skipped: skipped.length,
    skipped: skipped.slice(0, MOST_PATHS),
  };
}

function forcedHint(forced: ForcedShape | null): string {
  if (forced === null) return "with --force nothing would be changed either";
  const { changes, total_changes: total, total_skipped: left } = forced;
  const named = changes.slice(0, MOST_NAMED).map(({ path }) => path);
  const more = total > named.length ? ` and ${total - named.length} more` : "";
  const stays = left === 0 ? "" : `; ${left} would be left as they are`;
  if (total === 0) return `with --force nothing would be changed${stays}`;
  return `with --force these would be changed: ${named.join(", ")}${more}${stays} (\`--force --dry-run\` lists them)`;
}
