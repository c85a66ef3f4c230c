import { expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

it("two runs at once: each takes back its own, and what either may have done belongs to nobody", async () => {
  await using project = new Project();
  project.write("a.txt", "a\n");
  project.write("b.txt", "b\n");
  await project.init();
  const one = await project.open();
  const other = await project.open();

  const long = one.run({
    command: [
      "sh",
      "-c",
      "echo early > early.txt; sleep 1.2; echo both > both-a.txt; sleep 1.2; echo late > late.txt; sleep 0.6",
    ],
  });
  await new Promise((resolve) => setTimeout(resolve, 700));
  const short = other.run({ command: ["sh", "-c", "echo B > b.txt; sleep 1.2"] });
  const [long1, short1] = await Promise.all([long, short]);

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
