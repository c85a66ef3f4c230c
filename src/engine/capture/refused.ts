import type { ForcedShape, RestoreShape } from "../../api/shapes.ts";
import type { Change } from "../../core/values/entry.ts";
import { ChronicleError, type ErrorCode } from "../../core/values/errors.ts";
import type { IntentRecord } from "../../core/records/records.ts";
import type { Context } from "../log/context.ts";
import { missingContent } from "../facts/pruning.ts";
import { shownPath, skippedShape } from "../log/shape.ts";
import type { SkippedPath } from "./seen-absent.ts";

/** The errors of operations that could not be done at all. */

const MOST_PATHS = 5;

function namesOf(paths: readonly SkippedPath[]): string {
  const shown = paths.slice(0, MOST_PATHS).map((one) => `${shownPath(one.path)} (${one.reason}: ${one.detail})`);
  const more = paths.length > shown.length ? ` and ${paths.length - shown.length} more` : "";
  return `nothing was changed, because these paths cannot be changed: ${shown.join(", ")}${more}`;
}

/**
 * The refused operation. `force`: true if the operation was forced already. A restore without `brings` is not a
 * rollback. Its error also suggests naming other paths.
 */
type Refused = Pick<IntentRecord, "kind" | "brings"> & { readonly force?: boolean };

export function refused(
  paths: readonly SkippedPath[],
  { kind, brings, force = false }: Refused = { kind: "restore" },
): ChronicleError {
  const others = kind === "restore" && brings === undefined ? ", name other paths," : "";
  const way = force ? "" : `${others} or use --force to leave these paths alone and do the rest`;
  return new ChronicleError("REFUSED", namesOf(paths), {
    hint: `remove the cause and try again${way}`,
    data: { blocked: paths.map(skippedShape) },
  });
}

/** Returns the error `BLOB_MISSING` if the store lacks contents that it should have. Returns `REFUSED` if not. */
export async function whyRefused(
  context: Context,
  operation: Refused & { readonly wanted: readonly Change[] },
  blocked: readonly SkippedPath[],
): Promise<ChronicleError> {
  const lost = await damagedAmong(context, operation.wanted, blocked);
  if (lost.length === 0) return refused(blocked, operation);
  const way = operation.force === true ? "" : "; --force leaves these alone and does the rest";
  return new ChronicleError("BLOB_MISSING", namesOf(lost), {
    hint:
      "their contents are missing or damaged in the store: `chronicle verify --repair-from PLACE` heals them from a folder, another " +
      `store or a server${way}`,
    data: { blocked: blocked.map(skippedShape) },
  });
}

async function damagedAmong(
  context: Context,
  changes: readonly Change[],
  blocked: readonly SkippedPath[],
): Promise<SkippedPath[]> {
  const hashes = new Map(changes.map(({ path, after }) => [path, after?.hash]));
  const lost: SkippedPath[] = [];
  for (const one of blocked) {
    const { path, reason } = one;
    const hash = hashes.get(path);
    if (reason !== "content-missing" || hash === undefined) continue;
    const what = `the earlier content of ${shownPath(path)}`;
    const { code, message } = await missingContent(context, { path, hash, what });
    // For a path that was blocked on disk, `detail` can be the hash alone. It is then replaced by `message`, which says
    // more.
    if (code === "BLOB_MISSING") lost.push({ path, reason, detail: one.detail === hash ? message : one.detail });
  }
  return lost;
}

/** The codes of refusals after which the operation may still be done in part with `force`. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(["REFUSED", "PRUNED", "ERASED", "BLOB_MISSING"]);

function isRefusal(error: unknown): error is ChronicleError {
  return error instanceof ChronicleError && REFUSALS.has(error.code);
}

export interface ForcedHow {
  readonly dryRun?: boolean | undefined;
  readonly force?: boolean | undefined;
}

export type ChangedShape = Pick<RestoreShape, "changes"> & Partial<Pick<RestoreShape, "skipped">>;

/**
 * Carries out an operation, or its dry run. A dry run throws the error that the operation would throw. If that error is
 * a refusal, its `data.forced` (a `ForcedShape`) says what the operation would do with `force`. `data.forced` is `null`
 * if the operation would be refused with `force`, too.
 */
export async function orForced<Shape extends ChangedShape>(
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

const MOST_TOLD = 100;
const MOST_NAMED = 5;

function forcedShape({ changes, skipped = [] }: ChangedShape): ForcedShape {
  return {
    total_changes: changes.length,
    changes: changes.slice(0, MOST_TOLD),
    total_skipped: skipped.length,
    skipped: skipped.slice(0, MOST_TOLD),
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
