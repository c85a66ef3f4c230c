import { linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { NodeDisk } from "../disk/node-disk.ts";
import { StoreGauge, treeSize } from "./store-gauge.ts";

it("a store does not take the space of the git objects that are only linked into it", () => {
  const base = mkdtempSync(join(tmpdir(), "chronicle-gauge-"));
  try {
    const home = join(base, "store");
    const objects = join(home, "workspaces/one/git/0123456789abcdef/files/objects/pack");
    mkdirSync(objects, { recursive: true });
    writeFileSync(join(home, "workspaces/one/events.wal"), "12345");
    writeFileSync(join(base, "pack"), "x".repeat(1000));
    linkSync(join(base, "pack"), join(objects, "pack-a.pack"));
    const disk = new NodeDisk();
    expect([new StoreGauge(disk, home, () => 0).takes(), treeSize(disk, home)]).toEqual([5, 5]);
    rmSync(join(base, "pack"));
    expect([new StoreGauge(disk, home, () => 0).takes(), treeSize(disk, home)]).toEqual([5, 1005]);
  } finally {
    rmSync(base, { recursive: true });
  }
});
