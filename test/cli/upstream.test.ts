import { join } from "node:path";
import { expect, it } from "vitest";
import { Project } from "../helpers/project.ts";
import { pushAll } from "../helpers/pushed.ts";
import { storeParts } from "../helpers/store-parts.ts";
import { Sandbox } from "./sandbox.ts";

it("with --upstream, commands read the copy of the origin's history, and those that write are refused", async () => {
  using sandbox = new Sandbox();
  await using origin = new Project();
  origin.write("notes/one.txt", "of the origin\n");
  const there = await origin.init();
  await there.putFile("notes/one.txt", Buffer.from("of the origin, later\n"));
  await there.snapshot({ message: "over there" });
  sandbox.write("own.txt", "of the replica\n");
  await sandbox.call(["init"]);
  expect((await sandbox.call(["log", "--upstream"])).stderr).toContain("this workspace follows no origin");
  const replica = (JSON.parse((await sandbox.call(["status", "--json"])).stdout) as { workspace: string }).workspace;
  const [a, b] = [
    await storeParts(origin.home, origin.configFolder),
    await storeParts(sandbox.store, join(sandbox.folder, "config", "chronicle")),
  ];
  await pushAll({ here: a, id: there.id, there: b, replica });
  await a.blobs.close();
  await b.blobs.close();

  expect((await sandbox.call(["list", "--snapshots", "--upstream"])).stdout).toContain("over there");
  // The list proposes no command that would act on the sandbox's own history.
  const recent = (await sandbox.call(["list", "--upstream"])).stdout;
  expect(recent).toContain("chronicle --upstream restore <moment> --to DIR");
  expect(recent).not.toMatch(/chronicle (undo|restore)/);
  expect((await sandbox.call(["cat", "notes/one.txt", "--upstream"])).stdout).toBe("of the origin, later\n");
  expect((await sandbox.call(["--upstream", "diff", "baseline", "latest", "--patch"])).stdout).toContain(
    "+of the origin, later",
  );
  expect((await sandbox.call(["verify", "--upstream"])).code).toBe(0);
  const target = join(sandbox.folder, "restored");
  expect((await sandbox.call(["restore", "baseline", "--to", target, "--upstream", "--yes"])).code).toBe(0);
  const refused = await sandbox.call(["put", "notes/one.txt", "own.txt", "--upstream"]);
  expect(refused.stderr).toContain("which can only be read");
  expect((await sandbox.call(["list", "--remote", "http://127.0.0.1:1", "--upstream"])).stderr).toContain("--upstream");
  expect((await sandbox.call(["cat", "own.txt"])).stdout).toBe("of the replica\n");
});
