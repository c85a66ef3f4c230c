import { expect, it } from "vitest";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { SyncTokens } from "./sync-tokens.ts";

const ID = "0d5c7a3e-6f0a-4c43-9f0e-1d2c3b4a5e6f";

it("keeps a token, and its removal, whatever a power cut loses", () => {
  const disk = SimDisk.fromTree({ "/config": { folder: 0o700 } });
  const tokens = new SyncTokens(disk, "/config");
  tokens.keep(ID, "chr_one");
  const cut = disk.crash("forget");
  expect(new SyncTokens(cut, "/config").get(ID)).toBe("chr_one");
  const after = new SyncTokens(cut, "/config");
  after.remove(ID);
  after.remove(ID);
  expect(new SyncTokens(cut.crash("forget"), "/config").get(ID)).toBeUndefined();
});
