import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

it("a run within a run names itself in its hints, which work after the outer run as well", async () => {
  using box = new Sandbox();
  box.write("a", "a\n");
  box.write("b", "b\n");
  await box.must(["init"]);
  const inner = `${box.command.join(" ")} run --rollback-on-failure -- sh -c "echo j > b; exit 5"`;
  const ran = box.run(["run", "--", "sh", "-c", `echo p > a; ${inner}; true`]);
  const [, id = ""] = /taken back\. Bring back: chronicle redo (\w{8})\n/.exec(ran.stderr) ?? [];
  expect((await box.must(["redo", id])).stdout).toContain("done again: 1 modified");
  expect(readFileSync(join(box.project, "b"), "utf8")).toBe("j\n");
});

it("a rollback that changed nothing offers no redo", async () => {
  using box = new Sandbox();
  box.write(".gitignore", ".env\n");
  box.write(".env", "1\n");
  await box.must(["init"]);
  await box.must(["transaction", "begin"]);
  box.run(["run", "--", "sh", "-c", "echo 2 > .env"]);
  box.write(".env", "3\n");
  const { stdout } = await box.call(["transaction", "rollback"]);
  expect(stdout).toContain("rolled back");
  expect(stdout).not.toContain("chronicle redo");
});
