import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

function text(box: Sandbox, path: string): string {
  return readFileSync(join(box.project, path), "utf8");
}

/** The id of the latest session. */
async function latest(box: Sandbox): Promise<string> {
  const sessions = JSON.parse((await box.must(["sessions", "--json"])).stdout) as { session_id: string }[];
  return sessions[0]?.session_id ?? "";
}

it("an earlier run is undone; its conflict is shown and settled, and the settlement is undone", async () => {
  using box = new Sandbox();
  box.write("a.txt", "1\n2\n3\n4\n5\n");
  box.write("b.txt", "b\n");
  await box.must(["run", "--", "sh", "-c", "sed -i s/1/one/ a.txt; echo B > b.txt"]);
  const id = await latest(box);
  await box.must(["run", "--", "sh", "-c", "sed -i s/5/five/ a.txt; echo human > b.txt"]);

  const dry = box.run(["undo", "--session", id, "--dry-run"]);
  expect(dry.code).toBe(1);
  expect(dry.stdout).toContain(`session ${id}`);
  expect(dry.stdout).toMatch(/would be conflicts/);
  expect(text(box, "a.txt")).toBe("one\n2\n3\n4\nfive\n");

  const done = box.run(["undo", "--session", id]);
  expect(done.code).toBe(1);
  expect(done.stdout).toMatch(/b\.txt +the same or adjacent lines were edited later +now 6 B, wanted 2 B/);
  expect(text(box, "a.txt")).toBe("1\n2\n3\n4\nfive\n");

  const listed = await box.must(["conflicts"]);
  expect(listed.stdout).toMatch(/1 conflict\nsettle with: chronicle resolve/);
  expect((await box.must(["conflicts", "-p"])).stdout).toMatch(
    /b\.txt .*\ndiff --git .*\n[^]*\n-human\n\+b\n1 conflict\n/,
  );
  expect(JSON.parse((await box.must(["conflicts", "--json"])).stdout)).toMatchObject([
    { path: "b.txt", state: "open" },
  ]);
  expect(box.run(["resolve", "b.txt"]).code).toBe(2);
  expect(box.run(["resolve", "b.txt", "--keep-current", "--take-undo"]).code).toBe(2);
  box.write("../merged", "both\n");
  await box.must(["resolve", "b.txt", "--merged", "../merged"]);
  expect(text(box, "b.txt")).toBe("both\n");
  expect((await box.must(["conflicts"])).stdout).toBe("no conflict is open\n");
  expect((await box.must(["conflicts", "--all"])).stdout).toContain("(settled: merged)");
  expect(box.run(["resolve", "b.txt", "--take-undo"]).code).toBe(3);

  const again = await box.must(["undo", "--session", id]);
  expect(again.stdout).toMatch(/undone already/);
  await box.must(["undo"]);
  expect(text(box, "b.txt")).toBe("human\n");
});

it("changes shows the changes of a session, and two selections in one command are refused", async () => {
  using box = new Sandbox();
  box.write("sub/a.txt", "1\n");
  await box.must(["run", "--", "sh", "-c", "echo 2 > sub/a.txt"]);
  const id = await latest(box);
  const told = await box.must(["changes", "--session", id.slice(0, 8)]);
  expect(told.stdout).toMatch(/^session .*\n {2}~ sub\/a\.txt +\+1 −1\n1 modified\n$/);
  const patch = await box.must(["changes", "--session", id, "-p"]);
  expect(patch.stdout).toContain("-1\n+2\n");
  expect((await box.must(["undo", "--file", "a.txt"], { cwd: "project/sub" })).stdout).toContain(
    "taken back: 1 modified",
  );
  expect(text(box, "sub/a.txt")).toBe("1\n");
  expect(box.run(["changes"]).code).toBe(3);
  expect(box.run(["undo", "--session", id, "--since", "baseline"]).code).toBe(2);
  expect(box.run(["undo", id, "--file", "sub"]).code).toBe(2);
  const unknown = box.run(["undo", "--file", "sub/b.txt"]);
  expect([unknown.code, unknown.stderr]).toEqual([3, expect.stringContaining("never recorded")]);
});
