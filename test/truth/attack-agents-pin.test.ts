import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";
import { Project } from "../helpers/project.ts";
import { Serving } from "../server/serving.ts";

/** What one verb refuses to an agent, every field with the same effect refuses as well. */

describe("Truth: a pin by an agent", () => {
  it("is refused by `pin` and by `snapshot --pin`, and both attempts are recorded", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    const env = { CHRONICLE_ROLE: "agent" };
    for (const line of [
      ["pin", "0"],
      ["snapshot", "--pin"],
    ])
      expect([line, (await box.call(line, { env })).code]).toEqual([line, 6]);
    await box.must(["snapshot", "--name", "mine"], { env });
    const { value } = await box.json(["list", "--snapshots"]);
    expect((value as { pinned: boolean }[]).map(({ pinned }) => pinned)).toEqual([true, false]);
    const attempts = (await box.must(["log", "--json", "--prefix", "refused:"])).stdout.match(/"what":"pin"/g);
    expect(attempts).toHaveLength(2);
    await box.must(["snapshot", "--pin"]);
  });

  it("is refused in a request with an agent's token or role", async () => {
    await using serving = await Serving.start();
    const id = await serving.create("w");
    const path = `/v1/workspaces/${id}/snapshots`;
    const token = serving.token("agent");
    expect((await serving.send(path, { pin: true }, { token })).status).toBe(403);
    expect((await serving.send(path, { pin: true }, { headers: { "chronicle-role": "agent" } })).status).toBe(403);
    expect((await serving.send(path, { pin: false }, { token })).status).toBe(201);
    expect((await serving.send(path, { pin: true })).status).toBe(201);
  });

  it("is refused in a workspace that is opened as a person's from an agent's store", async () => {
    await using project = new Project();
    project.write("a.txt", "one\n");
    await (await project.init()).close();
    const store = await project.store({ role: "agent" });
    const workspace = await store.open({ folder: project.folder, role: "person" });
    await expect(workspace.pin("0")).rejects.toMatchObject({ code: "FORBIDDEN" });
    await workspace.close();
  });
});

describe("Truth: a selection by actor says whose work is meant, not who asks", () => {
  it("is allowed to an agent like the other selections", async () => {
    await using serving = await Serving.start();
    const id = await serving.create("w");
    const token = serving.token("agent");
    await serving.put("w", "a.txt?actor=human", "one\n");
    await serving.put("w", "a.txt?actor=human", "two\n");
    await serving.put("w", "b.txt", "by an agent\n", { token });
    const base = `/v1/workspaces/${id}`;
    const shown = await serving.ask(`${base}/changes?actor=human`, { token });
    expect([shown.status, shown.text]).toEqual([200, expect.stringContaining("a.txt")]);
    const dry = await serving.send(`${base}/undo`, { actor: "human", dry_run: true }, { token });
    expect([dry.status, dry.json<{ changes: { path: string }[] }>().changes.map((one) => one.path)]).toEqual([
      200,
      ["a.txt"],
    ]);
    const undone = await serving.send(`${base}/undo`, { actor: "human" }, { token });
    expect(undone.status).toBe(200);
    expect((await serving.ask(`${base}/operations`)).text).not.toContain('"actor":"human"');
  });

  it("does not let an agent act under a person's name, wherever the name is given", async () => {
    await using serving = await Serving.start();
    const id = await serving.create("w");
    const base = `/v1/workspaces/${id}`;
    const token = serving.token("agent");
    const headers = { "chronicle-actor": "human" };
    const asked = [
      await serving.put("w", "a.txt?actor=human", "x", { token }),
      await serving.put("w", "a.txt", "x", { token, headers }),
      await serving.send(`${base}/undo`, {}, { token, headers }),
      await serving.send(`${base}/move`, { from: "a", to: "b", actor: "human" }, { token }),
      await serving.send(`${base}/sessions`, { actor: "human" }, { token }),
      await serving.send(`${base}/transactions`, { actor: "human" }, { token }),
      await serving.send(`${base}/actions`, { type: "write_file", payload: { path: "a" }, actor: "human" }, { token }),
    ];
    expect(asked.map(({ status }) => status)).toEqual(asked.map(() => 403));
    expect((await serving.ask(`${base}/files`)).json()).toMatchObject({ files: [] });
  });
});
