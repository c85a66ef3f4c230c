import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { Project } from "../helpers/project.ts";

it("two runs at once: an undo of one undoes only what it certainly did, and what either may have done belongs to nobody", async () => {
  await using project = new Project();
  project.write("a.txt", "a\n");
  project.write("b.txt", "b\n");
  await project.init();
  const one = await project.open();
  const other = await project.open();

  // The commands wait for each other's files, so that the order is the same on any machine. Files that only signal lie
  // outside of the folder.
  const [begunFile, overFile] = [join(project.base, "begun"), join(project.base, "over")];
  const after = (file: string): string => `while [ ! -s "${file}" ]; do sleep 0.05; done`;
  const long = one.run({
    command: [
      "sh",
      "-c",
      `echo early > early.txt; ${after(begunFile)}; echo both > while-both-run.txt; ${after(overFile)}; echo late > late.txt`,
    ],
  });
  await vi.waitFor(() => expect(project.read("early.txt")).toBe("early\n"), { timeout: 60_000 });
  const shortResult = await other.run({
    command: ["sh", "-c", `echo B > b.txt; echo > "${begunFile}"; ${after("while-both-run.txt")}`],
  });
  project.write("../over", "\n");
  const longResult = await long;

  const paths = (changes: { path: string }[]): string[] => changes.map((change) => change.path);
  // Before the second run began, and after it ended, the first run was the only one.
  expect(paths(longResult.changes)).toEqual(["early.txt", "late.txt"]);
  expect(shortResult.changes).toEqual([]);
  expect(new Set(longResult.ambiguous)).toEqual(new Set(["b.txt", "while-both-run.txt"]));

  const undone = await one.undo({ operation: longResult.session.session_id });
  expect(paths(undone.changes)).toEqual(["early.txt", "late.txt"]);
  expect(project.read("b.txt")).toBe("B\n");
  expect(project.read("while-both-run.txt")).toBe("both\n");
  const log = await one.log({ prefix: "file:b.txt" });
  expect(log.at(-1)?.record).toMatchObject({ actor: "ambiguous" });
  expect(await one.verify()).toMatchObject({ ok: true, problems: [] });
});
