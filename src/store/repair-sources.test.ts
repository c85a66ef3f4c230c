import { expect, test } from "vitest";
import { sha256 } from "../core/values/hash.ts";
import type { FoundContent } from "../storage/storage-backends.ts";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { simBackends } from "../testing/sim-store.ts";
import { repairSource } from "./repair-sources.ts";

const content = Buffer.from("a content");
const hash = sha256(content);

function rig(): { readonly disk: SimDisk; readonly backends: ReturnType<typeof simBackends> } {
  const disk = SimDisk.fromTree({ "/other": { folder: 0o700 }, "/root": { folder: 0o700 } });
  return { disk, backends: simBackends(disk, { firstId: 0 }) };
}

test("the backends decide whether a folder is a store, also if its contents are not in packs", async () => {
  const { backends } = rig();
  async function* findContents(home: string): AsyncGenerator<FoundContent> {
    yield { hash, size: content.length, where: home, pieces: () => [content] };
  }
  const isStore = (folder: string): boolean => folder === "/other";
  const found: string[] = [];
  const source = repairSource({ ...backends, isStore, findContents }, { store: "/other" });
  for await (const { where } of source.offers(new Map([[hash, content.length]]))) found.push(where);
  expect(found).toEqual(["/other"]);
});

test("a folder without packs is no store in files", () => {
  const { disk, backends } = rig();
  const wrong = expect.objectContaining({ code: "USAGE", message: "/other is no store" });
  expect(() => repairSource(backends, { store: "/other" })).toThrow(wrong);
  disk.makeFolder("/other/blobs", 0o700);
  disk.makeFolder("/other/blobs/packs", 0o700);
  expect(repairSource(backends, { store: "/other" }).name).toBe("/other");
});
