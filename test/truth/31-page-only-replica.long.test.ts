import { randomBytes } from "node:crypto";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ChronicleClient } from "../../src/client/chronicle-client.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { bytesTree, hasPython, PythonReplica, type ReplicaAnswer } from "../helpers/python-replica.ts";
import { ServerProcess } from "../helpers/server-process.ts";

/** `replica.py` was written from docs/protocol.md alone. That it works with an origin shows that the page is enough. */

const VERIFIER = fileURLToPath(new URL("../format/verify.py", import.meta.url));
const PATIENCE = { timeout: 60_000, interval: 200 };

/** What the replica in Python can do beyond the version. It has no zstd, so that it cannot take blocks. */
const ALL = ["rename", "tree", "witness", "folder", "read-only", "ahead"];
const SOCKET = "a socket";

interface Way {
  readonly over: string;
  readonly knows: string;
  readonly capabilities: readonly string[];
}

const WAYS: readonly Way[] = [
  { over: SOCKET, knows: "no capabilities", capabilities: [] },
  { over: "a WebSocket", knows: "all that it can know", capabilities: ALL },
];
const PLAIN: Way = { over: SOCKET, knows: "no capabilities", capabilities: [] };

let origin: ServerProcess;
let replica: PythonReplica;
let client: ChronicleClient;
let token: string | undefined;

beforeEach(() => {
  origin = new ServerProcess(["--replication"]);
  replica = new PythonReplica();
  token = undefined;
});
afterEach(async () => {
  await client.close();
  await replica[Symbol.asyncDispose]();
  await origin[Symbol.asyncDispose]();
});

/** Starts an origin on the files that are there. */
async function begin(): Promise<void> {
  await origin.start();
  client = createClient({ url: origin.socketUrl });
  replica.start();
}

function connect(way: Way): Promise<ReplicaAnswer> {
  return vi.waitFor(async () => {
    const answer = await replica.connect(whereTo(way));
    // A server that was just started may not have opened its folder yet.
    if (answer.error?.code === "NOT_FOUND") throw new Error(answer.ended);
    return answer;
  }, PATIENCE);
}

function whereTo({ over, capabilities }: Way) {
  if (over === SOCKET) return { to: origin.socketUrl.slice("unix:".length), capabilities };
  token ??= origin.makeToken("operator");
  return { to: `${origin.url.replace("http", "ws")}/v1/replicate`, token, capabilities };
}

function write(side: string, path: string | Buffer, content: string | Buffer, mode = 0o644): void {
  const full = Buffer.concat([Buffer.from(`${side}/`), Buffer.from(path)]);
  mkdirSync(full.subarray(0, full.lastIndexOf("/")), { recursive: true });
  writeFileSync(full, content);
  chmodSync(full, mode);
}

/**
 * Writes names and states that a replica must cope with. `of` is a part of the names, so that each side can have its
 * own.
 */
function writeOdd(side: string, of: string): void {
  const names = [
    `${of} with spaces`,
    `-${of}`,
    `${of}\n\t\u202e`,
    `${of}\u0301 ${of}é`,
    `${of}/a/b/c/deep`,
    `${of}-`.padEnd(255, "x"),
    `${of}:con`,
    `${of}\\back`,
  ];
  for (const name of names) write(side, name, `${name}\n`);
  write(side, Buffer.concat([Buffer.from(`${of}-`), Buffer.from([0xff, 0xfe])]), "no UTF-8");
  write(side, Buffer.concat([Buffer.from(`${of}-`), Buffer.from([0xc3]), Buffer.from("/in it")]), "beneath no UTF-8");
  write(side, `${of}-empty`, "");
  write(side, `${of}-4095`, randomBytes(4_095));
  write(side, `${of}-4096`, randomBytes(4_096));
  write(side, `${of}-large`, randomBytes(5_000_000));
  write(side, `${of}-private`, "mode", 0o600);
  write(side, `${of}-program`, "#!/bin/sh\n", 0o755);
  mkdirSync(join(side, `${of}-folder`));
  chmodSync(join(side, `${of}-folder`), 0o750);
  symlinkSync("nowhere/at all", join(side, `${of}-link`));
  symlinkSync("/etc/passwd", join(side, `${of}-absolute`));
}

async function isSame(): Promise<void> {
  const report = await replica.do("settle");
  expect(report).toMatchObject({ conflicts: {}, refused: {} });
  expect(bytesTree(replica.folder)).toEqual(bytesTree(origin.project));
}

