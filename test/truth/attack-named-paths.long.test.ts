import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";
import { ClockedProject } from "../helpers/clocked-project.ts";

describe("Truth: a path that a person types", () => {
  it("leads through a link into a further root, also if a file beside that link is a root", async () => {
    using box = new Sandbox();
    const at = (path: string): string => join(box.folder, path);
    mkdirSync(at("real/sub"), { recursive: true });
    symlinkSync(at("real"), at("link"));
    writeFileSync(at("real/sub/s"), "one\n");
    writeFileSync(at("app.ini"), "one\n");
    await box.must(["init", ".", at("link/sub"), at("app.ini")]);
    expect((await box.must(["explain", at("link/sub/s")])).stdout).toBe("@sub:s: tracked: nothing leaves it out\n");
    expect((await box.must(["cat", at("link/sub/s")])).stdout).toBe("one\n");
    writeFileSync(at("real/sub/s"), "two\n");
    await box.must(["restore", "0", at("link/sub/s")]);
    expect((await box.must(["diff", "0"])).stdout).toBe("no difference\n");
    expect((await box.must(["history", at("app.ini")])).stdout).toContain("@1");
    const outside = await box.call(["explain", at("other.ini")]);
    expect([outside.code, outside.stderr]).toEqual([2, expect.stringContaining("is outside of the workspace")]);
  });

  it("means the files written through Chronicle, if it is a folder that a rule leaves out", async () => {
    await using project = new ClockedProject();
    project.write(".gitignore", "dist/\n");
    project.write("dist/deep/other.js", "left out\n");
    const workspace = await project.init();
    await workspace.putFile("dist/deep/app.js", Buffer.from("one\n"));
    for (const path of ["dist", "dist/deep"]) {
      const { changes } = await workspace.diff("baseline", "now", { paths: [path] });
      expect(changes.map((one) => one.path)).toContain("dist/deep/app.js");
      expect((await workspace.changes({ file: path })).changes.map((one) => one.path)).toContain("dist/deep/app.js");
    }
    await workspace.undo({ file: "dist" });
    expect(readdirSync(join(project.folder, "dist/deep"))).toEqual(["other.js"]);
    expect((await workspace.undo({ file: "dist" })).changes).toEqual([]);
    const unknown = workspace.restore("latest", { paths: ["node_modules"] });
    await expect(unknown).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("beyond a link is not tracked, and `explain` says so", async () => {
    using box = new Sandbox();
    box.write("folder/f", "one\n");
    symlinkSync("folder", join(box.project, "alias"));
    await box.must(["init"]);
    const { stdout } = await box.must(["explain", "alias/f", "folder/f", "alias"]);
    const [beyond, inside, link] = stdout.split("\n");
    expect(beyond).toMatch(/^alias\/f: not tracked.*alias is a link/);
    expect([inside, link]).toEqual([
      "folder/f: tracked: nothing leaves it out",
      "alias: tracked: nothing leaves it out",
    ]);
  });

  it.each(["@other:x", "base64:eA"])("begins with ./ for a file that is called %s", async (name) => {
    using box = new Sandbox();
    box.write(name, "one\n");
    await box.must(["init"]);
    const typed = `./${name}`;
    expect((await box.must(["cat", typed])).stdout).toBe("one\n");
    box.write(name, "two\n");
    await box.must(["restore", "0", typed]);
    expect((await box.must(["history", typed])).stdout).toMatch(/@3 .*restore\n$/);
    await box.must(["put", typed, "-"], { input: "three\n" });
    expect((await box.must(["cat", typed])).stdout).toBe("three\n");
    await box.must(["undo"]);
    expect((await box.must(["cat", join(box.project, name)])).stdout).toBe("one\n");
    await box.must(["rm", typed]);
    expect((await box.must(["changes", "--file", typed])).stdout).toContain(`- ${typed}`);
  });

  it("that begins like a further root's path is shown in the form in which it must be given", async () => {
    using box = new Sandbox();
    mkdirSync(join(box.folder, "two"));
    writeFileSync(join(box.folder, "two/z"), "one\n");
    writeFileSync(join(box.folder, "two/base64:eA"), "one\n");
    for (const name of ["@two:z", "sub/@two:z", "sub/@two"]) box.write(name, "one\n");
    await box.must(["init", ".", "../two"]);
    for (const name of ["@two:z", "sub/@two:z", "sub/@two"]) box.write(name, "longer\n");
    writeFileSync(join(box.folder, "two/z"), "longer\n");
    writeFileSync(join(box.folder, "two/base64:eA"), "longer\n");
    /** Returns the changed paths as a command shows them. */
    const shown = async (args: readonly string[], cwd = "project"): Promise<string[]> =>
      [...(await box.must(args, { cwd })).stdout.matchAll(/^  ~ (.*?) +\+1 −1$/gm)].map(([, path = ""]) => path).sort();
    const all = ["./@two:z", "@two:./base64:eA", "@two:z", "sub/@two", "sub/@two:z"];
    expect(await shown(["status"])).toEqual(all);
    const fromSub = ["../@two:z", "./@two:z", "@two", "@two:./base64:eA", "@two:z"];
    expect(await shown(["status"], "project/sub")).toEqual(fromSub);
    expect((await box.must(["diff", "0"])).stdout).toContain("5 modified\n");
    const { value } = await box.json(["status"]);
    const { changes } = value as { changes: readonly { path: string; path_b64?: string }[] };
    expect(changes.map(({ path }) => path).toSorted()).toEqual(all);
    // Each path that is shown names exactly that file.
    for (const path of fromSub) {
      const [before, { stdout }] = [
        await shown(["diff", "0"], "project/sub"),
        await box.must(["restore", "0", path, "--yes"], { cwd: "project/sub" }),
      ];
      expect(stdout).toContain(`  ~ ${path}  +1 −1\n`);
      expect(await shown(["diff", "0"], "project/sub")).toEqual(before.filter((one) => one !== path));
    }
  });

  it.skipIf(process.platform === "darwin").each(["", "sub"])(
    "in base64 gives the bytes of the path from the root: in %j",
    async (folder) => {
      using box = new Sandbox();
      box.write("sub/keep", "");
      const [one, two] = ["6//v", "////"].map((text) => Buffer.from(text, "base64"));
      for (const name of [one, two])
        writeFileSync(Buffer.concat([Buffer.from(`${box.project}/`), name ?? Buffer.of()]), "one\n");
      await box.must(["init"]);
      const how = { cwd: join("project", folder) };
      for (const text of ["6//v", "////"]) {
        expect((await box.must(["cat", `base64:${text}`], how)).stdout).toBe("one\n");
        expect((await box.must(["history", `base64:${text}`], how)).stdout).toContain("@1");
      }
      await box.must(["put", "base64:6//v", "-"], { ...how, input: "two\n" });
      const { value } = await box.json(["files"]);
      expect(JSON.stringify(value).match(/path_b64/g)).toHaveLength(2);
    },
  );

  it("that looks like another root's gets an error that names the file of that name", async () => {
    using box = new Sandbox();
    box.write("@other:x", "one\n");
    await box.must(["init"]);
    const { code, stderr } = await box.call(["history", "@other:x"]);
    expect([code, stderr]).toEqual([3, expect.stringContaining("recorded (perhaps deleted):\n    ./@other:x\n")]);
  });
});
