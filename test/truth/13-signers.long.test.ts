import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { UnsignedShape } from "../../src/api/store-api.ts";
import { storeTasks } from "../../src/compose/store-tasks.ts";
import { openContext } from "../../src/compose/open-context.ts";
import { LogTree } from "../../src/core/log/log-tree.ts";
import { encodeHead, generateKey, parseSignedHead, signHead, vkeyOf } from "../../src/core/log/signed-head.ts";
import { encodeSigner, signerRecordId } from "../../src/core/records/signer-record.ts";
import { withCommit } from "../../src/engine/commit/commit.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { HostedProject } from "../helpers/hosted-project.ts";
import { KeptHeads } from "../helpers/kept-heads.ts";
import { Project } from "../helpers/project.ts";
import { storeParts } from "../helpers/store-parts.ts";
import { ServedStore } from "../helpers/served-store.ts";

/** The log names the key that signs its heads. From that event on, a head must be kept. */

const GARBAGE = "this is no key\n";

function headsOf(box: Sandbox): KeptHeads {
  return new KeptHeads({ home: box.store, configFolder: join(box.folder, "config", "chronicle") });
}

/** A sandbox with a history of some events, signed. */
async function recorded(): Promise<{ readonly box: Sandbox; readonly kept: KeptHeads }> {
  const box = new Sandbox();
  box.write("a.txt", "one\n");
  await box.must(["init"]);
  for (const text of ["two\n", "three three\n"]) {
    box.write("a.txt", text);
    await box.must(["snapshot"]);
  }
  return { box, kept: headsOf(box) };
}

/** The ways to lose the proof: title, loss, expected message, kind of problem in `verify`, and reason in `signing`. */
const LOSSES: readonly (readonly [string, (kept: KeptHeads) => void, RegExp, string, string])[] = [
  ["the head is gone", (kept) => rmSync(kept.head), /signed head .* is gone/, "head-missing", "no-head"],
  [
    "the head is garbage",
    (kept) => writeFileSync(kept.head, "?"),
    /is damaged, or was not/,
    "head-invalid",
    "bad-head",
  ],
  [
    "the head is signed by somebody else",
    (kept) => {
      const note = readFileSync(kept.head, "utf8");
      writeFileSync(
        kept.head,
        signHead(note.slice(0, note.lastIndexOf("\n\n") + 1), generateKey().privateKeyPem, "chronicle"),
      );
    },
    /is damaged, or was not signed with the key/,
    "head-invalid",
    "bad-head",
  ],
  ["the key is gone", (kept) => rmSync(kept.key), /signing key is gone: .*key\.pem/, "key-missing", "no-key"],
  [
    "the key is garbage",
    (kept) => writeFileSync(kept.key, GARBAGE),
    /key\.pem holds no signing key/,
    "key-invalid",
    "bad-key",
  ],
  [
    "the key is another one",
    (kept) => writeFileSync(kept.key, generateKey().privateKeyPem),
    /key\.pem is not the key that has signed this history since event 2/,
    "key-other",
    "other-key",
  ],
];

describe("Truth 13: the first commit names the signer", { timeout: 120_000 }, () => {
  it("in a folder, in a workspace without one, and in a fork", async () => {
    await using project = new Project();
    project.write("a", "0");
    const inFolder = await project.init();
    await using hosted = new HostedProject();
    const made = await hosted.create({ name: "one" });
    const forked = await hosted.create({ from: { workspace: made.id } });
    for (const workspace of [inFolder, made, forked]) {
      const [first, second, third] = await workspace.log({});
      expect([first, second, third].map((one) => one?.record_id.split(":")[0])).toEqual([
        "workspace",
        "signer",
        "snapshot",
      ]);
      const { key } = await workspace.head();
      expect(second).toMatchObject({
        record_id: signerRecordId(workspace.id),
        record: { key, since: 2, why: "begun" },
      });
      expect(third?.record).toMatchObject({ commit: { first: 1 } });
      expect(await workspace.signing()).toMatchObject({ state: "signed", key, since: 2, reason: null });
      expect((await workspace.verify()).problems).toEqual([]);
    }
  });

  it("if the process is killed right after it, before a head was kept, the next command signs", async () => {
    await using project = new Project();
    project.write("a", "0");
    const code = `
      import { openStore } from ${JSON.stringify(join(import.meta.dirname, "../../src/open.ts"))};
      const store = await openStore({ home: ${JSON.stringify(project.home)}, configFolder: ${JSON.stringify(project.configFolder)},
        onCommit: () => process.kill(process.pid, "SIGKILL") });
      await store.init({ roots: [${JSON.stringify(project.folder)}] });
    `;
    const killed = spawnSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" });
    expect(killed.signal).toBe("SIGKILL");
    const kept = new KeptHeads(project);
    expect([kept.headSeq, kept.events.length]).toEqual([0, 3]);
    const looking = await project.open({ readOnly: true });
    expect((await looking.verify()).problems).toEqual([]);
    expect(await looking.signing()).toMatchObject({ state: "signed" });
    project.write("a", "1");
    const next = await project.open();
    await next.snapshot();
    await next.close();
    expect(kept.headSeq).toBe(kept.events.length);
    // The first commit stands in for a head only until one is kept: a head that is gone later is missing.
    rmSync(kept.head);
    const later = await project.open();
    expect(await later.signing()).toMatchObject({ state: "unsigned", reason: "no-head" });
  });
});

