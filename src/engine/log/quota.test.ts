import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HostedProject } from "../../../test/helpers/hosted-project.ts";
import { Project } from "../../../test/helpers/project.ts";

const MIB = 1024 * 1024;
const REFUSED = { code: "LIMIT_EXCEEDED", message: expect.stringContaining("max_store_bytes") };

describe("the quota", () => {
  it("refuses new contents and keeps the old ones, so that rollback and undo still work", async () => {
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

  it("counts the stored bytes, so that contents that compress well have room", async () => {
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

  it("applies to files outside of the workspace: the action is stopped, and what was kept before comes back", async () => {
    await using project = new Project();
    const outside = join(project.base, "conf.bin");
    writeFileSync(outside, randomBytes(MIB));
    const before = readFileSync(outside);
    await (await project.init()).close();
    const store = await project.store({ retention: { max_store_bytes: 2 * MIB } });
    const workspace = await store.open({ folder: project.folder });
    const write = { type: "write_file", payload: { path: outside } };
    const action = await workspace.snapshotAction(write);
    writeFileSync(outside, "small");
    await workspace.finishAction(action?.id ?? "");
    writeFileSync(outside, randomBytes(2 * MIB));
    const { seq } = await workspace.status();
    await expect(workspace.snapshotAction(write)).rejects.toMatchObject(REFUSED);
    expect((await workspace.status()).seq).toBe(seq);
    const exposed = await workspace.snapshotAction({ ...write, onFailure: "warn" });
    expect(exposed?.coverage).toMatchObject({ complete: false });
    // A rollback may use the reserve.
    writeFileSync(outside, randomBytes(MIB));
    await workspace.rollback(action?.id ?? "", { outside: [outside] });
    expect(readFileSync(outside).equals(before)).toBe(true);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("applies to user records: large ones are refused, and records can still be deleted", async () => {
    await using project = new Project();
    await (await project.init()).close();
    const store = await project.store({ retention: { max_store_bytes: 2 * MIB } });
    const workspace = await store.open({ folder: project.folder });
    await workspace.records.upsert("small", { text: "x" });
    const large = { text: "x".repeat(2 * MIB) };
    await expect(workspace.records.upsert("large", large)).rejects.toMatchObject(REFUSED);
    await expect(workspace.records.migrate(() => large)).rejects.toMatchObject(REFUSED);
    expect((await workspace.records.all()).map(([id]) => id)).toEqual(["small"]);
    await workspace.records.delete("small");
    expect(await workspace.records.all()).toEqual([]);
  });

  it("does not replace the answer of a tool if its caller only wants a warning", async () => {
    await using project = new Project();
    await (await project.init()).close();
    const store = await project.store({ retention: { max_store_bytes: MIB } });
    const workspace = await store.open({ folder: project.folder });
    const write = (): string => {
      project.write("a.bin", randomBytes(2 * MIB));
      return "the tool's answer";
    };
    const request = { type: "write_file", payload: { path: "a.bin" } };
    expect(await workspace.action({ ...request, onFailure: "warn" }, write)).toBe("the tool's answer");
    const [action] = await workspace.list();
    expect([action?.state, action?.changed, action?.reason]).toEqual([
      "done",
      0,
      expect.stringContaining("could not be recorded"),
    ]);
    await expect(workspace.action({ type: "run_command", payload: { command: "make" } }, write)).rejects.toMatchObject(
      REFUSED,
    );
    await expect(workspace.finishAction(action?.id ?? "")).resolves.toMatchObject({ changes: [] });
    const other = await workspace.snapshotAction({ ...request, onFailure: "warn" });
    const end = await workspace.finishAction(other?.id ?? "", { onFailure: "warn" });
    expect(end.coverage).toMatchObject({ complete: false, omitted: [{ path: "a.bin" }] });
  });

  it("does not prevent the answer to a request that was done before, whatever the length of its content", async () => {
    await using project = new HostedProject();
    const { id } = await project.create();
    const store = await project.store({ retention: { max_store_bytes: 5 * MIB } });
    const workspace = await store.openById(id);
    const contents = [randomBytes(MIB / 2), randomBytes(2 * MIB)];
    const put = (i: number, content = contents[i] ?? "") =>
      workspace.putFile(`f${i}`, Buffer.from(content), { requestId: `request ${i}` });
    const answers = [await put(0), await put(1)];
    await workspace.putFile("rest", randomBytes(2 * MIB));
    const { seq } = await workspace.status();
    for (const i of [0, 1]) {
      expect(await put(i)).toEqual(answers[i]);
      await expect(put(i, randomBytes((i + 1) * MIB))).rejects.toMatchObject({ code: "USAGE" });
      await expect(workspace.putFile(`f${i}`, randomBytes((i + 1) * MIB), { requestId: "new" })).rejects.toMatchObject(
        REFUSED,
      );
    }
    expect((await workspace.status()).seq).toBe(seq);
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.close();
  });
});
