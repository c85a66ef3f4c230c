import { describe, expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";

const FORBIDDEN = { code: "FORBIDDEN", hint: expect.stringContaining("a person can") };

describe("an agent", () => {
  it("cannot prune, pin, compact, collect, configure or rebuild, and every attempt is recorded", async () => {
    await using project = new Project();
    project.write("a.txt", "1");
    const workspace = await project.init();
    await workspace.close();
    const agent = await project.open({ role: "agent" });
    const attempts: readonly (readonly [string, () => Promise<unknown>])[] = [
      ["prune", () => agent.prune({ keepLast: 0 })],
      ["pin", () => agent.pin("0", false)],
      ["compact", () => agent.compact({ dropArchive: true })],
      ["gc", () => agent.gc()],
      ["configure", () => agent.configure({ excludePatterns: ["*", "npm_abcdefghijklmnopqrstuvwxyz012345"] })],
      ["rebuild", () => agent.rebuild()],
      ["records.compact", () => agent.records.compact()],
    ];
    for (const [, attempt] of attempts) await expect(attempt()).rejects.toMatchObject(FORBIDDEN);
    const recorded = await agent.log({ prefix: "refused:" });
    expect(recorded.map((one) => (one.record as { what: string }).what)).toEqual(attempts.map(([what]) => what));
    expect(recorded[0]?.record).toMatchObject({ actor: "agent", detail: '[{"keepLast":0}]' });
    expect(recorded[4]?.record).toMatchObject({ detail: '[{"excludePatterns":["*","***"]}]' });
    const refusals = await agent.refusals();
    expect(refusals.map(({ kind, what }) => `${kind} ${what}`)).toEqual(attempts.map(([what]) => `operation ${what}`));
    expect(refusals[0]).toMatchObject({ event: recorded[0]?.seq, actor: "agent", detail: '[{"keepLast":0}]' });
    expect((await agent.verify()).problems).toEqual([]);
    await agent.close();
  });

  it("that was denied a tool call has it among the refused attempts, with the reason", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "a.txt" }, actor: "claude" });
    await workspace.finishAction(action?.id ?? "", { outcome: "denied", reason: "not that file" });
    expect(await workspace.refusals()).toMatchObject([
      { id: action?.id, kind: "tool_call", what: "write_file: a.txt", detail: "not that file", actor: "claude" },
    ]);
  });

  it("has each refused attempt once, however often they are listed, and those that a compaction dropped no more", async () => {
    await using project = new Project();
    const workspace = await project.init();
    const agent = workspace.as({ role: "agent", actor: "claude" });
    const deny = async (path: string): Promise<void> => {
      const action = await workspace.snapshotAction({ type: "write_file", payload: { path }, actor: "claude" });
      expect(await listed()).not.toContain(`write_file: ${path}`);
      await workspace.finishAction(action?.id ?? "", { outcome: "denied", reason: "no" });
    };
    const listed = async (): Promise<string[]> => (await workspace.refusals()).map(({ what }) => what);
    await deny("a");
    expect(await listed()).toEqual(["write_file: a"]);
    await expect(agent.gc()).rejects.toMatchObject(FORBIDDEN);
    await deny("b");
    const all = await workspace.refusals();
    expect(all.map(({ what }) => what)).toEqual(["write_file: a", "gc", "write_file: b"]);
    for (const one of all) one.what = "changed by the caller";
    expect(await listed()).toEqual(["write_file: a", "gc", "write_file: b"]);
    await workspace.compact({ dropArchive: true });
    const kept = await workspace.refusals();
    await workspace.close();
    const again = await project.open();
    expect(await again.refusals()).toEqual(kept);
    await again.close();
  });

  it("can do its work, and roll it back", async () => {
    await using project = new Project();
    project.write("a.txt", "1");
    await (await project.init()).close();
    const agent = await project.open({ role: "agent" });
    const action = await agent.action({ type: "write_file", payload: { path: "a.txt" } }, (made) => {
      project.write("a.txt", "2");
      return made;
    });
    await agent.rollback(action?.id ?? "");
    expect(project.read("a.txt")).toBe("1");
    expect(agent.path).toBe(project.folder);
    await agent.close();
  });

  it("can be the role of a store, which then refuses to collect, forget and prune", async () => {
    await using project = new Project();
    await (await project.init()).close();
    const store = await project.store({ role: "agent" });
    const workspace = await store.open({ folder: project.folder });
    await expect(store.gc()).rejects.toMatchObject(FORBIDDEN);
    await expect(store.forget(workspace.id)).rejects.toMatchObject(FORBIDDEN);
    await expect(workspace.prune()).rejects.toMatchObject(FORBIDDEN);
    expect((await workspace.log({ prefix: "refused:" })).length).toBe(3);
    await workspace.close();
  });
});
