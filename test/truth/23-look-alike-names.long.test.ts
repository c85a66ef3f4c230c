import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { sha256 } from "../../src/core/values/hash.ts";
import { displayPath, parsePath } from "../../src/core/values/path.ts";
import { oneLine } from "../../src/mcp/one-line.ts";
import { dialOrigin } from "../../src/replication/replica/dial-origin.ts";
import { Sandbox } from "../cli/sandbox.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { Project } from "../helpers/project.ts";
import { Serving } from "../server/serving.ts";

/**
 * Names that are or look like a person's, invisible characters, repeated headers, and `/proc/self` of another process.
 */

/** Cyrillic, Greek, invisible, full width, mathematical, marked, small capitals, flags, and letters that look like others. */
const LOOK_ALIKES = [
  ...["human", "Human", "HUMAN", "hуman", "humаn", "ｈｕｍａｎ", "𝐡𝐮𝐦𝐚𝐧", "hùmán", "ʜᴜᴍᴀɴ", "ꓧꓴꓟꓮꓠ", "hurnan"],
  ...["hu-man", " human ", "h.u.m.a.n", "🇭🇺🇲🇦🇳", "🅷🆄🅼🅰🅽"],
  ...[
    "operator",
    "Operator",
    "оperator",
    "operatοr",
    "0perator",
    "оwner",
    "owner",
    "rооt",
    "r00t",
    "adm1n",
    "Admin",
    "uѕer",
  ],
  ...["person", "pеrson", "system", "chronicle", "Chrоnicle", "аmbiguous"],
];
const INVISIBLE = [
  "hu\u200bman",
  "cla\u200dude",
  "cl\u2060aude",
  "claude\ufeff",
  "\u061cclaude",
  "c\u{e0041}laude",
  "a\u202eb",
];
const FREE = [
  "claude",
  "agent",
  "ci",
  "alice",
  "Мария",
  "日本語",
  "humane",
  "José",
  "root-cause-bot",
  "operators",
  "ユーザー",
];

describe("Truth 23: an agent cannot act under a person's name, nor under one that looks like it", () => {
  let serving: Serving;
  beforeAll(async () => {
    serving = await Serving.start({ replication: true });
    await serving.create("mine");
  });
  afterAll(() => serving[Symbol.asyncDispose]());

  const url = (path: string, name: string) => `${path}?actor=${encodeURIComponent(name)}`;

  it.each([...LOOK_ALIKES, ...INVISIBLE])("over HTTP, an agent may not be called %j", async (name) => {
    const token = serving.token("agent");
    const body = { from: "a.txt", to: "b.txt", actor: name };
    const before = (await serving.ask("/v1/workspaces/mine")).text;
    const sent = [
      await serving.put("mine", url("a.txt", name), "x", { token }),
      await serving.send("/v1/workspaces/mine/move", body, { token }),
      await serving.send("/v1/workspaces/mine/sessions", { actor: name }, { token }),
      await serving.send(
        "/v1/workspaces/mine/actions",
        { type: "write_file", payload: { path: "a" }, actor: name },
        { token },
      ),
      await serving.send("/v1/workspaces/mine/transactions", { actor: name }, { token }),
      await serving.send(
        "/v1/workspaces/mine/transactions",
        { actor: name },
        { headers: { "chronicle-role": "agent" } },
      ),
    ];
    expect(sent.map(({ status }) => [400, 403].includes(status))).toEqual(sent.map(() => true));
    expect(await serving.ask("/v1/workspaces/mine").then((one) => one.text)).toBe(before);
  });

  it.each(FREE)("any other name is accepted: %j", async (name) => {
    const token = serving.token("agent");
    expect((await serving.put("mine", url("free.txt", name), name, { token })).status).toBe(200);
    const { items } = (await serving.read("mine", "free.txt/history")).json<{ items: { actor: string }[] }>();
    expect(items.some(({ actor }) => actor === name)).toBe(true);
  });

  it("an operator may act as a person, but not under a name with invisible characters", async () => {
    expect((await serving.put("mine", url("o.txt", "human"), "x")).status).toBe(200);
    for (const name of INVISIBLE) expect((await serving.put("mine", url("o.txt", name), name)).status).toBe(400);
  });

  it.each(["hуman", "operator"])(
    "in the library, a caller with the agent's role may not be called %j",
    async (name) => {
      await using project = new Project();
      project.write("a.txt", "one\n");
      await project.init();
      const refused = { code: "FORBIDDEN", hint: expect.any(String) };
      const workspace = await project.open({ role: "agent" });
      await expect(workspace.startSession({ actor: name })).rejects.toMatchObject(refused);
      await expect(workspace.action({ type: "x", actor: name }, () => 1)).rejects.toMatchObject(refused);
      await expect(workspace.transaction(() => 1, { actor: name })).rejects.toMatchObject(refused);
      await expect(workspace.putFile("a.txt", Buffer.from("x"), { actor: name })).rejects.toMatchObject(refused);
      expect(() => workspace.as({ actor: name })).toThrow(expect.objectContaining(refused));
      await expect(project.store({ role: "agent", actor: name })).rejects.toMatchObject(refused);
      const store = await project.store();
      await expect(store.openById(workspace.id, { role: "agent", actor: name })).rejects.toMatchObject(refused);
      await workspace.putFile("a.txt", Buffer.from("x"), { actor: "claude" });
    },
  );

  it.each(["hуman", "operator", "human"])(
    "a replica's write with an agent's token is not recorded under the name %j",
    async (name) => {
      const id = await serving.create(`written by ${LOOK_ALIKES.indexOf(name)}`.replaceAll(" ", "-"));
      const url = `http://127.0.0.1:${serving.port}`;
      const channel = await dialOrigin(
        { url, token: serving.token("agent"), workspace: id },
        new AbortController().signal,
      );
      const replica = randomUUID();
      await channel.send({
        ...{ type: "Hello", versions: [2], capabilities: [], sandbox_id: replica, settled_local_seq: 0 },
        head: { sequence: 0, hash: "" },
      });
      const state = { kind: "file", permissions: 0o644, size: 0, mtime_ms: 0, is_deletion: false } as const;
      const content = { content_hash: sha256(""), inline_content: new Uint8Array(), master_rowid_seen: 0 };
      const entries = [name, "claude"].map((actor, at) => ({
        local_seq: at + 1,
        filepath: `${at}.txt`,
        ...state,
        ...content,
        actor,
      }));
      await channel.send({ type: "WriteBack", sandbox_id: replica, entries });
      const actors = async (): Promise<(string | undefined)[]> => {
        const both = ["0.txt", "1.txt"].map((path) => serving.read(id, `${path}/history`));
        return (await Promise.all(both)).map((one) => one.json<{ items?: { actor: string }[] }>().items?.[0]?.actor);
      };
      await vi.waitUntil(async () => (await actors())[1] !== undefined, { timeout: 60_000 });
      channel.close();
      await channel.ended;
      expect(await actors()).toEqual([expect.stringMatching(/^agent t\d+$/), "claude"]);
    },
  );
});

