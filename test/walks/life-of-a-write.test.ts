import { expect, it } from "vitest";
import { sha256 } from "../../src/core/hash.ts";
import { text } from "../helpers/content-text.ts";
import { HostedProject } from "../helpers/hosted-project.ts";
import { Project } from "../helpers/project.ts";

it("life of a write without a folder: three that come together are one append, each its own operation", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  const from = (await workspace.head()).seq + 1;
  await workspace.putFile("first", Buffer.from("1"));
  await Promise.all([
    workspace.putFile("d/a", Buffer.from("a"), { actor: "otto", session: "s", requestId: "r" }),
    workspace.moveFile("first", "d/first"),
    workspace.deleteFile("none").catch(() => undefined),
  ]);
  const events = await workspace.log({ from });
  const shown = events.map(({ record_id, record: body }) => {
    const record = body as Record<string, unknown>;
    if (record_id.startsWith("file:")) return `${record_id} ${String(record["kind"])}`;
    return `${String(record["summary"])} ${String(record["state"])}`;
  });
  expect(shown).toEqual([
    "write first open",
    "file:first file",
    "write first done",
    "write d/a open",
    "file:d dir",
    "file:d/a file",
    "write d/a done",
    "move first to d/first open",
    "file:d/first file",
    "file:first absent",
    "move first to d/first done",
  ]);
  const [, , , , , write, done] = events;
  const intent = done?.record_id.slice("intent:".length);
  expect(write?.record).toMatchObject({ cause: "write", actor: "otto", session: "s", intent, hash: sha256("a") });
  expect(done?.record).toMatchObject({ kind: "write", paths: 2, session: "s", request: "r" });
  expect(await text(await workspace.file("d/first"))).toBe("1");
  for (let i = 0; i < 3; i += 1) await workspace.undo();
  expect((await workspace.files()).files).toEqual([]);
  expect((await workspace.verify()).problems).toEqual([]);
});

it("life of a write beside a folder: what is there is captured, then the intent, the file, and the end", async () => {
  await using project = new Project();
  project.write("a", "recorded");
  const workspace = await project.init();
  const from = (await workspace.head()).seq + 1;
  project.write("a", "edited");
  await workspace.putFile("a", Buffer.from("written"), { ifMatch: sha256("edited") });
  const events = await workspace.log({ from });
  const steps = events.map(({ record }) => {
    const { cause, state } = { cause: "", state: "", ...(record as Record<string, unknown>) };
    return cause === "" ? state : cause;
  });
  expect(steps).toEqual(["capture", "open", "write", "done"]);
  expect(project.read("a")).toBe("written");
  await workspace.undo();
  expect(project.read("a")).toBe("edited");
  expect((await workspace.verify()).problems).toEqual([]);
});
