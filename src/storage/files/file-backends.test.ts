import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { simBackends } from "../../testing/sim-store.ts";
import { storageSuite } from "../../testing/storage-suite.ts";

storageSuite("fileBackends on a simulated disk", () => {
  const disk = SimDisk.fromTree({ "/store": { folder: 0o700 } });
  return { storage: simBackends(disk, { firstId: 0 }), disk, home: "/store" };
});
