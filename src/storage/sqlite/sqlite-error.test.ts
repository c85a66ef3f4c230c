import { expect, test } from "vitest";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { fromSqlite } from "./sqlite-error.ts";

/** Extended result codes of SQLite: the disk refused a write, and the disk is full. */
const WRITE_FAILED = 778;
const FULL = 13;

function converted(path: string, errcode: number): unknown {
  const disk = SimDisk.fromTree({ "/store/index.db": "" });
  return fromSqlite(Object.assign(new Error("disk I/O error"), { errcode }), { disk, path });
}

test("a disk error after which a test write succeeds says so", () => {
  expect(converted("/store/index.db", WRITE_FAILED)).toMatchObject({
    code: "IO",
    message: expect.stringMatching(/^\/store\/index\.db: disk I\/O error/),
    hint: expect.stringContaining("a test write there succeeded"),
  });
});

test("a disk error of a temporary database claims no test write, and names the database", () => {
  expect(converted("", WRITE_FAILED)).toMatchObject({
    code: "IO",
    message: expect.stringMatching(/^a temporary database: disk I\/O error/),
    hint: "check the disk, and try again",
  });
});

test("a full disk is named by its errno, also without a test write", () => {
  expect(converted("", FULL)).toMatchObject({ code: "IO", data: { errno: "ENOSPC" } });
});