describe("Truth 23: invisible characters are shown", () => {
  const HIDDEN: readonly (readonly [string, string])[] = [
    ["a\u200bb.txt", "a\\u{200b}b.txt"],
    ["a\u061cb.txt", "a\\u{61c}b.txt"],
    ["a\u2060b.txt", "a\\u{2060}b.txt"],
    ["\ufeffb.txt", "\\u{feff}b.txt"],
    ["a\u{e0041}b.txt", "a\\u{e0041}b.txt"],
    ["a\u00adb.txt", "a\\u{ad}b.txt"],
    ["a\u200db.txt", "a\\u{200d}b.txt"],
    ["a\u3164b.txt", "a\\u{3164}b.txt"],
  ];

  it.each(HIDDEN)("%j on a terminal and in an agent's tools", async (name, shown) => {
    using box = new Sandbox();
    box.write(name, "one\n");
    await box.must(["init"]);
    box.write(name, "two\n");
    await box.must(["snapshot"]);
    for (const words of [["manifest"], ["diff", "0"], ["history", name], ["list"], ["status"]]) {
      const { stdout, stderr } = await box.must(words);
      expect(stdout + stderr).not.toContain(name.slice(0, -4));
    }
    expect((await box.must(["manifest"])).stdout).toContain(shown);
    const { stderr } = await box.call(["cat", `${name}x`]);
    expect(stderr).toContain(`${shown}x`);
    expect([displayPath(parsePath(name)), oneLine(name)]).toEqual([shown, shown]);
  });

  it("in messages of a hook and of a run about a path, too", async () => {
    using box = new Sandbox();
    const name = "a\u001b[2J\u200bb";
    box.write(name, "no folder\n");
    const summary = await box.call(["run", "--summary", `${name}/x.json`, "--", "true"]);
    const entry = join(dirname(dirname(chronicleBin())), "dist", "hook.cjs");
    const call = { session_id: "s", cwd: join(box.project, name), hook_event_name: "SessionStart", source: "startup" };
    const own = [entry, "claude", "--direct", "--store", join(box.project, name)];
    const how = { cwd: box.project, env: box.env(), encoding: "utf8", input: JSON.stringify(call) } as const;
    const hook = spawnSync(process.execPath, own, how);
    for (const said of [summary.stderr, hook.stderr]) {
      expect(said).toContain("a\\e[2J\\u{200b}b");
      expect(said).not.toMatch(/[\u001b\u200b]/);
    }
  });

  it.each(["❤️.txt", "👨‍👩‍👧.txt", "1️⃣.txt", "می‌خواهم.txt", "क्‍ष.txt", "naïve é.txt", "日本語.txt"])(
    "%s stays as it is",
    (name) => {
      expect([displayPath(parsePath(name)), oneLine(name)]).toEqual([name, name]);
    },
  );
});

