import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/open.ts";
import { Sandbox } from "../cli/sandbox.ts";

describe("Truth: show, sessions and changes say the same of a session", () => {
  it("of an agent's session, they leave out what a person changed meanwhile", async () => {
    using box = new Sandbox();
    await box.must(["init"]);
    const store = await openStore({ home: box.store, configFolder: join(box.folder, "config", "chronicle") });
    const workspace = await store.open({ folder: box.project });
    await workspace.startSession({ id: "sess", actor: "agent" });
    box.write("persons", "1\n");
    const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "own" }, session: "sess" });
    box.write("own", "1\n");
    await workspace.finishAction(action?.id ?? "");
    await workspace.close();
    await store.close();
    const { stdout } = await box.must(["show", "sess"]);
    expect(stdout).toContain("changes   1 created\n  + own  2 B\n");
    expect(stdout).not.toContain("persons");
    const { value } = await box.json(["changes", "--session", "sess"]);
    expect(value).toMatchObject({ changes: [{ path: "own" }] });
    // The session is still running.
    expect((await box.must(["sessions"])).stdout).toMatch(/running +1 change /);
    expect((await box.json(["sessions"])).value).toMatchObject([{ state: "running", changed: 1 }]);
    expect((await box.json(["show", "sess"])).value).toMatchObject({ state: "running", changed: 1 });
  });

  it("of work that was compacted away, they say so, and not that nothing was changed", async () => {
    using box = new Sandbox();
    box.write("a", "1\n");
    await box.must(["run", "--", "sh", "-c", "echo 2 > a"]);
    await box.must(["compact", "--drop-archive", "--yes"]);
    expect((await box.must(["show"])).stdout).toMatch(/\nchanges {3}what the session .* was compacted away by event /);
    const gone = await box.call(["changes", "--file", "a"]);
    expect([gone.code, gone.stderr]).toEqual([3, expect.stringContaining("what was changed in a was compacted away")]);
    await box.must(["run", "--", "sh", "-c", "echo 3 > a"]);
    expect((await box.must(["changes", "--file", "a"])).stdout).toMatch(/\nnote: what was changed in a before event /);
  });

  it("history names the iterations whose content was pruned", async () => {
    using box = new Sandbox();
    for (const content of ["one", "two", "three"]) {
      box.write("a", `${content}\n`);
      await box.must(["snapshot"]);
    }
    box.write("a", "four\n");
    await box.must(["snapshot"]);
    await box.must(["prune", "--keep-last", "1", "--min-age-hours", "0", "--yes"]);
    const { stdout } = await box.must(["history", "a"]);
    expect(stdout).toMatch(/@2 .*\(pruned by event \d+\)\n/);
    expect(stdout).not.toMatch(/@4 .*pruned/);
  });
});
