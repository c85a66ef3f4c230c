import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { storageSuite } from "../../testing/storage-suite.ts";
import { memoryBackends } from "./memory-backends.ts";

storageSuite("memoryBackends", () => {
  const disk = SimDisk.fromTree({ "/store": { folder: 0o700 } });
  return {
    storage: memoryBackends({ disk, isStore: () => false, findContents: () => [] as never }),
    disk,
    home: "/store",
  };
});