describe("Truth 23: headers that say who asks", () => {
  let serving: Serving;
  beforeAll(async () => {
    serving = await Serving.start();
  });
  afterAll(() => serving[Symbol.asyncDispose]());

  const raw = async (lines: readonly string[]): Promise<string> => {
    const { text } = await serving.raw(`GET /healthz HTTP/1.1\r\n${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`);
    return text.slice(9, 12);
  };

  it("two Host headers, in any order and spelling, are refused", async () => {
    const own = `127.0.0.1:${serving.port}`;
    expect(await raw([`Host: ${own}`])).toBe("200");
    for (const [first, second] of [
      [`Host: ${own}`, "Host: evil.example"],
      [`Host: evil.example`, `Host: ${own}`],
      [`Host: ${own}`, `HOST: ${own}`],
    ])
      expect(await raw([first ?? "", second ?? ""])).toBe("400");
  });

  it.each([
    ...["Origin: http://127.0.0.1", "Authorization: Bearer x", "Sec-Fetch-Site: none"],
    ...["Chronicle-Actor: claude", "Chronicle-Role: agent", "Chronicle-Client: x", "Chronicle-Hints: commands"],
    "Idempotency-Key: x",
  ])("two of %s are refused", async (line) => {
    expect(await raw([`Host: 127.0.0.1:${serving.port}`, line, line])).toBe("400");
  });

  it.each(["Cross-Site", "CROSS-SITE", "cross-site, none", "elsewhere", ""])(
    "Sec-Fetch-Site: %s is refused as another site",
    async (site) => {
      expect(await raw([`Host: 127.0.0.1:${serving.port}`, `Sec-Fetch-Site: ${site}`])).toBe("403");
    },
  );

  it.each(["same-origin", "Same-Site", "NONE"])("Sec-Fetch-Site: %s is accepted", async (site) => {
    expect(await raw([`Host: 127.0.0.1:${serving.port}`, `Sec-Fetch-Site: ${site}`])).toBe("200");
  });
});

describe.runIf(process.platform === "linux")("Truth 23: /proc of the process that answers", () => {
  let serving: Serving;
  let project: string;
  beforeAll(async () => {
    serving = await Serving.start({ folder: true });
    project = realpathSync(join(serving.base, "project"));
    mkdirSync(join(project, "deep"));
    writeFileSync(join(project, "package.json"), "the agent's\n");
  });
  afterAll(() => serving[Symbol.asyncDispose]());

  /**
   * Makes a tool call by its hooks. Returns the answer, the outside records and the backed-up files. The server's own
   * folder holds a `package.json`, too.
   */
  const call = async (
    path: string,
    cwd = project,
  ): Promise<{ readonly told: string; readonly outside: string; readonly kept: string[] }> => {
    const id = `call-${Math.random().toString(36).slice(2)}`;
    const input = { session_id: `s-${id}`, cwd, tool_name: "Write", tool_use_id: id, tool_input: { file_path: path } };
    const said = await serving.send("/hooks/claude", { ...input, hook_event_name: "PreToolUse" }, { bySocket: true });
    await serving.send(
      "/hooks/claude",
      { ...input, hook_event_name: "PostToolUse", tool_response: {} },
      { bySocket: true },
    );
    const workspace = await serving.store.open({ folder: project });
    const action = (await workspace.list()).findLast((one) => one.session === `s-${id}`);
    const kept = Object.keys(action ?? {}).length === 0 ? [] : [...(action?.files_backed_up ?? [])];
    await workspace.close();
    return {
      told: said.text + String(said.headers["chronicle-problem"] ?? ""),
      outside: JSON.stringify(action?.outside ?? null),
      kept,
    };
  };

  it.each([
    "/proc/self/cwd/package.json",
    "/proc/thread-self/cwd/package.json",
    "//proc/./self/cwd/deep/../package.json",
  ])("%s is the agent's file", async (path) => {
    expect(await call(path)).toMatchObject({ outside: "[]", kept: ["package.json"] });
  });

  it("/proc/self/root is the agent's root", async () => {
    expect(await call(`/proc/self/root${project}/package.json`)).toMatchObject({
      outside: "[]",
      kept: ["package.json"],
    });
  });

  it("links into /proc, and the path of the server's process there, do not lead to the server's folder", async () => {
    symlinkSync("/proc/self/cwd/package.json", join(project, "link"));
    symlinkSync("/proc/self/cwd", join(serving.base, "way"));
    const own = process.cwd();
    for (const path of ["link", join(serving.base, "way", "package.json"), `/proc/${process.pid}/cwd/package.json`]) {
      const { outside } = await call(path);
      expect(outside).not.toContain(own);
    }
  });

  it("an agent's folder in /proc begins no workspace in the server's folder", async () => {
    const before = (await serving.store.workspaces()).length;
    await call("x", "/proc/self/cwd");
    expect((await serving.store.workspaces()).length).toBe(before);
    await expect(serving.store.open({ folder: "/proc/self/cwd", create: true })).rejects.toMatchObject({
      code: "USAGE",
    });
    await expect(serving.store.init({ roots: [join(serving.base, "way")] })).rejects.toMatchObject({ code: "USAGE" });
  });
});
