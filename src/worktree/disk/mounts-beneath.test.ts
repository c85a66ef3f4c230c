import { expect, it } from "vitest";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { mountsBeneath } from "./mounts-beneath.ts";

it("names the mounts at and beneath the folders, and no others", () => {
  const line = (id: number, point: string): string => `${id} 1 0:${id} / ${point} rw - tmpfs none rw`;
  const text = [line(1, "/"), line(2, "/a"), line(3, "/a/b\\040c"), line(4, "/ab"), line(5, "/x")].join("\n");
  const disk = SimDisk.fromTree({
    "/proc": { folder: 0o755 },
    "/proc/self": { folder: 0o755 },
    "/proc/self/mountinfo": text,
  });
  expect(mountsBeneath(disk, ["/a"]).split("\n")).toEqual([line(2, "/a"), line(3, "/a/b\\040c")]);
  expect(mountsBeneath(disk, ["/a/b c", "/x"]).split("\n")).toEqual([line(3, "/a/b\\040c"), line(5, "/x")]);
  expect(mountsBeneath(SimDisk.fromTree({}), ["/a"])).toBe("");
});
