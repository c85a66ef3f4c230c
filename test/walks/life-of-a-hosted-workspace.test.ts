import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { text } from "../helpers/content-text.ts";
import { HostedProject } from "../helpers/hosted-project.ts";

it("life of a hosted workspace", async () => {
  await using project = new HostedProject();
  const store = await project.store();
  const { workspace, result } = await store.create({ name: "session" });
  expect(result).toMatchObject({ created: true, path: "", snapshot: { number: 0, name: "baseline", changed: null } });
  // The log has the events of a baseline, and there is no folder beside the workspace's own.
  expect((await workspace.log()).map((one) => one.record_id.replace(/:.*/, ""))).toEqual([
    "workspace",
    "signer",
    "snapshot",
  ]);
  expect(readdirSync(join(project.home, "workspaces"))).toEqual([workspace.id]);

  await workspace.putFile("src/a.ts", Buffer.from("one\n"));
  const first = await workspace.snapshot({ name: "first" });
  await workspace.putFile("src/a.ts", Buffer.from("two\n"));
  expect(await workspace.status()).toMatchObject({ path: "", changes: [], entries: 2, bytes: 4 });
  const restored = await workspace.restore("first");
  expect(await text(await workspace.file("src/a.ts"))).toBe("one\n");
  await workspace.undo({ operation: restored.undo_id ?? "" });
  expect(await text(await workspace.file("src/a.ts"))).toBe("two\n");

  const { workspace: fork } = await store.create({ name: "fork", from: { workspace: "session", moment: "first" } });
  expect((await fork.status()).root).toBe(first.root);
  await fork.putFile("src/a.ts", Buffer.from("the fork's\n"));
  expect(await text(await workspace.file("src/a.ts"))).toBe("two\n");

  await store.archive("session");
  await expect(workspace.putFile("b", Buffer.from("b"))).rejects.toMatchObject({ code: "READ_ONLY" });
  expect(await text(await workspace.file("src/a.ts"))).toBe("two\n");
  const listed = (await store.workspaces()).map(({ name, archived }) => [name, archived === true] as const);
  expect(Object.fromEntries(listed)).toEqual({ fork: false, session: true });

  await workspace.close();
  await store.forget("session");
  expect(existsSync(join(project.home, "workspaces", workspace.id))).toBe(false);
  await store.gc();
  await fork.restore("baseline");
  expect(await text(await fork.file("src/a.ts"))).toBe("one\n");
  expect(await fork.verify()).toMatchObject({ ok: true, problems: [] });
  await fork.close();
});
