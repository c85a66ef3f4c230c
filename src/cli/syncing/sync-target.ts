import { dirname, resolve } from "node:path";
import type { SyncApi, SyncShape } from "../../api/sync-api.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { meantBy } from "../../core/values/meant-by.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import type { CommandContext } from "../support/context.ts";
import { printable } from "../../process/printable.ts";

/**
 * Finds the sync that is meant: by its folder, its id or the beginning of it. If nothing is typed: the one of
 * `--workspace`, else that of the current folder, else the only one that is not stopped. Throws `NOT_FOUND`,
 * `AMBIGUOUS`.
 */
export async function targetOf(context: CommandContext, syncs: SyncApi, typed: string | undefined): Promise<SyncShape> {
  const all = await syncs.list();
  const named = typed ?? context.input.text("workspace");
  if (named !== undefined) return namedOf(all, named, context.io.cwd());
  const around = syncAround(all, context.io.cwd());
  if (around !== undefined) return around;
  const going = all.filter(({ state }) => state !== "stopped");
  return onlyOf(going.length === 0 ? all : going, "there is no sync");
}

/** Finds the sync that a typed path is in; else the one that is meant without it. Throws `NOT_FOUND`, `AMBIGUOUS`. */
export async function targetHolding(context: CommandContext, syncs: SyncApi, path: string): Promise<SyncShape> {
  const isNamed = context.input.text("workspace") !== undefined;
  const above = dirname(resolve(context.io.cwd(), path));
  return (isNamed ? undefined : syncAround(await syncs.list(), above)) ?? targetOf(context, syncs, undefined);
}

/** Finds the sync with the innermost folder around a folder. */
function syncAround(all: readonly SyncShape[], place: string): SyncShape | undefined {
  const at = realFolder(place);
  const around = all.filter(({ folder }) => at === folder || at.startsWith(`${folder}/`));
  return around.toSorted((a, b) => b.folder.length - a.folder.length)[0];
}

function namedOf(all: readonly SyncShape[], named: string, cwd: string): SyncShape {
  const folder = realFolder(resolve(cwd, named));
  const exact = all.filter((one) => one.id === named || one.folder === folder);
  if (exact.length > 0) return onlyOf(exact, "");
  return onlyOf(
    meantBy(all, named, ({ id }) => id),
    `there is no sync ${printable(named)}`,
  );
}

function onlyOf(found: readonly SyncShape[], none: string): SyncShape {
  const [only, second] = found;
  if (only === undefined) {
    throw new ChronicleError("NOT_FOUND", none, {
      hint: "`chronicle sync status` lists them; `chronicle sync start URL#WORKSPACE FOLDER` begins one",
    });
  }
  if (second === undefined) return only;
  throw new ChronicleError("AMBIGUOUS", `there are ${found.length} syncs that may be meant`, {
    hint: [
      "name one by its folder or its id:",
      ...found.map(({ id, folder }) => `  ${id.slice(0, 8)}  ${folder}`),
    ].join("\n"),
    data: { syncs: found.map(({ id }) => id) },
  });
}

/** A folder in the engine's form; a missing one stays as it is. */
function realFolder(path: string): string {
  try {
    return new NodeDisk().realpath(path);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return path;
  }
}
