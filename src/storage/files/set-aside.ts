import { isHash, type Hash } from "../../core/values/hash.ts";
import type { PackRow } from "../blob-index.ts";
import type { SetAsideWish } from "../blob-store.ts";
import { withTrouble } from "../io-trouble.ts";
import { catchUpPacks } from "./blob-recovery.ts";
import type { BlobFiles, PackLeases } from "./pack-leases.ts";
import { makeFolderOnce } from "./large-writer.ts";
import { PackRewriter } from "./pack-rewriter.ts";

/**
 * Implements `BlobStore.setAside`. The caller holds the collector's lock exclusively.
 *
 * The order for each pack is that of a collection (`collectBlobs`). First, the readable contents are copied and synced.
 * Second, the index durably gets the places of the copies. Third, the pack is moved into quarantine.
 */
export async function setDamagedAside(
  files: BlobFiles,
  lanes: PackLeases,
  wish: Pick<SetAsideWish, "files" | "keep">,
): Promise<readonly string[]> {
  // Removes from the index the packs whose files are missing.
  await catchUpPacks(files, lanes);
  const aside: string[] = [];
  const rewriter = new PackRewriter(files, lanes);
  try {
    const sealed = await rewriter.sealAll([...wish.files].flatMap((ulid) => files.index.packOf(ulid) ?? []));
    for (const file of wish.files) {
      const pack = files.index.packOf(file);
      // Skip a pack that could not be sealed because another holder has its lane.
      if (pack !== undefined && !sealed.has(file)) continue;
      const isAside =
        pack === undefined ? moveLarge(files, file) : await movePack(files, rewriter, { pack, keep: wish.keep });
      if (isAside) aside.push(file);
    }
  } finally {
    rewriter.close();
  }
  return aside;
}

interface DamagedPack {
  readonly pack: PackRow;
  readonly keep: (hash: Hash) => boolean;
}

/**
 * Copies the readable contents of a pack, and moves the pack into quarantine. Returns false, and moves nothing, if the
 * file of the pack is missing, or if a content that must be kept is damaged.
 */
async function movePack(files: BlobFiles, rewriter: PackRewriter, { pack, keep }: DamagedPack): Promise<boolean> {
  const { index, layout } = files;
  const placed = index.inPack(pack.id);
  const copied = placed.length === 0 ? {} : await rewriter.copy(pack, placed, { mayDrop: (hash) => !keep(hash) });
  if (copied === undefined) return false;
  index.apply({ forgetPacks: [pack.id], ...copied, replace: true, durable: true });
  move(files, { from: layout.sealedPack(pack.ulid), folder: layout.packs, name: `${pack.ulid}.pack` });
  return true;
}

/**
 * Moves the file of a large content if the index names another copy of the content. Returns true if the file was moved.
 */
function moveLarge(files: BlobFiles, path: string): boolean {
  const { disk, layout, index } = files;
  const [name = ""] = path.split("/").slice(-1);
  const hash = name.slice(0, 64);
  if (!isHash(hash)) return false;
  const isPacked = name !== hash;
  if (path !== (isPacked ? layout.largePacked(hash) : layout.largeRaw(hash)) || disk.lstat(path) === undefined)
    return false;
  const place = index.find(hash);
  if (place === undefined || (place.kind === "large" && place.packed === isPacked)) return false;
  move(files, { from: path, folder: layout.largeFolder(hash), name });
  return true;
}

function move(
  { disk, layout }: BlobFiles,
  { from, folder, name }: { readonly from: string; readonly folder: string; readonly name: string },
): void {
  withTrouble(`putting ${from} aside`, () => {
    makeFolderOnce(disk, layout.quarantine);
    disk.syncFolder(layout.folder);
    disk.rename(from, `${layout.quarantine}/${name}`);
    disk.syncFolder(layout.quarantine);
    disk.syncFolder(folder);
  });
}