describe(
  "Truth 13: without the key or the head, recording continues, and only a person can have it signed again",
  { timeout: 240_000 },
  () => {
    it.for(LOSSES)("%s", async ([, lose, said, kind, reason]) => {
      const { box, kept } = await recorded();
      using _box = box;
      const before = kept.events.length;
      lose(kept);
      const found = [
        existsSync(kept.head) && readFileSync(kept.head, "utf8"),
        existsSync(kept.key) && readFileSync(kept.key, "utf8"),
      ];
      for (const text of ["later\n", "and later\n"]) {
        box.write("a.txt", text);
        const ran = await box.call(["snapshot"]);
        expect([ran.code, ran.stdout]).toEqual([1, expect.stringContaining("1 change")]);
        expect(ran.stderr).toMatch(said);
        expect(ran.stderr).toContain("chronicle head --accept");
      }
      const run = box.run(["run", "--", "sh", "-c", "echo more >> a.txt"]);
      expect([run.code, run.stderr]).toEqual([1, expect.stringMatching(said)]);
      expect(kept.events.length).toBeGreaterThan(before + 4);

      const status = await box.call(["status"]);
      expect(status.stdout.split("\n")[1]).toMatch(said);
      const { value } = await box.json(["status"]);
      expect(value).toMatchObject({
        read_only: false,
        signing: { state: "unsigned", reason, hint: expect.any(String) },
      });
      expect((value as { notes: string[] }).notes[0]).toMatch(said);

      const verified = await box.call(["verify"]);
      expect([verified.code, verified.stdout]).toEqual([4, expect.stringContaining(kind)]);
      expect(verified.stdout).not.toMatch(/^ok/m);
      expect(verified.stdout + verified.stderr).not.toContain("bug in Chronicle");
      const head = await box.call(["head"]);
      expect([head.code, head.stdout]).toEqual([6, ""]);
      expect(head.stderr).toMatch(said);

      const log = readFileSync(kept.log, "utf8");
      for (const words of [["prune", "--keep-last", "1", "--yes"], ["gc"], ["compact"], ["forget", kept.id, "--yes"]]) {
        const refused = await box.call(words);
        expect([words[0], refused.code, refused.stderr]).toEqual([words[0], 6, expect.stringMatching(said)]);
        expect(refused.stderr).toMatch(/head --accept|put it back|put the right key back/);
      }
      expect(readFileSync(kept.log, "utf8")).toBe(log);
      // None of these commands has made a new key or a new head.
      expect([
        existsSync(kept.head) && readFileSync(kept.head, "utf8"),
        existsSync(kept.key) && readFileSync(kept.key, "utf8"),
      ]).toEqual(found);
    });

    it.for(LOSSES)("%s: a person can accept the history as it is", async ([name, lose, said]) => {
      const { box, kept } = await recorded();
      using _box = box;
      const old = join(box.folder, "old.txt");
      writeFileSync(old, (await box.must(["head"])).stdout);
      const oldSeq = kept.headSeq;
      lose(kept);
      box.write("a.txt", "later\n");
      await box.call(["snapshot"]);
      const end = kept.events.at(-1);

      const unasked = await box.call(["head", "--accept"]);
      expect([unasked.code, unasked.stderr]).toEqual([6, expect.stringContaining("needs a person")]);
      const agent = await box.call(["head", "--accept", "--yes"], { env: { CHRONICLE_ROLE: "agent" } });
      expect([agent.code, agent.stderr]).toEqual([6, expect.stringContaining("an agent may not do this")]);
      const last = kept.events.at(-1);
      expect(last?.recordId).toMatch(/^refused:/);

      if (name.includes("key is garbage")) {
        const refused = await box.call(["head", "--accept", "--yes"]);
        expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(said)]);
        rmSync(kept.key);
      }
      const accepted = await box.call(["head", "--accept", "--yes"]);
      expect([accepted.code, accepted.stderr]).toEqual([0, ""]);
      const signer = kept.events.find(({ recordId, seq }) => recordId.startsWith("signer:") && seq > 2);
      expect(signer?.record).toMatchObject({
        why: "accepted",
        since: signer?.seq,
        accepted: { log: { seq: last?.seq, hash: last?.hash }, reason: expect.any(String) },
      });
      expect(end?.seq).toBeLessThan(signer?.seq ?? 0);
      expect(kept.headSeq).toBe(signer?.seq);

      box.write("a.txt", "and on\n");
      const on = await box.call(["snapshot"]);
      expect([on.code, on.stderr]).toEqual([0, ""]);
      const verified = await box.call(["verify"]);
      expect([verified.code, verified.stdout]).toEqual([0, expect.stringContaining("accepted the history")]);
      // The old head still belongs to this history.
      const expected = await box.call(["verify", "--expect", old]);
      expect([expected.code, kept.headSeq > oldSeq]).toEqual([0, true]);
      expect((await box.call(["prune", "--keep-last", "1", "--yes"])).code).toBe(0);
      expect((await box.call(["gc"])).code).toBe(0);
      expect((await box.call(["compact"])).code).toBe(0);
      expect((await box.call(["compact", "--drop-archive", "--yes"])).code).toBe(0);
      expect((await box.call(["verify"])).code).toBe(0);
      const nothing = await box.call(["head", "--accept"]);
      expect([nothing.code, nothing.stdout]).toEqual([0, expect.stringContaining("nothing to accept")]);
      expect((await box.call(["forget", kept.id, "--yes"])).code).toBe(0);
    });

    it("init names a garbage key, and does not call it a bug in Chronicle", async () => {
      using box = new Sandbox();
      box.write("a.txt", "one\n");
      box.sh(`mkdir -p ../config/chronicle && printf '${GARBAGE}' > ../config/chronicle/key.pem`);
      const ran = await box.call(["init"]);
      expect([ran.code, ran.stderr]).toEqual([
        1,
        expect.stringContaining(`${box.folder}/config/chronicle/key.pem holds no signing key`),
      ]);
      expect(ran.stderr).toContain("put the right key back");
      expect(ran.stderr).not.toContain("bug in Chronicle");
    });
  },
);

