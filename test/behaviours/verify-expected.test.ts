/** How `verify --expect` judges a head that was kept elsewhere. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { HeadShape } from "../../src/api/shapes.ts";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { generateKey, signHead, vkeyOf } from "../../src/core/log/signed-head.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { Project } from "../helpers/project.ts";

/** Flips one bit in byte `at` of the last signature of a note. The signature begins with the key id. */
function tampered(note: string, at: number): string {
  const [, start = "", base64 = ""] = /^([^]* )(\S+)\n$/.exec(note) ?? [];
  const bytes = Buffer.from(base64, "base64");
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return `${start}${bytes.toString("base64")}\n`;
}

/** The same text, signed with another key. */
function resigned(note: string): { readonly note: string; readonly key: string } {
  const { privateKeyPem } = generateKey();
  const text = note.slice(0, note.lastIndexOf("\n\n") + 1);
  return { note: signHead(text, privateKeyPem, "chronicle"), key: vkeyOf(privateKeyPem, "chronicle") };
}

describe("an expected head", () => {
  let project: Project;
  let workspace: WorkspaceApi;
  let head: HeadShape;

  beforeAll(async () => {
    project = new Project();
    project.write("a", "0");
    workspace = await project.init();
    head = await workspace.head();
  });
  afterAll(() => project[Symbol.asyncDispose]());

  const verified = (given: string) => workspace.verify({ quick: true, expect: given });
  const INVALID = [{ kind: "head-invalid", where: "--expect" }];

  it("is null in the answer if none is given", async () => {
    expect(await workspace.verify({ quick: true })).toMatchObject({ ok: true, expected: null });
  });

  it("is checked with the workspace's own key if it is a bare note or JSON", async () => {
    const { key: _key, ...bare } = head;
    for (const given of [head.note, JSON.stringify(head), JSON.stringify(bare)]) {
      const expected = { seq: head.seq, ok: true, signature: "valid" };
      expect(await verified(given)).toMatchObject({ ok: true, notes: [], expected });
    }
  });

  it("with a wrong signature is a problem, and the log is not compared with it", async () => {
    const { key: _key, ...bare } = head;
    const forged = head.note.replace(`\n${head.seq}\n`, "\n999\n");
    const others = [
      { ...head, note: tampered(head.note, 20) },
      { ...bare, note: tampered(head.note, 20) },
    ];
    for (const given of [tampered(head.note, 20), ...others.map((one) => JSON.stringify(one))]) {
      const expected = { seq: head.seq, ok: false, signature: "invalid" };
      expect(await verified(given)).toMatchObject({ ok: false, problems: INVALID, expected });
    }
    const told = await verified(forged);
    expect(told.problems).toEqual([
      { ...INVALID[0], detail: expect.stringContaining("was not compared with the head") },
    ]);
    expect(told.expected).toEqual({ seq: 999, ok: false, signature: "invalid" });
  });

  it("signed by an unknown key is a problem, but the log is compared with it", async () => {
    const { note, key } = resigned(head.note);
    for (const given of [note, tampered(head.note, 1)]) {
      const told = await verified(given);
      expect(told).toMatchObject({ ok: false, expected: { ok: false, signature: "unknown-key" } });
      expect(told.problems).toEqual([expect.objectContaining({ kind: "head-unknown-key", where: "--expect" })]);
    }
    const withKey = await verified(JSON.stringify({ ...head, note, key }));
    expect(withKey).toMatchObject({ ok: true, expected: { ok: true, signature: "valid" } });
    const wrongKey = await verified(JSON.stringify({ ...head, note, key: head.key }));
    expect(wrongKey).toMatchObject({ ok: false, problems: INVALID });
    const wrong = resigned(head.note.replace(`\n${head.seq}\n`, "\n999\n")).note;
    expect(await verified(wrong)).toMatchObject({
      problems: [{ kind: "head-unknown-key" }, { kind: "log-truncated", where: "--expect" }],
      expected: { seq: 999, ok: false, signature: "unknown-key" },
    });
  });

  it("without a note counts as not signed", async () => {
    const { note: _note, key: _key, ...numbers } = head;
    const told = await verified(JSON.stringify(numbers));
    expect(told).toMatchObject({ ok: true, expected: { seq: head.seq, ok: true, signature: "none" } });
    expect(told.notes).toEqual([expect.stringContaining("not signed")]);
  });
});

it("the command reports the head that the log was compared with, or that it was not compared with a tampered one", async () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  const head = (await box.must(["head"])).stdout;
  const good = await box.must(["verify", "--expect", "-"], { input: head });
  expect(good.stdout).toMatch(/^compared with the head you gave \(seq \d+\): signature valid$/m);
  const bad = await box.call(["verify", "--expect", "-"], { input: tampered(head, 30) });
  expect(bad.code).toBe(4);
  expect(bad.stdout).toMatch(/^head-invalid +--expect/m);
  expect(bad.stdout).toMatch(/^not compared with the head you gave \(seq \d+\): signature invalid$/m);
  expect(bad.stdout).not.toMatch(/^compared with/m);
});
