import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { RunShape } from "../../src/api/shapes.ts";
import { Sandbox } from "./sandbox.ts";

it("an undo of an undone run changes and records nothing, and a redo redoes the run", async () => {
  using box = new Sandbox();
  box.write("f", "1\n");
  await box.must(["init"]);
  const ran = box.run(["--json", "run", "--", "sh", "-c", "echo 2 > f"]);
  const { undo_id: id } = JSON.parse(ran.stderr.trim().split("\n").at(-1) ?? "") as RunShape;
  await box.must(["undo"]);
  const { stdout: before } = await box.must(["log"]);
  const again = await box.must(["undo", id ?? ""]);
  expect(again.stdout + again.stderr).toContain("it was undone already");
  expect((await box.must(["log"])).stdout).toBe(before);
  await box.must(["redo"]);
  expect(readFileSync(join(box.project, "f"), "utf8")).toBe("2\n");
});

it("an undo of an undo reports that the work is done again, and how to undo it", async () => {
  using box = new Sandbox();
  box.write("f", "1\n");
  await box.must(["init"]);
  box.run(["run", "--", "sh", "-c", "echo 2 > f"]);
  const { value } = await box.json(["undo"]);
  const { stdout } = await box.must(["undo", (value as { undo_id: string }).undo_id]);
  expect(stdout).toMatch(/done again: 1 modified\nchronicle undo takes it back\n$/);
  await box.must(["undo"]);
  expect(readFileSync(join(box.project, "f"), "utf8")).toBe("1\n");
});

it("an undo that conflicts in a part of a file reports that the rest of the file is undone", async () => {
  using box = new Sandbox();
  const lines = ["1", "2", "3", "4", "5", "6", "7", "8", "9", ""].join("\n");
  box.write("f", lines);
  await box.must(["init"]);
  const ran = box.run(["--json", "run", "--", "sed", "-i", "s/1/one/; s/9/nine/", "f"]);
  const { undo_id: session } = JSON.parse(ran.stderr.trim().split("\n").at(-1) ?? "") as RunShape;
  box.write("f", readFileSync(join(box.project, "f"), "utf8").replace("nine", "mine"));
  const partly = await box.call(["undo", "--session", session ?? ""]);
  expect(partly.stdout).toContain(
    "these are conflicts (in each file, the lines that conflict stay as they are, and the others change,",
  );
  expect(partly.stdout).toContain("taken back: 1 modified\n");
  expect(readFileSync(join(box.project, "f"), "utf8")).toBe(lines.replace("9", "mine"));
  const again = await box.call(["undo", "--session", session ?? ""]);
  expect(again.stdout).toContain("these are conflicts (the file stays as it is, both contents are kept):");
});
