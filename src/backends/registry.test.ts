import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { storageSuite } from "../testing/storage-suite.ts";
import { nodeBackends, nodeDisk, storePlace } from "./registry.ts";

let base = "";
beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), "chronicle-registry-"));
});
afterAll(() => rmSync(base, { recursive: true, force: true }));

storageSuite("the backends of a store in a folder", () => {
  return { storage: nodeBackends(), disk: nodeDisk, home: mkdtempSync(join(base, "store-")) };
});

storageSuite("the backends of a store in memory", () => {
  const { backends, home } = storePlace({ home: "memory:", configFolder: "/none" }, { once: false });
  const folder = join(base, `memory-${home.slice(-26)}`);
  nodeDisk.rename(home, folder);
  return { storage: backends, disk: nodeDisk, home: folder };
});

describe("the place of a store", () => {
  const how = { once: false };
  const config = { configFolder: "/config" };

  it("is a folder, given as a path or as a URL", () => {
    expect(storePlace({ ...config, home: base }, how)).toMatchObject({ home: base, configFolder: "/config" });
    expect(storePlace({ ...config, home: pathToFileURL(base).href }, how)).toMatchObject({ home: base });
  });

  it("is the memory of this process, with a folder for small files that `end` removes", () => {
    const { home, configFolder, end } = storePlace({ ...config, home: "memory:" }, how);
    expect(configFolder).toBe(`${home}/config`);
    expect(nodeDisk.lstat(home)).toMatchObject({ kind: "dir", mode: 0o700 });
    end();
    expect(nodeDisk.lstat(home)).toBeUndefined();
  });

  it("is refused if the address is of any other kind", () => {
    for (const home of ["s3://bucket/store", "memory:two"])
      expect(() => storePlace({ ...config, home }, how)).toThrow("there is no storage for");
  });
});
