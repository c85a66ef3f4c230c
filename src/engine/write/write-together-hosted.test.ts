import { expect, test } from "vitest";
import { HostedProject } from "../../../test/helpers/hosted-project.ts";
import { text } from "../../../test/helpers/content-text.ts";

/** Files of a hosted workspace: put, read, listed, deleted, undone and redone. */

test("a file that was put can be read and listed and is in the history; its deletion is an iteration", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  const first = await workspace.putFile("src/a.ts", Buffer.from("one"));
  expect(first.changes.map((one) => [one.path, one.change_type])).toEqual([
    ["src", "created"],
    ["src/a.ts", "created"],
  ]);
  expect(first.file).toMatchObject({ path: "src/a.ts", kind: "file", size: 3, permissions: 0o644, iteration: 1 });
  const second = await workspace.putFile("src/a.ts", Buffer.from("two two"));
  expect(await text(await workspace.file("src/a.ts"))).toBe("two two");
  expect(await text(await workspace.file("src/a.ts", { iteration: 1 }))).toBe("one");
  expect(await text(await workspace.file("src/a.ts", { at: `seq:${first.seq}` }))).toBe("one");
  expect((await workspace.files()).files.map((one) => one.path)).toEqual(["src", "src/a.ts"]);
  const gone = await workspace.deleteFile("src/a.ts");
  expect([gone.file, gone.seq > second.seq]).toEqual([null, true]);
  await expect(workspace.file("src/a.ts")).rejects.toMatchObject({ code: "NOT_FOUND" });
  const history = await workspace.history("src/a.ts");
  expect(history.map(({ iteration, size, cause, deleted }) => [iteration, size, cause, deleted === true])).toEqual([
    [1, 3, "write", false],
    [2, 7, "write", false],
    [3, 0, "write", true],
  ]);
  expect((await workspace.verify()).problems).toEqual([]);
});

test("each write is one operation: it can be undone as the last one or by its id, actor or session, and redone", async () => {
  await using project = new HostedProject();
  const workspace = await project.create();
  await workspace.putFile("a", Buffer.from("1"), { actor: "mina", session: "s1" });
  const second = await workspace.putFile("a", Buffer.from("2"), { actor: "otto" });
  expect((await workspace.operations()).map(({ kind, summary }) => [kind, summary])).toEqual([
    ["write", "write a"],
    ["write", "write a"],
  ]);
  await workspace.undo();
  expect(await text(await workspace.file("a"))).toBe("1");
  await workspace.redo();
  expect(await text(await workspace.file("a"))).toBe("2");
  await workspace.undo({ operation: second.undo_id ?? "" });
  expect(await text(await workspace.file("a"))).toBe("1");
  await workspace.putFile("b", Buffer.from("b"), { actor: "mina", session: "s1" });
  await workspace.undo({ actor: "mina" });
  expect((await workspace.files()).files).toEqual([]);
  await workspace.redo();
  await workspace.undo({ session: "s1" });
  expect((await workspace.files()).files).toEqual([]);
});
