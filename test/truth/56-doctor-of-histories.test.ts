import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";
import { KeptHeads } from "../helpers/kept-heads.ts";

/** `doctor` reports a lost signing key, and a history that is damaged or takes no writes. */

interface Report {
  readonly ok: boolean;
  readonly checks: readonly {
    readonly name: string;
    readonly ok: boolean;
    readonly detail: string;
    readonly hint?: string;
  }[];
}

async function bad(box: Sandbox): Promise<{ code: number | null; bad: Record<string, string> }> {
  const { value } = await box.json(["doctor"]);
  const { code, stdout } = await box.call(["doctor"]);
  const report = value as Report;
  const found = report.checks.filter((one) => !one.ok);
  expect(report.ok).toBe(found.length === 0);
  for (const { name, hint } of found) expect([name, hint]).toEqual([name, expect.stringMatching(/./)]);
  expect(stdout.includes("BAD ")).toBe(!report.ok);
  return { code, bad: Object.fromEntries(found.map(({ name, detail }) => [name, detail])) };
}

async function recorded(): Promise<{ readonly box: Sandbox; readonly kept: KeptHeads }> {
  const box = new Sandbox();
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  const kept = new KeptHeads({ home: box.store, configFolder: join(box.folder, "config", "chronicle") });
  for (const text of ["two\n", "three\n"]) {
    box.write("a.txt", text);
    await box.must(["snapshot"]);
  }
  return { box, kept };
}

describe("Truth 56: doctor", () => {
  it("reports no problem in a sound store", async () => {
    using fresh = new Sandbox();
    expect(await bad(fresh)).toEqual({ code: 0, bad: {} });
    const { box } = await recorded();
    using _box = box;
    expect(await bad(box)).toEqual({ code: 0, bad: {} });
  });

  it.each([
    ["the key", ["key.pem"]],
    ["the folder of the configuration", [""]],
  ])("reports the lost signing key if %s is gone", async (_what, names) => {
    const { box } = await recorded();
    using _box = box;
    for (const name of names) rmSync(join(box.folder, "config", "chronicle", name), { recursive: true });
    expect(await bad(box)).toMatchObject({
      code: 1,
      bad: {
        key: expect.stringContaining("the signing key is gone"),
        history: expect.stringContaining("the signing key is gone"),
      },
    });
  });

  it("reports that an older copy of the store was put back", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    const backup = join(box.folder, "backup");
    cpSync(box.store, backup, { recursive: true });
    box.write("a.txt", "two\n");
    await box.must(["snapshot"]);
    rmSync(box.store, { recursive: true });
    cpSync(backup, box.store, { recursive: true });
    const found = await bad(box);
    expect(found).toMatchObject({ code: 1, bad: { history: expect.stringContaining("put back from an older copy") } });
  });

  it("reports a damaged note of a contradiction, and still makes the other checks", async () => {
    const { box, kept } = await recorded();
    using _box = box;
    const upstream = join(dirname(kept.log), "upstream");
    mkdirSync(upstream);
    writeFileSync(join(upstream, "witness.json"), "{");
    const { value } = await box.json(["doctor"]);
    const { checks } = value as Report;
    expect(checks.find(({ name }) => name === "syncs")).toMatchObject({ ok: false, detail: expect.any(String) });
    expect(checks.some(({ name }) => name === "history" || name === "blobs")).toBe(true);
  });

  it.each(["the last line", "the first line", "a line in the middle"])(
    "reports a damaged history if %s of a log is damaged",
    async (which) => {
      const { box, kept } = await recorded();
      using _box = box;
      const bytes = readFileSync(kept.log);
      const lines = bytes.toString("latin1").split("\n");
      const at = { "the last line": lines.length - 2, "the first line": 0 }[which] ?? 4;
      const offset = lines.slice(0, at).join("\n").length + 60;
      bytes[offset] = (bytes[offset] ?? 0) ^ 1;
      writeFileSync(kept.log, bytes);
      const found = await bad(box);
      expect(found).toMatchObject({ code: 1, bad: { history: expect.stringMatching(/damaged|cannot be read/) } });
    },
  );
});
