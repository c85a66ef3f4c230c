import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Project } from "../../test/helpers/project.ts";

const MIB = 1024 * 1024;
const REFUSED = { code: "LIMIT_EXCEEDED", message: expect.stringContaining("max_store_bytes") };

describe("the quota", () => {
  it("keeps the old and refuses the new, loudly; going back still works", async () => {
    await using project = new Project();
    project.write("a.bin", randomBytes(MIB));
    const before = project.read("a.bin");
    await (await project.init()).close();
    const store = await project.store({ retention: { max_store_bytes: 3 * MIB } });
    const workspace = await store.open({ folder: project.folder });
    const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "a.bin" } });
    project.write("a.bin", randomBytes(MIB));
    await workspace.finishAction(action?.id ?? "");
    const { seq } = await workspace.status();
    project.write("big.bin", randomBytes(2 * MIB));
    await expect(workspace.snapshot()).rejects.toMatchObject(REFUSED);
    await expect(workspace.snapshotAction({ type: "run_command", payload: { command: "make" } })).rejects.toMatchObject(
      REFUSED,
    );
    expect((await workspace.status()).seq).toBe(seq);
    project.remove("big.bin");
    await workspace.rollback(action?.id ?? "");
    expect(project.read("a.bin")).toBe(before);
    await workspace.undo();
    expect((await workspace.verify()).problems).toEqual([]);
    expect((await workspace.du()).total_bytes).toBeLessThan(3 * MIB);
    await workspace.close();
  });

  it("stops a run before its command starts", async () => {
    await using project = new Project();
    project.write("a.bin", randomBytes(2 * MIB));
    await (await project.init()).close();
    const store = await project.store({ retention: { max_store_bytes: MIB } });
    const workspace = await store.open({ folder: project.folder });
    await expect(workspace.run({ command: ["sh", "-c", "echo x > made"] })).rejects.toMatchObject(REFUSED);
    expect(() => project.read("made")).toThrow();
    await workspace.prune({ keepLast: 1 });
    await workspace.close();
  });

  it("counts what is stored, not what is read: what compresses well has room", async () => {
    await using project = new Project();
    await (await project.init()).close();
    const store = await project.store({ retention: { max_store_bytes: 4 * MIB } });
    const workspace = await store.open({ folder: project.folder });
    for (let i = 0; i < 12; i += 1) {
      project.write(`${i}.txt`, `${i}`.repeat(MIB));
      await workspace.snapshot();
    }
    await workspace.close();
  });
});
