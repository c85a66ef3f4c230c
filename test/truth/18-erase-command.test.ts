import { randomBytes } from "node:crypto";
import { readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { EraseShape, ErasureShape } from "../../src/api/action-shapes.ts";
import type { DoctorShape } from "../../src/api/store-api.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { ServedStore } from "../helpers/served-store.ts";

/**
 * `chronicle erase` says what it erases, needs a confirmation, and works the same over HTTP. An agent may not use it.
 */

/** Makes a history whose snapshot 1 has a key in `deploy.pem`, which was removed later. */
async function recorded(): Promise<{ readonly box: Sandbox; readonly hash: string }> {
  const box = new Sandbox();
  const key = randomBytes(500);
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  box.write("deploy.pem", key);
  await box.must(["snapshot"]);
  unlinkSync(join(box.project, "deploy.pem"));
  box.write("a.txt", "two\n");
  await box.must(["snapshot"]);
  return { box, hash: sha256(key) };
}

describe("Truth 18: chronicle erase", { timeout: 600_000 }, () => {
  it("shows what it would erase, and is refused without a confirmation", async () => {
    const { box, hash } = await recorded();
    using _ = box;
    const dry = await box.must(["erase", "deploy.pem", "--dry-run"]);
    expect(dry.stdout).toMatch(new RegExp(`would erase 1 content of 500 B\\n +${hash.slice(0, 12)} .*deploy\\.pem`));
    const unsure = await box.call(["erase", "deploy.pem"]);
    expect([unsure.code, unsure.stderr]).toEqual([6, expect.stringContaining("--dry-run")]);
    const now = await box.call(["erase", "deploy.pem", "--now", "-y"]);
    expect([now.code, now.stderr]).toEqual([6, expect.stringContaining("only a person at a terminal")]);
    for (const line of [["erase"], ["erase", "deploy.pem", "--match", "*"]])
      expect((await box.call(line)).code).toBe(2);
    expect((await box.call(["erase", "nothing.pem", "-y"])).code).toBe(3);
    expect((await box.must(["unerase"])).stdout).toBe("");
    await box.must(["cat", "deploy.pem@1"]);
  });

  it("erases a content, names unerase, and other files can still be restored", async () => {
    const { box, hash } = await recorded();
    using _ = box;
    const done = (await box.json(["erase", "--match", "*.pem", "--reason", "a key", "-y"])).value as EraseShape;
    expect(done).toMatchObject({ total: 1, contents: [{ hash, paths: ["deploy.pem"] }], dry_run: false });
    const gone = await box.call(["cat", "deploy.pem@1"]);
    expect([gone.code, gone.stderr]).toEqual([
      3,
      expect.stringMatching(/erased by event \d+ \(a key\)[^]*chronicle unerase/),
    ]);
    const restored = await box.call(["restore", "1", "-y"]);
    expect(restored.stdout + restored.stderr).toMatch(/deploy\.pem.*erased by event/);
    expect(readFileSync(join(box.project, "a.txt"), "utf8")).toBe("one\n");
    const verified = await box.must(["verify"]);
    expect(verified.stdout).toMatch(/^ok/m);
    expect(verified.stdout + verified.stderr).toContain("1 content erased by event");
    const listed = (await box.json(["unerase"])).value as ErasureShape[];
    expect(listed).toMatchObject([{ id: done.id, reason: "a key", asked: { match: "*.pem" }, can_be_withdrawn: true }]);
    expect((await box.must(["unerase"])).stdout).toMatch(/a key/);
    await box.must(["unerase", (done.id ?? "").slice(0, 8)]);
    await box.must(["restore", "1", "-y"]);
    expect(sha256(readFileSync(join(box.project, "deploy.pem")))).toBe(hash);
  });

  it("is refused to an agent", async () => {
    const { box } = await recorded();
    using _ = box;
    const env = { CHRONICLE_ROLE: "agent" };
    for (const line of [
      ["erase", "deploy.pem", "-y"],
      ["unerase", "0"],
    ]) {
      const { code, stderr } = await box.call(line, { env });
      expect([code, stderr]).toEqual([6, expect.stringContaining("an agent may not do this")]);
    }
    expect((await box.json(["unerase"])).value).toEqual([]);
  });

  it("is suggested by doctor for recorded files that the rules leave out now", async () => {
    const { box } = await recorded();
    using _ = box;
    const found = async (): Promise<string | undefined> =>
      ((await box.json(["doctor"])).value as DoctorShape).checks.find(({ name }) => name === "left out")?.detail;
    box.write("secret.env", "TOKEN=1\n");
    box.write("logs/old.log", "x\n");
    await box.must(["snapshot"]);
    expect(await found()).toBeUndefined();
    writeFileSync(join(box.project, ".gitignore"), "*.env\nlogs/\n*.pem\n");
    expect(await found()).toMatch(/3 recorded files.*deploy\.pem, logs\/old\.log, secret\.env.*chronicle -w \S+ erase/);
    await box.must(["erase", "logs", "-y"]);
    await box.must(["erase", "--match", "*.env", "-y"]);
    expect(await found()).toMatch(/1 recorded file .*deploy\.pem/);
    expect(readFileSync(join(box.project, "secret.env"), "utf8")).toBe("TOKEN=1\n");
    await box.must(["erase", "deploy.pem", "-y"]);
    expect(await found()).toBeUndefined();
  });

  it("works over HTTP for operators, and is refused to agents", async () => {
    await using served = await ServedStore.start();
    const { workspace } = await served.store.create({ name: "one" });
    const key = randomBytes(100);
    await workspace.putFile("key.pem", key, {});
    await workspace.deleteFile("key.pem");
    const there = served.client("port").workspace(workspace.id);
    expect(await there.erase({ what: "key.pem", dryRun: true })).toMatchObject({ total: 1, dry_run: true });
    const { id } = await there.erase({ what: "key.pem", reason: "a key" });
    await expect(there.cat("key.pem", 1)).rejects.toMatchObject({ code: "ERASED" });
    const raw = await fetch(`${served.url}/v1/workspaces/${workspace.id}/blobs/${sha256(key)}`, {
      headers: { authorization: `Bearer ${served.token}` },
    });
    expect([raw.status, await raw.json()]).toEqual([410, expect.objectContaining({ code: "ERASED" })]);
    expect(await there.erasures()).toMatchObject([{ id, reason: "a key" }]);
    await expect(there.erase({ what: "key.pem", now: true })).rejects.toMatchObject({ code: "USAGE" });
    const agent = there.as({ role: "agent", actor: "agent" });
    await expect(agent.erase({ what: "key.pem" })).rejects.toMatchObject({ code: "FORBIDDEN" });
    await there.unerase(id ?? "");
    expect((await there.cat("key.pem", 1)).size).toBe(100);
    await workspace.close();
  });
});
