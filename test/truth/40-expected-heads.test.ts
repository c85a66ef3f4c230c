import { describe, expect, it } from "vitest";
import { generateKey, signHead } from "../../src/core/log/signed-head.ts";
import { Sandbox } from "../cli/sandbox.ts";

/** A head that somebody gives to be held to: a signature that nobody knows proves nothing, and no other text is the note. */

describe("verify --expect", () => {
  it("is not 0 of a note that only an unknown key has signed, though every number is right", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    const head = (await box.must(["head"])).stdout;
    const text = head.slice(0, head.lastIndexOf("\n\n") + 1);
    const strange = signHead(text, generateKey().privateKeyPem, "chronicle");
    const told = await box.call(["verify", "--expect", "-"], { input: strange });
    expect(told.code).not.toBe(0);
    expect(told.stdout + told.stderr).toContain("signed by a key that this history does not name");
    expect((await box.must(["verify", "--expect", "-"], { input: head })).code).toBe(0);
  });

  it("takes a note that this history's key has signed, whoever has signed it besides", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    const head = (await box.must(["head"])).stdout;
    const text = head.slice(0, head.lastIndexOf("\n\n") + 1);
    const further = signHead(text, generateKey().privateKeyPem, "somebody").slice(text.length + 1);
    expect((await box.must(["verify", "--expect", "-"], { input: head + further })).code).toBe(0);
  });

  it("refuses a note with CRLF, and says what to do", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    const head = (await box.must(["head"])).stdout.replaceAll("\n", "\r\n");
    const told = await box.call(["verify", "--expect", "-"], { input: head });
    expect(told.code).toBe(2);
    expect(told.stderr).toContain("save it with line ends of LF");
  });
});
