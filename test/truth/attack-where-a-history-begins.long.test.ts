import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

async function begun(box: Sandbox, words: readonly string[] = []): Promise<string> {
  return ((await box.json(["init", ...words])).value as { workspace: string }).workspace;
}

describe("Truth: what init says of where a history begins", () => {
  it.each([[["init"]], [["init", "."]]])(
    "in a folder that another one records: which, and what commands mean: %s",
    async (words) => {
      using box = new Sandbox();
      box.write("a", "a\n");
      box.write("src/lib/b", "b\n");
      mkdirSync(join(box.project, ".git"));
      const outer = await begun(box);
      const init = await box.must(words, { cwd: "project/src/lib" });
      expect(init.stdout).toContain(`protected: ${join(box.project, "src/lib")}`);
      expect(init.stderr).toContain(`that lies in ${box.project}, which workspace ${outer} records already`);
      expect(init.stderr).not.toContain("is not recorded");
      const id = ((await box.json(["status"], { cwd: "project/src/lib" })).value as { workspace: string }).workspace;
      expect(init.stderr).toContain(`chronicle forget ${id}`);
      await box.must(["forget", id, "--yes"]);
      expect((await box.json(["status"], { cwd: "project/src/lib" })).value).toMatchObject({ workspace: outer });
    },
  );

  it("in a further root, where a command begins one by itself", async () => {
    using box = new Sandbox();
    box.write("a", "a\n");
    box.write("../two/in/b", "b\n");
    const outer = await begun(box, [".", "../two"]);
    const run = await box.call(["run", "--", "true"], { cwd: "two/in" });
    expect(run.stderr).toContain(`that lies in ${join(box.folder, "two")}, which workspace ${outer} records already`);
    const beside = await box.call(["init", "project/new"], { cwd: "." });
    expect(beside.code).not.toBe(0);
    mkdirSync(join(box.folder, "project2"));
    expect((await box.must(["init"], { cwd: "project2" })).stderr).toBe("");
  });

  it("of a single file: that file is named, by status as well", async () => {
    using box = new Sandbox();
    box.write("only.txt", "1\n");
    box.write("other.txt", "1\n");
    const file = join(box.project, "only.txt");
    const id = await begun(box, ["only.txt"]);
    expect((await box.must(["init", "only.txt"])).stdout).toContain(`already protected: ${file} `);
    expect((await box.must(["-w", id, "status"])).stdout).toContain(`workspace  ${file}  ${id}`);
    expect((await box.must(["init", "other.txt"])).stdout).toContain(`protected: ${join(box.project, "other.txt")} `);
    const outer = await begun(box);
    box.write("third.txt", "1\n");
    const third = await box.must(["init", "third.txt"]);
    expect(third.stderr).toContain(`which workspace ${outer} records already`);
    expect(third.stderr).toMatch(/for the new history of that file alone: chronicle -w [0-9a-f-]+ …/);
    expect((await box.json(["status"])).value).toMatchObject({ workspace: outer });
  });

  it("of a history that is taken from another folder: from where", async () => {
    using box = new Sandbox();
    box.write("a", "a\n");
    const id = await begun(box);
    mkdirSync(join(box.folder, "other"));
    writeFileSync(join(box.folder, "other/a"), "b\n");
    const adopted = await box.must(["init", "--adopt", id, "--force"], { cwd: "other" });
    expect(adopted.stdout).toContain(`moved here: ${join(box.folder, "other")}  ${id}`);
    expect(adopted.stdout).toContain(`its place was ${box.project} until now`);
    expect(adopted.stdout).toContain(`chronicle -w ${id} status`);
    const again = await box.must(["init", "--adopt", id], { cwd: "other" });
    expect(again.stdout).toContain("already protected");
    expect(again.stdout).not.toContain("until now");
    renameSync(join(box.folder, "other"), join(box.folder, "third"));
    const moved = await box.must(["init"], { cwd: "third" });
    expect(moved.stdout).toContain("already protected");
    expect(moved.stdout).toContain(`its place was ${join(box.folder, "other")} until now`);
  });
});
