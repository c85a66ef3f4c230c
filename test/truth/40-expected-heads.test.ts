import { describe, expect, it } from "vitest";
import { generateKey, signHead } from "../../src/core/log/signed-head.ts";
import { Sandbox } from "../cli/sandbox.ts";

/**
 * A head that somebody expects. A signature by an unknown key proves nothing, and a text that differs from the note
 * is refused.
 */

describe("verify --expect", () => {
  it("fails for a note that only an unknown key has signed, although each number is right", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    const head = (await box.must(["head"])).stdout;
    const text = head.slice(0, head.lastIndexOf("\n\n") + 1);
    const strange = signHead(text, generateKey().privateKeyPem, "chronicle");
    const told = await box.call(["verify", "--expect", "-"], { input: strange });
    expect(told.code).not.toBe(0);
    expect(told.stdout + told.stderr).toContain("signed with a key that is neither yours nor named in this history");
    expect((await box.must(["verify", "--expect", "-"], { input: head })).code).toBe(0);
  });

  it("accepts a note that this history's key has signed, whoever else has signed it", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    const head = (await box.must(["head"])).stdout;
    const text = head.slice(0, head.lastIndexOf("\n\n") + 1);
    const further = signHead(text, generateKey().privateKeyPem, "somebody").slice(text.length + 1);
    expect((await box.must(["verify", "--expect", "-"], { input: head + further })).code).toBe(0);
  });

  it("refuses a note with CRLF line ends, and says how to save it", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    const head = (await box.must(["head"])).stdout.replaceAll("\n", "\r\n");
    const told = await box.call(["verify", "--expect", "-"], { input: head });
    expect(told.code).toBe(2);
    expect(told.stderr).toContain("save it with line ends of LF");
  });
});
