import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { Project } from "../helpers/project.ts";

it("two runs at once: each takes back its own, and what either may have done belongs to nobody", async () => {
  await using project = new Project();
  project.write("a.txt", "a\n");
  project.write("b.txt", "b\n");
  await project.init();
  const one = await project.open();
  const other = await project.open();

  // The commands wait for each other by files outside of the folder, so that the order holds on any machine.
  const [begun, over] = [join(project.base, "begun"), join(project.base, "over")];
  const after = (file: string): string => `while [ ! -s "${file}" ]; do sleep 0.05; done`;
  const long = one.run({
    command: [
      "sh",
      "-c",
      `echo early > early.txt; ${after(begun)}; echo both > both-a.txt; ${after(over)}; echo late > late.txt`,
    ],
  });
  await vi.waitFor(() => expect(project.read("early.txt")).toBe("early\n"), { timeout: 60_000 });
  const short1 = await other.run({
    command: ["sh", "-c", `echo B > b.txt; echo > "${begun}"; ${after("both-a.txt")}`],
  });
  project.write("../over", "\n");
  const long1 = await long;

  const paths = (changes: { path: string }[]): string[] => changes.map((change) => change.path);
  // Before the second began, and after it ended, the first was the only one.
  expect(paths(long1.changes)).toEqual(["early.txt", "late.txt"]);
  expect(short1.changes).toEqual([]);
  expect(new Set(long1.ambiguous)).toEqual(new Set(["b.txt", "both-a.txt"]));

  const undone = await one.undo({ operation: long1.session.session_id });
  expect(paths(undone.changes)).toEqual(["early.txt", "late.txt"]);
  expect(project.read("b.txt")).toBe("B\n");
  expect(project.read("both-a.txt")).toBe("both\n");
  const log = await one.log({ prefix: "file:b.txt" });
  expect(log.at(-1)?.record).toMatchObject({ actor: "ambiguous" });
  expect(await one.verify()).toMatchObject({ ok: true, problems: [] });
});
