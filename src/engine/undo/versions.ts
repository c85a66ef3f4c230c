import type { VersionsOptions } from "../../api/action-api.ts";
import type { VersionRestoreShape, VersionShape } from "../../api/action-shapes.ts";
import { type Entry, sameEntry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { contentsOfVersion } from "../../core/records/write-back-record.ts";
import { meantBy } from "../../core/values/meant-by.ts";
import { changeFiles } from "../capture/change-files.ts";
import { refused } from "../capture/refused.ts";
import type { Context } from "../log/context.ts";
import { fitOnePath } from "../capture/fit-one-path.ts";
import { parseGivenPath } from "../log/given-path.ts";
import { type KeptVersion, mustHaveVersion, readVersions } from "../facts/kept-versions.ts";
import { findMerge } from "./merged-version.ts";
import { settable } from "../capture/operate.ts";
import { changeShape, exactPath, shownPath } from "../log/shape.ts";
import { optional } from "../../util/optional.ts";

/**
 * Returns the states that replicas wrote back and that lost against others' work, oldest first. Throws `PATH_INVALID`.
 */
export async function listVersions(context: Context, { path }: VersionsOptions = {}): Promise<VersionShape[]> {
  const wanted = path === undefined ? undefined : parseGivenPath(path);
  const shapes: VersionShape[] = [];
  for (const version of await readVersions(context)) {
    if (wanted === undefined || version.record.path === wanted) shapes.push(await versionShape(context, version));
  }
  return shapes;
}

/**
 * Makes a version the state of its path: an operation that can be undone. What is there now is captured first. Throws
 * `NOT_FOUND`, `AMBIGUOUS`, `PRUNED`, and `REFUSED` where something stands in the way.
 */
export async function restoreVersion(context: Context, asked: string): Promise<VersionRestoreShape> {
  const found = await findVersion(context, asked);
  const { path, entry, replica } = found.record;
  await mustHaveVersion(context, found);
  return changeFiles(context, {}, async ({ seq }) => {
    const present = (await context.index.iterationAt(path, seq))?.entry;
    const hint = "move that away, and try again";
    const wanted = await fitOnePath(context, path, { present, target: settable(entry), hint });
    const version = await versionShape(context, found);
    return {
      kind: "restore",
      summary: `restore of ${shownPath(path)} as replica ${replica.slice(0, 8)} had it`,
      wanted,
      back: "decided",
      contents: contentsOfVersion(found.record),
      isWhole: true,
      report: ({ changes, skipped, id }) => {
        if (skipped.length > 0) throw refused(skipped);
        return { version, changes: changes.map(changeShape), undo_id: id ?? null };
      },
    };
  });
}

/** `<the replica's id, or its beginning>:<number>`. */
async function findVersion(context: Context, asked: string): Promise<KeptVersion> {
  const [, whose = "", number = ""] = /^(.+):(\d+)$/.exec(asked) ?? [];
  const found = meantBy(
    (await readVersions(context)).filter(({ record }) => String(record.localSeq) === number),
    whose,
    ({ record }) => record.replica,
  );
  const [only, second] = found;
  if (only === undefined) {
    throw new ChronicleError("NOT_FOUND", `there is no version ${JSON.stringify(asked)}`, {
      hint: "`chronicle versions` lists them",
    });
  }
  if (second === undefined) return only;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(asked)} stands for ${found.length} versions`, {
    hint: "say more of the replica's id",
  });
}

async function versionShape(context: Context, { ts, record }: KeptVersion): Promise<VersionShape> {
  const { path, replica, localSeq, entry, seen, against, actor, session, turn, action } = record;
  const lost = against === 0 ? undefined : await context.index.iterationAt(path, against);
  const isPresent = await isSoNow(context, path, entry);
  const merge = isPresent ? undefined : await findMerge(context, record);
  return {
    id: `${replica}:${localSeq}`,
    path: shownPath(path),
    ...exactPath(path),
    timestamp: ts,
    replica: { id: replica, local_seq: localSeq },
    kind: entry?.kind ?? null,
    size: entry?.size ?? 0,
    ...(entry === undefined ? {} : { permissions: entry.mode }),
    hash: entry?.hash ?? "",
    actor,
    ...optional({ session, turn, action }),
    based_on: seen,
    lost_to: { seq: against, iteration: lost?.iteration ?? 0 },
    ...(isPresent ? { is_present: true } : {}),
    ...(merge === undefined ? {} : { merged_in: { seq: merge.seq, iteration: merge.iteration } }),
  };
}

async function isSoNow(context: Context, path: WorkspacePath, entry: Entry | undefined): Promise<boolean> {
  const { seq } = await context.index.head();
  const present = (await context.index.iterationAt(path, seq))?.entry;
  // As it would be put on disk: some bits of a mode are never set.
  return sameEntry(present, entry) || sameEntry(present, settable(entry));
}