describe("Truth 13: a forged log is never signed", { timeout: 240_000 }, () => {
  const forgeries: readonly (readonly [string, (kept: KeptHeads) => void])[] = [
    ["other bytes", (kept) => kept.forge((record) => record.replace('"name":"baseline"', '"name":"forged!!"'))],
    ["cut to its first commit", (kept) => kept.cut(3)],
    [
      "without its signer",
      (kept) => kept.forge((record, { recordId }) => (recordId.startsWith("signer:") ? undefined : record)),
    ],
    [
      "with a signer that says it was accepted",
      (kept) => {
        kept.forge((record, { recordId, seq, hash }) => {
          if (!recordId.startsWith("signer:")) return record;
          const accepted = { log: { seq, hash }, head: null, kept_as: null, reason: "none" };
          return JSON.stringify({ ...(JSON.parse(record) as object), why: "accepted", accepted });
        });
      },
    ],
    [
      "with the forger's own signer",
      (kept) => {
        const key = vkeyOf(generateKey().publicKeyPem, "chronicle");
        kept.forge((record, { recordId }) =>
          recordId.startsWith("signer:") ? JSON.stringify({ ...(JSON.parse(record) as object), key }) : record,
        );
      },
    ],
  ];

  it.for(forgeries)(
    "%s: no command makes a head for it after the index and the head were deleted",
    async ([, forge]) => {
      const { box, kept } = await recorded();
      using _box = box;
      const old = join(box.folder, "old.txt");
      writeFileSync(old, (await box.must(["head"])).stdout);
      forge(kept);
      kept.dropIndex();
      rmSync(kept.head);
      for (const words of [
        ["snapshot"],
        ["status"],
        ["log"],
        ["head"],
        ["verify"],
        ["rebuild"],
        ["restore", "0", "--yes"],
      ]) {
        await box.call(words);
      }
      expect(existsSync(kept.head)).toBe(false);
      expect((await box.call(["verify"])).code).toBe(4);
      expect((await box.call(["verify", "--expect", old])).code).toBe(4);
      expect((await box.call(["snapshot"])).code).not.toBe(0);
    },
  );

  it.for(forgeries)("%s: nothing is recorded if the index is deleted and the head is kept", async ([, forge]) => {
    const { box, kept } = await recorded();
    using _box = box;
    forge(kept);
    kept.dropIndex();
    const [log, head] = [readFileSync(kept.log, "utf8"), readFileSync(kept.head, "utf8")];
    box.write("a.txt", "more\n");
    const ran = await box.call(["snapshot"]);
    expect([ran.code, ran.stderr]).toEqual([4, expect.stringContaining("chronicle head --accept")]);
    const status = await box.call(["status"]);
    expect(status.stdout).toMatch(/^NOT RECORDING: the history is damaged: .*head --accept.*\nread-only /);
    const { value } = await box.json(["status"]);
    expect(value).toMatchObject({ read_only: true, signing: { state: "read-only" } });
    expect((await box.call(["verify"])).code).toBe(4);
    const shown = await box.call(["head"]);
    expect([shown.code, shown.stdout]).toEqual([4, ""]);
    for (const words of [["prune", "--keep-last", "1", "--yes"], ["gc"], ["compact"], ["forget", kept.id, "--yes"]]) {
      expect([words[0], (await box.call(words)).code]).not.toEqual([words[0], 0]);
    }
    expect([readFileSync(kept.log, "utf8"), readFileSync(kept.head, "utf8")]).toEqual([log, head]);
  });
});

