import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

describe("bytes and pipes", () => {
  it("cat prints the exact bytes of a file", async () => {
    using box = new Sandbox();
    const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, i) => (i * 7919) % 256));
    box.write("blob.bin", bytes);
    await box.must(["init"]);
    const [node = "", ...first] = box.command;
    const ran = spawnSync(node, [...first, "cat", "blob.bin"], { cwd: box.project, env: box.env() });
    expect(ran.stdout.equals(bytes)).toBe(true);
    expect((await box.json(["cat", "blob.bin"])).value).toMatchObject({
      encoding: "base64",
      content: bytes.toString("base64"),
    });
  });

  it("a reader that closes the pipe early causes no error", async () => {
    using box = new Sandbox();
    box.write("big.txt", "0123456789abcdef\n".repeat(200_000));
    await box.must(["init"]);
    for (const words of ["cat big.txt", "manifest", "log --json", "diff 0 now -p", "-h"]) {
      const line = `${box.command.join(" ")} ${words} | head -c 1 > /dev/null; echo "\${PIPESTATUS[0]}"`;
      const ran = spawnSync("bash", ["--norc", "-c", line], { cwd: box.project, env: box.env(), encoding: "utf8" });
      expect([words, ran.stdout, ran.stderr]).toEqual([words, "0\n", ""]);
    }
  });

  it("names that could move the cursor are escaped", async () => {
    using box = new Sandbox();
    box.write("a\u001b[2Jb\nc", "x");
    await box.must(["init"]);
    box.write("a\u001b[2Jb\nc", "y");
    for (const words of [
      ["status"],
      ["manifest"],
      ["diff"],
      ["diff", "-p"],
      ["snapshot", "-m", "\u001b[2J"],
      ["list"],
    ]) {
      expect((await box.must(words)).stdout).not.toContain("\u001b");
    }
    expect((await box.must(["cat", "a\u001b[2Jb\nc"])).stdout).toBe("y");
  });
});