/** Checks that the origin vouches for a head on a new connection. A head is signed some time after the events. */
async function isWitness(way: Way): Promise<void> {
  await replica.do("close");
  await connect(way);
  expect((await replica.do("settle")).witnessed).toBeGreaterThan(0);
}

describe.skipIf(!hasPython)("Truth 31: a replica that was written from docs/protocol.md alone (needs python3)", () => {
  describe.each(WAYS)("over $over, with $knows", (way) => {
    it("gets the files that are there, follows live, and writes back, also with odd names", async () => {
      writeOdd(origin.project, "there");
      write(origin.project, "C:\\x", "what Windows reads as absolute");
      write(origin.project, "D:\\folder/in it", "the same");
      await begin();
      expect(await connect(way)).toMatchObject({ ok: { head: { sequence: 3 }, settled_local_seq: 0 } });
      await isSame();
      // Live changes come without a request.
      writeOdd(origin.project, "later");
      rmSync(join(origin.project, "there-link"));
      await vi.waitFor(() => expect(bytesTree(replica.folder)).toEqual(bytesTree(origin.project)), PATIENCE);
      writeOdd(replica.folder, "here");
      rmSync(join(replica.folder, "there-folder"), { recursive: true });
      rmSync(join(replica.folder, "later"), { recursive: true });
      write(replica.folder, "later", "a file where a folder was");
      await isSame();
      const { capabilities, root, witnessed, workspace } = await replica.do("report");
      const agreed = way.capabilities.length === 0 ? [] : ["ahead", "folder", "tree", "witness"];
      expect(capabilities.toSorted()).toEqual(agreed);
      if (agreed.length === 0) expect(witnessed).toBe(0);
      else await vi.waitFor(() => isWitness(way), PATIENCE);
      expect(await client.workspace(workspace).status()).toMatchObject({ root });
      // The replica's copy of the log equals the beginning of the log.
      const log = join(origin.home, "workspaces", workspace, "events.wal");
      expect(readFileSync(log, "utf8").startsWith(replica.lines)).toBe(true);
      writeFileSync(join(replica.base, "lines"), replica.lines);
      const verified = spawnSync("python3", [VERIFIER, "log", join(replica.base, "lines")], { encoding: "utf8" });
      expect(verified.stderr).toBe("");
    });

    it("does nothing twice, although it is cut off and killed, and the origin, too", async () => {
      write(origin.project, "one", "1");
      await begin();
      await connect(way);
      await isSame();
      // Several batches.
      for (let n = 0; n < 90; n += 1) write(replica.folder, `many/${n}`, `${n}\n`);
      const settling = replica.ask("settle");
      await vi.waitFor(() => expect(existsSync(join(origin.project, "many"))).toBe(true), PATIENCE);
      await origin.kill();
      expect(await settling).toMatchObject({ ended: expect.any(String) });
      await replica.kill();
      write(origin.project, "meanwhile", "nobody listens");
      await origin.start();
      replica.start();
      expect(await connect(way)).toMatchObject({ ok: { type: "HelloAck" } });
      await isSame();
      await replica.do("cut");
      write(replica.folder, "many/0", "again\n");
      await connect(way);
      await isSame();
      const created = replica.lines.split("\n").filter((line) => line.includes('"record_id":"file:many/'));
      expect(created.filter((line) => !line.includes('"iteration":1,'))).toHaveLength(1);
      expect(created).toHaveLength(91);
    });

    it("keeps both sides of a conflict, and settles it either way", async () => {
      for (const name of ["mine", "yours", "folder/in it"]) write(origin.project, name, "base\n");
      await begin();
      await connect(way);
      await isSame();
      await replica.do("close");
      for (const name of ["mine", "yours"]) write(origin.project, name, "of the origin\n");
      write(origin.project, "folder/new", "new\n");
      for (const name of ["mine", "yours"]) write(replica.folder, name, "of the replica\n");
      rmSync(join(replica.folder, "folder"), { recursive: true });
      // An edit that the origin has not recorded is no conflict yet: its watcher has to see it first.
      await vi.waitFor(async () => expect((await workspace().status()).head.seq).toBeGreaterThan(5), PATIENCE);
      await connect(way);
      const { conflicts } = await replica.do("settle");
      expect(Object.keys(conflicts).toSorted()).toEqual(["folder", "mine", "yours"]);
      expect(readFileSync(join(replica.folder, "mine"), "utf8")).toBe("of the replica\n");
      expect(readFileSync(join(origin.project, "mine"), "utf8")).toBe("of the origin\n");
      const kept = conflicts["mine"]?.kept?.content_hash;
      expect((await workspace().versions()).map(({ hash }) => hash)).toContain(kept);
      await replica.do("resolve", { path: "mine", keep: "local" });
      for (const path of ["yours", "folder"]) await replica.do("resolve", { path, keep: "origin" });
      await isSame();
      expect(readFileSync(join(origin.project, "mine"), "utf8")).toBe("of the replica\n");
      expect(readFileSync(join(replica.folder, "yours"), "utf8")).toBe("of the origin\n");
      expect(readdirSync(join(replica.folder, "folder"))).toContain("new");
    });

    it("continues with `tree` if the origin removed events while it was away, and says so without it", async () => {
      for (const name of ["same/a", "same/b", "other/a", "gone/a", "D:\\folder/a"]) write(origin.project, name, name);
      await begin();
      await connect(way);
      await isSame();
      await replica.do("close");
      rmSync(join(origin.project, "gone"), { recursive: true });
      write(origin.project, "other/new/x", "new");
      write(origin.project, "D:\\folder/b", "new");
      await workspace().snapshot();
      await workspace().compact({ dropArchive: true });
      await connect(way);
      if (way.capabilities.length === 0) {
        expect(await replica.ask("settle")).toMatchObject({ fault: "UNAVAILABLE" });
        return;
      }
      await isSame();
      write(replica.folder, "gone/a", "again");
      write(origin.project, "later", "live");
      await isSame();
    });
  });

  const workspace = () => client.workspace(workspaceId());
  const workspaceId = (): string => readdirSync(join(origin.home, "workspaces"))[0] ?? "";

  it("is refused names that are no paths, or are git's own; nothing is written, and the sync continues", async () => {
    write(origin.project, "one", "1");
    await begin();
    for (const name of ["a/../b", "/etc/x", "..", "a//b", "", ".", "C:\\x", "c:/x", "\\\\x"]) {
      await connect(PLAIN);
      const code = name === "" ? "USAGE" : "PATH_INVALID";
      expect(await replica.ask("forge", { name }), name).toMatchObject({ error: { code } });
    }
    await connect(PLAIN);
    for (const name of [".git/config", "sub/.git/hooks/x", `${"a".repeat(256)}`]) {
      const { refused } = await replica.do("forge", { name });
      expect(refused).toMatchObject({ [name]: "path" });
    }
    await isUnharmed();
  });

  async function isUnharmed(): Promise<void> {
    expect(Object.keys(bytesTree(origin.project))).toEqual(["one"]);
    const report = await replica.do("settle");
    expect(bytesTree(replica.folder)).toEqual(bytesTree(origin.project));
    expect(report.conflicts).toEqual({});
  }

  it("gets no secrets unless it asks for them, and does not take that for a deletion", async () => {
    write(origin.project, "one", "1");
    write(origin.project, ".env", "KEY=secret");
    await begin();
    await connect(PLAIN);
    await replica.do("settle");
    expect(Object.keys(bytesTree(replica.folder))).toEqual(["one"]);
    expect(Object.keys(bytesTree(origin.project))).toEqual([".env", "one"]);
    await replica.do("close");
    await connect({ ...PLAIN, capabilities: ["protected"] });
    await isSame();
  });

  it("works with an origin that erases contents before it connects, and while it is connected", async () => {
    write(origin.project, "one", "a secret that got in");
    await begin();
    await vi.waitFor(() => expect(workspaceId()).not.toBe(""), PATIENCE);
    await vi.waitFor(() => workspace().snapshot(), PATIENCE);
    write(origin.project, "one", "clean");
    await workspace().snapshot();
    await workspace().erase({ match: "one" });
    await connect(PLAIN);
    await isSame();
    write(origin.project, "two", "another one");
    await isSame();
    write(origin.project, "two", "clean as well");
    await workspace().snapshot();
    const { id: erasure } = await workspace().erase({ match: "two" });
    write(replica.folder, "mine", "written back");
    await isSame();
    await workspace().unerase(erasure ?? "");
    await isSame();
  });

  it("knows from `settled_hash` that it was put back, and sends nothing", async () => {
    write(origin.project, "one", "1");
    await begin();
    await connect(PLAIN);
    await isSame();
    await replica.kill();
    replica.keep();
    replica.start();
    await connect(PLAIN);
    write(replica.folder, "forgotten", "written back, and then forgotten");
    await isSame();
    await replica.kill();
    replica.putBack();
    replica.start();
    write(replica.folder, "other", "under the same number");
    expect(await connect(PLAIN)).toMatchObject({ fault: "ROLLBACK_DETECTED" });
    expect(Object.keys(bytesTree(origin.project))).toEqual(["forgotten", "one"]);
  });
});
