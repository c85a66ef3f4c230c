import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

describe("chronicle grep", () => {
  let box: Sandbox;

  beforeAll(async () => {
    box = new Sandbox();
    box.write("src/a.txt", "alpha\nlimit = 30\n");
    box.write("image.bin", "\0alpha");
    await box.must(["init"]);
    await box.must(["put", "src/a.txt", "-"], { input: "alpha\nlimit = 60\n" });
  });
  afterAll(() => box[Symbol.dispose]());

  it("prints path, line and text, and names binary files", async () => {
    expect((await box.must(["grep", "al.ha"])).stdout).toBe("binary file image.bin matches\nsrc/a.txt:1:alpha\n");
    expect((await box.must(["grep", "-l", "alpha"])).stdout).toBe("image.bin\nsrc/a.txt\n");
    expect((await box.must(["grep", "-i", "-F", "LIMIT = 3", "--at", "0", "src"])).stdout).toBe(
      "src/a.txt:2:limit = 30\n",
    );
    expect(await box.must(["grep", "nowhere"])).toMatchObject({
      stdout: "",
      stderr: "no line matches in 2 recorded contents\n",
    });
    expect(await box.must(["grep", "--limit", "1", "alpha"])).toMatchObject({ stderr: "… and 1 more: --limit 0\n" });
  });

  it("says of each line of any time who brought it, and whether it is still there", async () => {
    const { stdout } = await box.must(["grep", "--history", String.raw`limit = \d+`]);
    expect(stdout.replaceAll(/\b[0-9a-f]{8}\b/g, "ID").replaceAll(/just now|\d+ seconds? ago/g, "T")).toBe(
      [
        "src/a.txt@2:2:limit = 60",
        "    T ID human, still there",
        "src/a.txt@1:2:limit = 30",
        "    T baseline, gone T ID human",
        "",
      ].join("\n"),
    );
    expect((await box.must(["grep", "--history", "-l", "limit"])).stdout).toBe("src/a.txt\n");
  });

  it("refuses a bad pattern with its reason, and an unknown path with the ones that are meant", async () => {
    expect(await box.call(["grep", "(a"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unterminated group"),
    });
    expect(await box.call(["grep", "a", "a.txt"])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("src/a.txt"),
    });
    expect((await box.call(["grep", "--history", "--at", "0", "a"])).code).toBe(2);
  });

  it("names a content for which the pattern takes too long, with exit code 1", async () => {
    await box.must(["put", "evil.txt", "-"], { input: `${"a".repeat(60)}b\n` });
    expect(await box.call(["grep", "^(a+)+$"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("not searched: evil.txt@1 (the pattern takes too long)"),
    });
    await box.must(["rm", "evil.txt"]);
  });

  it("does not say that a line is still there if the newest content was not searched", async () => {
    await box.must(["put", "evil.txt", "-"], { input: "aaa\n" });
    await box.must(["put", "evil.txt", "-"], { input: `${"a".repeat(60)}b\n` });
    expect(await box.call(["grep", "--history", "^(a+)+$", "evil.txt"])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(
        /^evil.txt@3:1:aaa\n {4}.* human, last seen in @3; later contents were not searched\n$/,
      ),
    });
  });
});