describe("Truth 13: a new key", { timeout: 120_000 }, () => {
  /**
   * Makes a history that names a second key, and replaces the key file by that key. With `isCovered`, a head of the
   * first key covers the event that names the second.
   */
  async function withNewKey(project: Project, isCovered: boolean): Promise<KeptHeads> {
    project.write("a", "0");
    await (await project.init()).close();
    const kept = new KeptHeads(project);
    const before = readFileSync(kept.head);
    const { privateKeyPem, publicKeyPem } = generateKey();
    const parts = await storeParts(project.home, project.configFolder);
    const { context, close } = await openContext(parts, kept.id, { tasks: storeTasks(parts, kept.id) });
    await withCommit(context, async (commit) => {
      const since = (await commit.head()).seq + 1;
      const record = encodeSigner({ key: vkeyOf(publicKeyPem, "chronicle"), since, why: "changed", actor: "human" });
      await commit.append([{ op: "upsert", recordId: signerRecordId(kept.id), record }]);
    });
    await close();
    if (isCovered) coverWithOldKey(kept);
    else writeFileSync(kept.head, before);
    await parts.blobs.close();
    writeFileSync(kept.key, privateKeyPem);
    return kept;
  }

  /** Signs a head of the whole log with the key in the key file. */
  function coverWithOldKey(kept: KeptHeads): void {
    const pem = readFileSync(kept.key, "utf8");
    const { seq, hash } = kept.events.at(-1) ?? { seq: 0, hash: "" };
    const tree = new LogTree();
    for (const event of kept.events) tree.append(event.hash);
    const { content } = parseSignedHead(readFileSync(kept.head, "utf8"));
    const head = { ...content, seq, hash: hash as typeof content.hash, logRoot: tree.root() };
    writeFileSync(kept.head, signHead(encodeHead(head), pem, "chronicle"));
  }

  it("that a head of the old key covers signs the history from then on, and that head is kept", async () => {
    await using project = new Project();
    const kept = await withNewKey(project, true);
    const note = readFileSync(kept.head, "utf8");
    const workspace = await project.open();
    expect(await workspace.signing()).toMatchObject({ state: "signed", since: 4 });
    expect((await workspace.verify()).problems).toEqual([]);
    project.write("a", "1");
    await workspace.snapshot();
    await workspace.close();
    expect(kept.headSeq).toBe(kept.events.length);
    expect(kept.former.map((name) => readFileSync(join(dirname(kept.head), name), "utf8"))).toEqual([note]);
    const again = await project.open();
    expect((await again.verify()).problems).toEqual([]);
    expect((await again.head()).key).toBe(kept.events[3]?.record["key"]);
    // Without that head, nothing proves that the old key agreed.
    for (const name of kept.former) rmSync(join(dirname(kept.head), name));
    expect((await again.verify()).problems).toMatchObject([{ kind: "signer-unproved", where: "event 4" }]);
  });

  it("that no head of the old key covers leaves the history unsigned until a person accepts it", async () => {
    await using project = new Project();
    const kept = await withNewKey(project, false);
    const workspace = await project.open();
    expect(await workspace.signing()).toMatchObject({ state: "unsigned", reason: "other-key" });
    const head = readFileSync(kept.head, "utf8");
    project.write("a", "1");
    await workspace.snapshot();
    expect((await workspace.verify()).problems.map(({ kind }) => kind)).toContain("signer-unproved");
    await expect(workspace.gc()).rejects.toMatchObject({ code: "REFUSED" });
    expect(readFileSync(kept.head, "utf8")).toBe(head);
    expect(await workspace.acceptHead()).toMatchObject({ accepted: true });
    expect(await workspace.signing()).toMatchObject({ state: "signed" });
  });
});

