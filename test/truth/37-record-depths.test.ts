import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { decodeBase } from "../../src/core/log/base.ts";
import { parseHash } from "../../src/core/values/hash.ts";
import { Project } from "../helpers/project.ts";
import { storeParts } from "../helpers/store-parts.ts";

/** A record keeps how deep in nested agents it was made, even if parts of the log are dropped. */

/** Returns the recursion depths of users' records in the base on which the log continues. */
async function depthsIn(project: Project, { id }: WorkspaceApi): Promise<readonly (readonly [string, number])[]> {
  const log = readFileSync(join(project.home, "workspaces", id, "events.wal"), "utf8");
  const { base } = (JSON.parse(log.slice(0, log.indexOf("\n"))) as { record: { base: string } }).record;
  const { blobs } = await storeParts(project.home, project.configFolder);
  const depths: [string, number][] = [];
  const reader = await blobs.open(parseHash(base));
  for await (const { records = [] } of decodeBase(reader?.pieces() ?? []))
    for (const one of records)
      if (one.recordId.startsWith("user:")) depths.push([one.recordId, one.recursionDepth ?? 0]);
  await blobs.close();
  return depths;
}

describe("the recursion depth of records", () => {
  it("is kept by a compaction that drops the archive, and by the next one", async () => {
    await using project = new Project();
    const workspace = await project.init();
    await workspace.records.upsert("deep", { n: 1 }, { recursionDepth: 3 });
    await workspace.records.upsert("top", { n: 2 });
    for (let round = 0; round < 2; round += 1) {
      await workspace.compact({ dropArchive: true });
      expect(await depthsIn(project, workspace)).toEqual([
        ["user:deep", 3],
        ["user:top", 0],
      ]);
      expect((await workspace.verify()).problems).toEqual([]);
      project.write("a.txt", `${round}`);
      await workspace.snapshot({});
    }
  });

  it("passes verify after a compaction that keeps the archive", async () => {
    await using project = new Project();
    const workspace = await project.init();
    await workspace.records.upsert("deep", { n: 1 }, { recursionDepth: 3 });
    await workspace.compact({});
    expect((await workspace.verify()).problems).toEqual([]);
  });
});
