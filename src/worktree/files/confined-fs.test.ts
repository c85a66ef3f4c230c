import { expect, it } from "vitest";
import type { WorkspacePath } from "../../core/values/path.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { ConfinedFs } from "./confined-fs.ts";

const at = (path: string): WorkspacePath => path as WorkspacePath;

it("isNamedSo knows the names that were made in a folder since it was listed", () => {
  const disk = SimDisk.fromTree({ "/w/d/a": "a", "/w/e/f": "f" });
  using fs = new ConfinedFs(disk, "/w");
  using other = new ConfinedFs(disk, "/w");
  const makes: readonly (readonly [string, () => void])[] = [
    ["d/file", () => fs.create(at("d/file"), 0o644)[Symbol.dispose]()],
    ["d/folder", () => fs.makeFolder(at("d/folder"), 0o755)],
    ["d/link", () => fs.symlink(Buffer.from("a"), at("d/link"))],
    ["d/second", () => fs.link(at("d/a"), at("d/second"))],
    ["d/renamed", () => fs.renameFile(at("d/second"), at("d/renamed"))],
    ["d/came", () => other.renameFile(at("e/f"), at("d/came"), fs)],
  ];
  for (const [path, make] of makes) {
    expect(fs.isNamedSo(at("d/a"))).toBe(true);
    make();
    expect([path, fs.isNamedSo(at(path))]).toEqual([path, true]);
  }
  // A removal drops the remembered list: on a disk that ignores case, the file may be made again in another spelling.
  for (const remove of [() => fs.unlink(at("d/file")), () => fs.removeFolder(at("d/folder"))]) {
    expect(fs.isNamedSo(at("d/a"))).toBe(true);
    remove();
  }
  disk.rename("/w/d/a", "/w/d/file");
  expect(fs.isNamedSo(at("d/file"))).toBe(true);
});