describe("Truth 13: an unsigned history is reported to", { timeout: 240_000 }, () => {
  it("a program that uses the library, once", async () => {
    await using project = new Project();
    project.write("a", "0");
    const workspace = await project.init();
    await workspace.close();
    const kept = new KeptHeads(project);
    rmSync(kept.head);
    const told: UnsignedShape[] = [];
    const store = await project.store({ onUnsigned: (one) => told.push(one) });
    const again = await store.open({ folder: project.folder });
    for (const text of ["1", "2"]) {
      project.write("a", text);
      await again.snapshot();
    }
    await again.close();
    expect(told).toMatchObject([{ workspace: workspace.id, reason: "no-head" }]);
    await expect(again.head()).rejects.toMatchObject({ code: "USAGE" });
  });

  it("the user of an agent, by the agent's hooks, which continue to record", () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    const entry = join(dirname(dirname(chronicleBin())), "dist", "hook.cjs");
    const hook = (event: string, more: object): { code: number | null; stdout: string } => {
      const input = { session_id: "s", cwd: box.project, prompt_id: "t", hook_event_name: event, ...more };
      const words = [entry, "claude", "--direct", "--store", box.store];
      const ran = spawnSync(process.execPath, words, {
        cwd: box.project,
        env: box.env(),
        input: JSON.stringify(input),
        encoding: "utf8",
      });
      return { code: ran.status, stdout: ran.stdout };
    };
    expect(hook("SessionStart", { source: "startup" })).toEqual({ code: 0, stdout: "" });
    const kept = headsOf(box);
    rmSync(kept.head);
    const before = kept.events.length;
    const told = hook("UserPromptSubmit", { prompt: "go" });
    expect([told.code, JSON.parse(told.stdout)]).toEqual([
      0,
      { systemMessage: expect.stringContaining("what is recorded is not signed: the signed head") },
    ]);
    const call = {
      tool_name: "Write",
      tool_input: { file_path: join(box.project, "a.txt"), content: "-" },
      tool_use_id: "c1",
    };
    expect(hook("PreToolUse", call)).toEqual({ code: 0, stdout: "" });
    box.write("a.txt", "by the agent\n");
    expect(hook("PostToolUse", { ...call, tool_response: {} })).toEqual({ code: 0, stdout: "" });
    const ids = kept.events.slice(before).map(({ recordId }) => recordId.replace(/:.*/, ""));
    expect(ids).toEqual(expect.arrayContaining(["action", "file"]));
    expect(existsSync(kept.head)).toBe(false);
    expect(JSON.parse(hook("SessionStart", { source: "resume" }).stdout)).toMatchObject({
      systemMessage: expect.stringContaining("not signed"),
    });
  });

  it("a client of a server; the command line with --remote exits with 1, too", async () => {
    await using project = new Project();
    project.write("a", "0");
    await (await project.init()).close();
    const kept = new KeptHeads(project);
    rmSync(kept.head);
    await using served = await ServedStore.start({ places: project });
    const client = served.client();
    const workspace = client.workspace(kept.id);
    await workspace.putFile("a", Buffer.from("1"));
    expect((await workspace.status()).signing).toMatchObject({ state: "unsigned", reason: "no-head" });
    expect(await workspace.signing()).toMatchObject({ state: "unsigned", reason: "no-head" });
    await expect(workspace.head()).rejects.toMatchObject({ code: "REFUSED" });
    await expect(workspace.compact()).rejects.toMatchObject({ code: "REFUSED" });
    await expect(workspace.acceptHead()).rejects.toMatchObject({ code: "USAGE" });
    expect((await workspace.verify()).ok).toBe(false);
    using box = new Sandbox();
    const remote = ["--remote", `${served.url}#${kept.id}`];
    const env = { CHRONICLE_TOKEN: served.token };
    const ran = await box.call([...remote, "snapshot", "-m", "x"], { env });
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining("is not signed")]);
    const looked = await box.call([...remote, "log"], { env });
    expect(looked.code).toBe(0);
    expect(existsSync(kept.head)).toBe(false);
  });
});
