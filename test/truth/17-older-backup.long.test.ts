import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";
import { HostedProject } from "../helpers/hosted-project.ts";
import { KeptHeads } from "../helpers/kept-heads.ts";

/** A store that is put back from an older backup is read-only, says why, and names the command to continue. */

/** Makes a history, a backup of its store, and some events that the backup does not have. */
async function withBackup(): Promise<{ readonly box: Sandbox; readonly kept: KeptHeads; readonly backup: string }> {
  const box = new Sandbox();
  box.write("a.txt", "one\n");
  box.write("b.txt", "never changed\n");
  await box.must(["init"]);
  const backup = join(box.folder, "backup");
  cpSync(box.store, backup, { recursive: true });
  for (const text of ["two\n", "three\n"]) {
    box.write("a.txt", text);
    await box.must(["snapshot"]);
  }
  box.write("new.txt", "made later\n");
  await box.must(["snapshot"]);
  const kept = new KeptHeads({ home: box.store, configFolder: join(box.folder, "config", "chronicle") });
  return { box, kept, backup };
}

/** What is put back from the backup. */
const WAYS: readonly (readonly [string, (box: Sandbox, backup: string, kept: KeptHeads) => void])[] = [
  [
    "the whole store",
    (box, backup) => {
      rmSync(box.store, { recursive: true });
      cpSync(backup, box.store, { recursive: true });
    },
  ],
  [
    "the log alone; the index and the stat cache know more",
    (_box, backup, kept) => cpSync(join(backup, "workspaces", kept.id, "events.wal"), kept.log),
  ],
];

