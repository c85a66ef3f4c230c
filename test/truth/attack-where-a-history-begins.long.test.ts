import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

async function begun(box: Sandbox, words: readonly string[] = []): Promise<string> {
  return ((await box.json(["init", ...words])).value as { workspace: string }).workspace;
}

describe("Truth: what init says of where a history begins", () => {
  it.each([[["init"]], [["init", "."]]])(
    "in a folder that another workspace records, it names that workspace and how to forget the new one: %s",
    async (words) => {
      using box = new Sandbox();
      box.write("a", "a\n");
      box.write("src/lib/b", "b\n");
      mkdirSync(join(box.project, ".git"));
      const outer = await begun(box);
      const init = await box.must(words, { cwd: "project/src/lib" });
      expect(init.stdout).toContain(`protected: ${join(box.project, "src/lib")}`);
      expect(init.stderr).toContain(`this folder lies in ${box.project}, which workspace ${outer} already records`);
      expect(init.stderr).not.toContain("is not recorded");
      const id = ((await box.json(["status"], { cwd: "project/src/lib" })).value as { workspace: string }).workspace;
      expect(init.stderr).toContain(`chronicle forget ${id}`);
      await box.must(["forget", id, "--yes"]);
      expect((await box.json(["status"], { cwd: "project/src/lib" })).value).toMatchObject({ workspace: outer });
    },
  );

  it("in a folder of a further root, it names the workspace that records it, which commands there use", async () => {
    using box = new Sandbox();
    box.write("a", "a\n");
    box.write("../two/in/b", "b\n");
    const outer = await begun(box, [".", "../two"]);
    const run = await box.call(["run", "--", "rm", "b"], { cwd: "two/in" });
    expect(run.stderr).toBe("chronicle: 1 change (1 deleted). Take back: chronicle undo\n");
    expect((await box.json(["status"], { cwd: "two/in" })).value).toMatchObject({ workspace: outer });
    const init = await box.must(["init"], { cwd: "two/in" });
    expect(init.stderr).toContain(
      `this folder lies in ${join(box.folder, "two")}, which workspace ${outer} already records`,
    );
    const beside = await box.call(["init", "project/new"], { cwd: "." });
    expect(beside.code).not.toBe(0);
    mkdirSync(join(box.folder, "project2"));
    expect((await box.must(["init"], { cwd: "project2" })).stderr).toBe("");
  });

  it("in a further root itself, it says that both record it, and commands there use the new one", async () => {
    using box = new Sandbox();
    box.write("a", "a\n");
    box.write("../two/b", "b\n");
    const outer = await begun(box, [".", "../two"]);
    const meant = async (): Promise<unknown> =>
      ((await box.json(["status"], { cwd: "two" })).value as { workspace: string }).workspace;
    expect(await meant()).toBe(outer);
    const init = await box.must(["init"], { cwd: "two" });
    expect(init.stderr).toContain(
      `workspace ${outer} already records ${join(box.folder, "two")}, and continues to record it`,
    );
    const id = await meant();
    expect([id === outer, init.stderr.endsWith(`chronicle forget ${String(id)}\n`)]).toEqual([false, true]);
    expect((await box.json(["status"])).value).toMatchObject({ workspace: outer });
    await box.must(["forget", String(id), "--yes"]);
    expect(await meant()).toBe(outer);
  });

  it("in a further root, paths are relative to that root, also those of the first one", async () => {
    using box = new Sandbox();
    box.write("in/a", "a\n");
    box.write("../two/b", "b\n");
    await begun(box, [".", "../two"]);
    box.write("in/a", "more\n");
    box.write("../two/b", "more\n");
    const { stdout } = await box.must(["status"], { cwd: "two" });
    expect(stdout).toContain("~ @two:b ");
    expect(stdout).toContain("~ ../project/in/a ");
    await box.must(["restore", "0", "../project/in/a"], { cwd: "two" });
    expect((await box.json(["status"])).value).toMatchObject({ changes: [] });
    expect((await box.must(["diff", "0"], { cwd: "two" })).stdout).not.toContain("a ");
  });

  it("for a single file, it names that file, and status does so, too", async () => {
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
    expect(third.stderr).toContain(`which workspace ${outer} already records`);
    expect(third.stderr).toMatch(/for the new history of that file alone: chronicle -w [0-9a-f-]+ …/);
    expect((await box.json(["status"])).value).toMatchObject({ workspace: outer });
  });

  it("for a history that is adopted from another folder, it names the earlier place", async () => {
    using box = new Sandbox();
    box.write("a", "a\n");
    const id = await begun(box);
    mkdirSync(join(box.folder, "other"));
    writeFileSync(join(box.folder, "other/a"), "b\n");
    const adopted = await box.must(["init", "--adopt", id, "--force"], { cwd: "other" });
    expect(adopted.stdout).toContain(`moved here: ${join(box.folder, "other")}  ${id}`);
    expect(adopted.stdout).toContain(`until now, this workspace was in ${box.project}`);
    expect(adopted.stdout).toContain(`chronicle -w ${id} status`);
    const again = await box.must(["init", "--adopt", id], { cwd: "other" });
    expect(again.stdout).toContain("already protected");
    expect(again.stdout).not.toContain("until now");
    renameSync(join(box.folder, "other"), join(box.folder, "third"));
    const moved = await box.must(["init"], { cwd: "third" });
    expect(moved.stdout).toContain("already protected");
    expect(moved.stdout).toContain(`until now, this workspace was in ${join(box.folder, "other")}`);
  });
});
