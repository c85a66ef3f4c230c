import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

it("list names an undo by the command of the run, or by the name of the transaction, that it undid", async () => {
  using box = new Sandbox();
  box.write("a", "one\n");
  box.run(["run", "--rollback-on-failure", "--", "sh", "-c", "echo two > a; exit 3"]);
  box.run(["run", "--", "sh", "-c", "echo three > a"]);
  const { value } = await box.json(["sessions"]);
  const [{ session_id: id } = { session_id: "" }] = value as { session_id: string }[];
  await box.must(["undo", "--session", id]);
  await box.must(["transaction", "begin", "--name", "upgrade"]);
  box.run(["run", "--", "sh", "-c", "echo four > a"]);
  await box.must(["transaction", "rollback"]);
  const { stdout } = await box.must(["list"]);
  for (const name of ["run: sh -c 'echo two > a; exit 3'", "run: sh -c 'echo three > a'", "transaction: upgrade"])
    expect(stdout).toContain(`undo of ${name}`);
});
