import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

it("an undo that passes over a run says so, and how to undo that run, once nothing conflicts any more", async () => {
  using box = new Sandbox();
  box.write("log", "0\n");
  await box.must(["init"]);
  box.run(["run", "--", "sh", "-c", "echo early > early"]);
  box.run(["run", "--", "sh", "-c", "echo A >> log"]);
  const { value } = await box.json(["sessions"]);
  const [{ session_id: id } = { session_id: "" }] = value as { session_id: string }[];
  box.run(["run", "--", "sh", "-c", "echo B >> log"]);
  expect((await box.call(["undo", "--session", id])).code).toBe(1);
  expect((await box.must(["undo"])).stdout).not.toContain("passed over");
  const { stdout } = await box.must(["undo"]);
  const hint = `\`chronicle undo ${id.slice(0, 8)}\` tries it again`;
  expect(stdout).toContain(
    `note: an operation was passed over, because an earlier undo had undone only a part of it: run: sh -c 'echo A >> log'`,
  );
  expect(stdout).toContain(hint);
  expect((await box.must(["undo", id.slice(0, 8)])).stdout).toContain("taken back: 1 modified");
});
