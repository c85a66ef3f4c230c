import { createHash } from "node:crypto";
import type { FileApi, FileShape } from "../api/file-api.ts";
import type { RestoreShape } from "../api/shapes.ts";
import type { RestoreOptions } from "../api/workspace-api.ts";
import type { FolderTraits } from "../core/tree/folder-traits.ts";
import type { Entry } from "../core/values/entry.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { type Hash, parseHash } from "../core/values/hash.ts";
import { isWithin, splitRoot, type WorkspacePath } from "../core/values/path.ts";
import { givenOfShown } from "../core/text/shown-path.ts";
import { ahead } from "../util/ahead.ts";
import { fillFolder, meantBy, withoutGit } from "../engine/capture/fill-folder.ts";
import { parseGivenPath } from "../engine/log/known-paths.ts";
import { FolderProbe } from "../worktree/files/folder-probe.ts";
import type { ContentReader } from "../worktree/worktree.ts";
import type { Backends } from "../store/backends.ts";
import { emptyWorktree, refuseFilled } from "../store/empty-worktree.ts";

/** The number of contents that are fetched concurrently. */
const AT_ONCE = 8;
/**
 * The size in bytes up to which a content is fetched into memory as a whole. A larger content is written to disk piece
 * by piece while it arrives.
 */
const SMALL = 256 * 1024;

/** A workspace that may be on another machine. */
export type Source = Pick<FileApi, "files" | "blob">;

/**
 * Fills an empty folder of this machine (`options.to`) with the files of a workspace elsewhere, as of a moment. Checks
 * every content against its hash during the write. Leaves out protected files whose bytes the caller may not have.
 * Throws `NOT_FOUND` if a requested path did not exist at that moment, and `REFUSED` if the folder is not empty. Throws
 * `FORBIDDEN` if all requested files are left out as protected.
 */
export async function restoreFrom(
  source: Source,
  moment: string,
  options: RestoreOptions & { readonly to: string },
  backends: Pick<Backends, "disk" | "now" | "newId">,
): Promise<RestoreShape> {
  const { files } = await source.files({ at: moment });
  const asked = options.paths?.map(parseGivenPath);
  const { entries, skipped } = await withoutGit(
    meantEntries(files.map(entryOf), options.paths),
    asked,
    async () => false,
  );
  const secrets = new Set(files.filter((file) => file.protected === true).map((file) => entryOf(file).path));
  const withheld = await withheldBy(
    source,
    entries.filter(({ path }) => secrets.has(path)),
  );
  const shape = await fillFolder(entries, {
    look: async () => refuseFilled(backends.disk, options.to),
    withheld,
    target: async () => emptyWorktree(backends, options.to, { traitsOf: probedTraits(backends) }),
    contents: (hashes) => ahead(hashes, AT_ONCE, (hash) => opened(source, hash)),
    token: backends.newId(),
    options,
  });
  return { ...shape, skipped: [...skipped, ...shape.skipped] };
}

function probedTraits({ disk, newId }: Pick<Backends, "disk" | "newId">): (folder: string) => FolderTraits {
  const probe = new FolderProbe({ disk, memory: new Map(), mayWrite: true, newMark: newId });
  return (folder) => probe.of(folder);
}

const GONE: ReadonlySet<string> = new Set(["NOT_FOUND", "PRUNED", "ERASED"]);

async function withheldBy(source: Source, secrets: readonly Entry[]): Promise<WorkspacePath[]> {
  const kept: WorkspacePath[] = [];
  for (const { path, hash } of secrets) if (hash !== undefined && (await isWithheld(source, hash))) kept.push(path);
  return kept;
}

/**
 * True if the source refuses to give out the bytes of a content. Reads the first bytes to find out, because the refusal
 * comes only with the bytes, not with the call of `blob`.
 */
async function isWithheld(source: Source, hash: Hash): Promise<boolean> {
  try {
    const content = await source.blob(hash);
    const bytes = content.pieces()[Symbol.asyncIterator]();
    await bytes.next();
    await bytes.return?.();
    return false;
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    if (error.code === "FORBIDDEN") return true;
    // A content that is gone is not withheld. The later fetch reports the content as missing.
    if (GONE.has(error.code)) return false;
    throw error;
  }
}

function meantEntries(entries: readonly Entry[], given: readonly string[] | undefined): Entry[] {
  const paths = given?.map(parseGivenPath);
  const missing = given?.find((_, at) => {
    const path = paths?.[at];
    return path !== undefined && splitRoot(path).path !== "" && !entries.some((one) => isWithin(one.path, path));
  });
  if (missing !== undefined) {
    throw new ChronicleError("NOT_FOUND", `${JSON.stringify(missing)} was not there at that moment`, {
      data: { path: missing },
    });
  }
  const isMeant = meantBy(paths);
  return entries.filter(({ path }) => isMeant(path));
}

function entryOf(file: FileShape): Entry {
  const { kind, permissions, size, mtime_ms: mtimeMs, mtime_ns: mtimeRestNs, hash } = file;
  const content = kind === "dir" ? undefined : parseHash(hash);
  const path = parseGivenPath(givenOfShown(file));
  return { path, kind, mode: permissions, size, mtimeMs, mtimeRestNs, hash: content };
}

async function opened(source: Source, hash: Hash): Promise<readonly [Hash, ContentReader | undefined]> {
  try {
    const content = await source.blob(hash);
    const { size } = content;
    if (size > SMALL) return [hash, { size, pieces: () => checked(content.pieces(), hash) }];
    const held = Buffer.concat(await Array.fromAsync(content.pieces()));
    return [hash, { size, pieces: () => checked(once(held), hash) }];
  } catch (error) {
    if (error instanceof ChronicleError && GONE.has(error.code)) return [hash, undefined];
    throw error;
  }
}

async function* checked(pieces: AsyncIterable<Uint8Array>, hash: Hash): AsyncIterable<Uint8Array> {
  const seen = createHash("sha256");
  for await (const piece of pieces) {
    seen.update(piece);
    yield piece;
  }
  if (seen.digest("hex") === hash) return;
  throw new ChronicleError("BLOB_CORRUPT", `the bytes that were received for the content ${hash} have another hash`, {
    data: { hash },
  });
}

async function* once(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
