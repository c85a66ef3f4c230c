import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

describe("chronicle blame", () => {
  let box: Sandbox;

  beforeAll(async () => {
    box = new Sandbox();
    box.write("src/a.txt", "base\nkept\n");
    await box.must(["init"]);
    box.write("src/a.txt", "base\nkept\nhand\n");
    await box.must(["snapshot"]);
    await box.must(["put", "src/a.txt", "-"], { input: "base\nkept\nhand\nput\n" });
    await box.must(["mv", "src/a.txt", "src/b.txt"]);
    box.write("src/b.txt", "new\nbase\nkept\nhand\nput\n");
  });
  afterAll(() => box[Symbol.dispose]());

  it("prints aligned columns: id, who, earlier path, time, line, text", async () => {
    const { stdout, stderr } = await box.must(["blame", "src/b.txt"]);
    expect(stderr).toBe("");
    const lines = stdout
      .replaceAll(/\b[0-9a-f]{8}\b/g, "ididid  ")
      .replaceAll(/just now|\d+ seconds? ago/g, "T")
      .split("\n");
    expect(lines.map((line) => line.replaceAll(/ {2,}/g, "  ").trim())).toEqual([
      "not recorded yet  1  new",
      "baseline  src/a.txt  T  2  base",
      "baseline  src/a.txt  T  3  kept",
      "by nobody that was recorded  src/a.txt  T  4  hand",
      "ididid  human  src/a.txt  T  5  put",
      "",
    ]);
    const places = stdout
      .split("\n")
      .slice(0, -1)
      .map((line) => line.search(/ {2}(?:new|base|kept|hand|put)$/));
    expect(new Set(places).size).toBe(1);
  });

  it("shows some lines, and a file as it was", async () => {
    const { stdout } = await box.must(["blame", "-L", "4,+2", "src/b.txt"]);
    expect(stdout.match(/\S+$/gm)).toEqual(["hand", "put"]);
    expect((await box.must(["blame", "-L", "2,", "--at", "latest", "src/a.txt"])).stdout.match(/\S+$/gm)).toEqual([
      "kept",
      "hand",
    ]);
    for (const range of ["0", "3,2", "a", "1-2", "9"]) {
      const { code, stderr } = await box.call(["blame", "-L", range, "src/b.txt"]);
      expect([range, code, stderr.split("\n").length]).toEqual([range, 2, 3]);
    }
  });

  it("says that a file is deleted, is a folder, was never recorded, or did not exist yet", async () => {
    expect(await box.must(["blame", "src/a.txt"])).toMatchObject({
      stdout: expect.stringMatching(/put\n$/),
      stderr: "the file is deleted; these are the lines of its last content\n",
    });
    expect((await box.call(["blame", "src"])).stderr).toContain("changes --file :/src");
    expect(await box.call(["blame", "b.txt"])).toMatchObject({ code: 3, stderr: expect.stringContaining("src/b.txt") });
    expect((await box.call(["blame", "--at", "baseline", "src/b.txt"])).stderr).toContain("did not exist yet");
  });

  it("gives the same with --json, with ids in full", async () => {
    const { value } = await box.json(["blame", "src/b.txt"]);
    const { lines, origins } = value as { lines: { origin: number }[]; origins: { operation?: string }[] };
    expect(lines).toHaveLength(5);
    expect(origins[lines.at(-1)?.origin ?? 0]?.operation).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("history -p shows what each iteration changed, and nothing of a secret", async () => {
    const { stdout } = await box.must(["history", "-p", "src/a.txt"]);
    expect(stdout.match(/^[-+]\w.*$|^ *@\d+ /gm)?.map((line) => line.trim())).toEqual([
      ...["@1", "+base", "+kept", "@2", "+hand", "@3", "+put"],
      ...["@4", "-base", "-kept", "-hand", "-put"],
    ]);
    box.write(".env", "TOKEN=1\n");
    await box.must(["snapshot"]);
    const secret = await box.must(["history", "-p", ".env"]);
    expect(secret.stdout).toContain("a secret by its name");
    expect(secret.stdout).not.toContain("TOKEN");
  });
});
