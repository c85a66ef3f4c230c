import { describe, expect, it } from "vitest";
import type { RecentShape } from "../../src/api/recent-api.ts";
import type { SnapshotShape } from "../../src/api/shapes.ts";
import { Sandbox } from "../cli/sandbox.ts";

describe("Truth: list after the archive was dropped", () => {
  it("offers no moment that is gone, and counts a snapshot's changes as list --snapshots does", async () => {
    using box = new Sandbox();
    box.write("a", "1\n");
    box.write("b", "1\n");
    await box.must(["init"]);
    box.write("a", "2\n");
    box.write("b", "2\n");
    await box.must(["snapshot"]);
    await box.must(["run", "--", "sh", "-c", "echo 3 > a; echo new > c"]);
    await box.must(["restore", "1"]);
    await box.must(["undo"]);
    await box.must(["undo", "--file", "a"]);
    box.write("a", "4\n");
    await box.must(["put", "d"], { input: "d\n" });
    box.write("b", "5\n");
    await box.must(["snapshot"]);
    await box.must(["compact", "--drop-archive", "--yes"]);
    for (const round of [0, 1]) {
      const { items } = (await box.json(["list"])).value as RecentShape;
      const all = (await box.json(["list", "--snapshots"])).value as SnapshotShape[];
      if (round === 0) {
        const last = items.find((item) => item.kind === "snapshot");
        expect(last?.changed).toBe(all.find(({ number }) => number === last?.snapshot)?.changed);
        expect(last).toMatchObject({ back: "" });
      } else
        expect(items[0]).toMatchObject({
          kind: "snapshot",
          changed: 1,
          back: expect.stringMatching(/^chronicle restore seq:/),
        });
      for (const { back, undone } of items) {
        const [, ...words] = back.split(" ");
        if (back === "" || undone === true) continue;
        const tried = await box.call([...words, "--dry-run"]);
        expect([back, tried.code, tried.stderr]).toEqual([back, 0, expect.not.stringContaining("compacted away")]);
      }
      box.write("a", "6\n");
      await box.must(["snapshot"]);
    }
  });
});
