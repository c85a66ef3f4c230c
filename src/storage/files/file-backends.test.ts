import { MemoryBlobIndex } from "../memory/memory-blob-index.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { simBackends } from "../../testing/sim-store.ts";
import { storageSuite } from "../../testing/storage-suite.ts";

/** An index that several stores share. The index stays open when one of the stores closes it. */
class SharedBlobIndex extends MemoryBlobIndex {
  override close(): void {}
}

storageSuite("fileBackends on a simulated disk", () => {
  const disk = SimDisk.fromTree({ "/store": { folder: 0o700 } });
  const opened = { index: new SharedBlobIndex(), fresh: true, readOnly: false };
  return { storage: simBackends(disk, { firstId: 0, blobIndex: () => opened }), disk, home: "/store" };
});