describe("Truth 17: a store put back from an older backup", { timeout: 120_000 }, () => {
  it.for(WAYS)("%s: the workspace is read-only, and the answers name `head --accept`", async ([, putBack]) => {
    const { box, kept, backup } = await withBackup();
    using _box = box;
    putBack(box, backup, kept);
    const [log, head] = [readFileSync(kept.log, "utf8"), readFileSync(kept.head, "utf8")];
    const ran = await box.call(["snapshot"]);
    expect(ran.code).toBe(4);
    expect(ran.stderr).toContain("the store was put back from an older copy");
    expect(ran.stderr).toContain("chronicle head --accept");
    const status = await box.call(["status"]);
    expect(status.stdout).toMatch(
      /^NOT RECORDING: .*put back from an older copy.*\nread-only .*put back.*head --accept/,
    );
    expect(status.stdout).not.toContain("everything on disk is recorded");
    box.write("mine.txt", "in no history\n");
    const { value } = await box.json(["status"]);
    expect(value).toMatchObject({
      read_only: true,
      changes: expect.arrayContaining([expect.objectContaining({ path: "mine.txt", change_type: "created" })]),
      signing: { state: "read-only", hint: expect.stringContaining("head --accept") },
    });
    const verified = await box.call(["verify"]);
    expect([verified.code, verified.stdout]).toEqual([4, expect.stringContaining("log-truncated")]);
    const forgotten = await box.call(["forget", kept.id, "--yes"]);
    expect([forgotten.code, forgotten.stderr]).toEqual([6, expect.stringContaining("head --accept")]);
    expect([readFileSync(kept.log, "utf8"), readFileSync(kept.head, "utf8")]).toEqual([log, head]);
  });

  it.for(WAYS)(
    "%s: a person can accept the history, and the old head still proves that events are gone",
    async ([, putBack]) => {
      const { box, kept, backup } = await withBackup();
      using _box = box;
      const old = join(box.folder, "old.txt");
      writeFileSync(old, (await box.must(["head"])).stdout);
      const note = readFileSync(kept.head, "utf8");
      const last = kept.events.at(-1);
      putBack(box, backup, kept);
      const end = kept.events.at(-1);
      expect((await box.call(["head", "--accept"])).code).toBe(6);
      const { code, value } = await box.json(["head", "--accept", "--yes"]);
      expect([code, value]).toEqual([
        0,
        {
          accepted: true,
          seq: (end?.seq ?? 0) + 1,
          reason: expect.stringContaining("older copy"),
          log: { seq: end?.seq, hash: end?.hash },
          head: { seq: last?.seq, hash: last?.hash },
          kept_as: expect.stringContaining(`${kept.id}.former-`),
          key: expect.stringContaining("chronicle+"),
        },
      ]);
      // The event names both heads, and the old note stays.
      expect(kept.events.at(-1)).toMatchObject({
        recordId: `signer:${kept.id}`,
        record: { why: "accepted", accepted: { log: { seq: end?.seq }, head: { seq: last?.seq, hash: last?.hash } } },
      });
      expect(kept.former.map((name) => readFileSync(join(dirname(kept.head), name), "utf8"))).toEqual([note]);
      const status = await box.call(["status"]);
      expect(status.stdout).not.toMatch(/read-only|unsigned/);

      // The files of which the backup has no record are on disk, and are recorded now, although they did not change
      // since.
      const on = await box.call(["snapshot"]);
      expect([on.code, on.stderr]).toEqual([0, ""]);
      expect((await box.must(["cat", "a.txt"])).stdout).toBe("three\n");
      expect((await box.must(["cat", "new.txt"])).stdout).toBe("made later\n");
      for (let i = 0; i < 6; i += 1) {
        box.write("a.txt", `${i} and on\n`);
        await box.must(["snapshot"]);
      }
      expect(kept.headSeq).toBe(kept.events.length);
      const verified = await box.call(["verify"]);
      expect([verified.code, verified.stdout]).toEqual([
        0,
        expect.stringContaining(`accepted the history as it was at event ${end?.seq}`),
      ]);
      const expected = await box.call(["verify", "--expect", old]);
      expect([expected.code, expected.stdout]).toEqual([4, expect.stringContaining("log-replaced")]);
      expect(kept.former).toHaveLength(1);
      expect((await box.call(["gc"])).code).toBe(0);
    },
  );

  it.for([
    ["kept", (): void => {}],
    ["gone", (kept: KeptHeads): void => rmSync(kept.head)],
  ] as const)("a rebuild of the index does not hide that the log was cut (the head is %s)", async ([, drop]) => {
    const { box, kept, backup } = await withBackup();
    using _box = box;
    cpSync(join(backup, "workspaces", kept.id, "events.wal"), kept.log);
    drop(kept);
    const log = readFileSync(kept.log, "utf8");
    for (const command of ["rebuild", "rebuild", "snapshot"]) {
      const { code, stderr } = await box.call([command]);
      expect([code, stderr]).toEqual([4, expect.stringContaining("the log was cut")]);
    }
    const { value } = await box.json(["status"]);
    expect(value).toMatchObject({ read_only: true, signing: { state: "read-only" } });
    expect(await box.call(["verify"])).toMatchObject({ code: 4, stdout: expect.stringContaining("log-truncated") });
    expect(readFileSync(kept.log, "utf8")).toBe(log);
    await box.must(["head", "--accept", "--yes"]);
    expect((await box.call(["rebuild"])).code).toBe(0);
    expect((await box.call(["verify"])).code).toBe(0);
  });

  it("head --accept without --yes is refused where nobody can be asked, and changes nothing", async () => {
    const { box, kept, backup } = await withBackup();
    using _box = box;
    rmSync(box.store, { recursive: true });
    cpSync(backup, box.store, { recursive: true });
    const before = readFileSync(kept.log, "utf8");
    const refused = await box.call(["head", "--accept"]);
    expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining("chronicle head --accept --yes")]);
    expect([readFileSync(kept.log, "utf8"), kept.former]).toEqual([before, []]);
  });

  it("the history of a hosted workspace can be accepted by the library", async () => {
    await using project = new HostedProject();
    const made = await project.create({ name: "one" });
    await made.putFile("a", Buffer.from("1"));
    await made.close();
    const kept = new KeptHeads({ home: project.home, configFolder: join(project.base, "config") });
    const older = readFileSync(kept.log);
    const again = await project.open(made.id);
    await again.putFile("a", Buffer.from("2"));
    await again.close();
    writeFileSync(kept.log, older);
    const put = await project.open(made.id);
    await expect(put.putFile("a", Buffer.from("3"))).rejects.toMatchObject({ code: "ROLLBACK_DETECTED" });
    expect(await put.signing()).toMatchObject({ state: "read-only" });
    expect(await put.acceptHead()).toMatchObject({ accepted: true });
    expect(await put.signing()).toMatchObject({ state: "signed" });
    await put.putFile("a", Buffer.from("3"));
    expect((await put.verify()).problems).toEqual([]);
    expect(await put.acceptHead()).toMatchObject({ accepted: false });
    expect(existsSync(kept.head)).toBe(true);
  });

  it("a log with a damaged line in the middle cannot be accepted", async () => {
    const { box, kept } = await withBackup();
    using _box = box;
    const bytes = readFileSync(kept.log);
    bytes[200] = (bytes[200] ?? 0) ^ 1;
    writeFileSync(kept.log, bytes);
    kept.dropIndex();
    const ran = await box.call(["head", "--accept", "--yes"]);
    expect([ran.code, ran.stderr]).toEqual([4, expect.stringContaining("the log is damaged at event 1")]);
    expect(readFileSync(kept.log).equals(bytes)).toBe(true);
  });
});
