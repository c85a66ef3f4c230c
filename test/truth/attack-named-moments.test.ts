import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

describe("Truth: names of moments and snapshots in messages", () => {
  it("changes since a moment names it in a form that can be given again", async () => {
    using box = new Sandbox();
    box.write("a", "0\n");
    await box.must(["init"]);
    for (const content of ["1", "2", "3"]) {
      box.write("a", `${content}\n`);
      await box.must(["snapshot"]);
    }
    const { stdout } = await box.must(["changes", "--since", "0", "-p"]);
    const told = await box.json(["changes", "--since", "0"]);
    const { selection } = told.value as { selection: string };
    const named = selection.replace("since ", "");
    expect((await box.must(["changes", "--since", named, "-p"])).stdout).toBe(stdout);
    expect(stdout).toContain("-0\n+3\n");
  });

  it("pin says that no snapshot and no action has that name", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    const { code, stderr } = await box.call(["pin", "99"]);
    expect([code, stderr]).toEqual([3, expect.stringContaining('there is no snapshot and no action "99"')]);
    expect(stderr).toContain("chronicle list --snapshots");
  });
});
