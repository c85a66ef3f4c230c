/**
 * What others can check without Chronicle: the signed head with stock tools; the log, its root and the bases with a
 * verifier that was written from docs/format.md alone. A test is skipped, with the reason, if its tool is missing.
 */
import { spawnSync } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { HeadShape } from "../src/api/shapes.ts";
import type { WorkspaceApi } from "../src/api/workspace-api.ts";
import { parseSignedHead, verifySignedHead } from "../src/core/log/signed-head.ts";
import { Project } from "./helpers/project.ts";

const GO_SOURCES = "/usr/share/gocode";
const NOTE_PACKAGE = "golang.org/x/mod/sumdb/note";
const verifier = join(import.meta.dirname, "format", "verify.py");

function missing(command: string, args: readonly string[] = ["--version"]): string | undefined {
  const { error, status } = spawnSync(command, args);
  return error === undefined && status === 0 ? undefined : `${command} is not installed`;
}

const withoutOpenssl = missing("openssl", ["version"]);
const withoutPython = missing("python3");
const withoutGo =
  missing("go", ["version"]) ??
  (existsSync(join(GO_SOURCES, "src", NOTE_PACKAGE)) ? undefined : "golang-golang-x-mod-dev is not installed");

let project: Project;
let workspace: WorkspaceApi;
let head: HeadShape;

beforeAll(async () => {
  project = new Project();
  project.write("a.txt", "one\n");
  project.write("dir/b.txt", "two\n");
  workspace = await project.init();
  project.write("a.txt", "more\n");
  await workspace.snapshot();
  head = await workspace.head();
});
afterAll(() => project[Symbol.asyncDispose]());

const file = (name: string, content: string | Uint8Array): string => {
  const path = join(project.base, name);
  writeFileSync(path, content);
  return path;
};

/** The signed head with one change in its text. It must not verify. */
const forged = (): string => head.note.replace(/^root ./m, (line) => (line === "root 0" ? "root 1" : "root 0"));

describe("the signed head", () => {
  it("is signed by the key that is printed with it", () => {
    expect(verifySignedHead(head.note, head.key)).toBe(true);
    expect(verifySignedHead(forged(), head.key)).toBe(false);
    const { content } = parseSignedHead(head.note);
    expect(content).toEqual({
      workspace: workspace.id,
      seq: 4 + 1,
      hash: head.hash,
      logRoot: head.log_root,
      root: head.root,
    });
  });

  it("verifies with openssl", ({ skip }) => {
    skip(withoutOpenssl !== undefined, withoutOpenssl);
    const { text, signatures } = parseSignedHead(head.note);
    const raw = Buffer.from(head.key.split("+").slice(2).join("+"), "base64").subarray(1);
    const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw]);
    const key = createPublicKey({ key: der, format: "der", type: "spki" });
    const pub = file("pub.pem", key.export({ type: "spki", format: "pem" }));
    const signature = file("signature", signatures[0]?.signature ?? "");
    const check = (signed: string) => {
      const args = [
        "pkeyutl",
        "-verify",
        "-pubin",
        "-inkey",
        pub,
        "-rawin",
        "-in",
        file("text", signed),
        "-sigfile",
        signature,
      ];
      return spawnSync("openssl", args, { encoding: "utf8" });
    };
    expect(check(text)).toMatchObject({ status: 0, stdout: expect.stringContaining("Success") });
    expect(check(text.replace(/^\d+$/m, "9")).status).not.toBe(0);
    // The private key beside the heads is the one that signed: openssl derives the same public key.
    const derived = spawnSync("openssl", ["pkey", "-in", join(project.configFolder, "key.pem"), "-pubout"], {
      encoding: "utf8",
    });
    expect(derived.stdout).toBe(readFileSync(pub, "utf8"));
  });

  it("verifies with Go's sumdb/note", ({ skip }) => {
    skip(withoutGo !== undefined, withoutGo);
    const source = `package main
import ("fmt"; "os"; "${NOTE_PACKAGE}")
func main() {
  text, err := os.ReadFile(os.Args[1]); if err != nil { panic(err) }
  verifier, err := note.NewVerifier(os.Args[2]); if err != nil { fmt.Println(err); os.Exit(1) }
  opened, err := note.Open(text, note.VerifierList(verifier)); if err != nil { fmt.Println(err); os.Exit(1) }
  fmt.Println("verified", len(opened.Sigs)); fmt.Print(opened.Text)
}
`;
    const env = {
      ...process.env,
      GO111MODULE: "off",
      GOPATH: GO_SOURCES,
      GOFLAGS: "",
      GOCACHE: join(project.base, "go-cache"),
    };
    const program = join(project.base, "note");
    const built = spawnSync("go", ["build", "-o", program, file("main.go", source)], { env, encoding: "utf8" });
    expect([built.status, built.stderr]).toEqual([0, ""]);
    const open = (text: string, key: string) =>
      spawnSync(program, [file("head.note", text), key], { encoding: "utf8" });
    expect(open(head.note, head.key)).toMatchObject({ status: 0, stdout: expect.stringContaining("verified 1\n") });
    expect(open(head.note, head.key).stdout).toContain(`chronicle/${workspace.id}\n${head.seq}\n`);
    expect(open(forged(), head.key)).toMatchObject({ status: 1, stdout: expect.stringContaining("invalid signature") });
    expect(open(head.note.replace(/\n\d+\n/, "\n999\n"), head.key).status).toBe(1);
  });
});

describe("a verifier written from docs/format.md", () => {
  const python = (...args: readonly string[]) => spawnSync("python3", [verifier, ...args], { encoding: "utf8" });

  it("computes the same head and root that are signed", ({ skip }) => {
    skip(withoutPython !== undefined, withoutPython);
    const log = join(project.home, "workspaces", workspace.id, "events.wal");
    const computed = python("log", log);
    expect(computed.stderr).toBe("");
    expect(JSON.parse(computed.stdout)).toMatchObject({ seq: head.seq, hash: head.hash, log_root: head.log_root });
    const note = python("note", file("head.note", head.note), head.key);
    const { workspace: id, seq, hash, log_root, root } = head;
    expect(JSON.parse(note.stdout)).toEqual({ workspace: id, seq, hash, log_root, root });
    expect(python("note", file("forged.note", forged()), head.key).status).toBe(1);
    const edited = readFileSync(log, "utf8").replace('"iteration":2', '"iteration":3');
    expect(python("log", file("edited.wal", edited))).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("line 4"),
    });
  });
});

describe("the key and the heads", () => {
  it("the key is private, and neither it nor the heads lie in the store", async () => {
    await workspace.close();
    const key = join(project.configFolder, "key.pem");
    expect(statSync(key).mode & 0o777).toBe(0o600);
    expect(statSync(project.configFolder).mode & 0o777).toBe(0o700);
    const kept = join(project.configFolder, "heads", workspace.id);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    const secret = readFileSync(key);
    for (const name of readdirSync(project.home, { recursive: true, encoding: "utf8" })) {
      const path = join(project.home, name);
      expect(name).not.toMatch(/heads|key\.pem/);
      if (statSync(path).isFile()) expect(readFileSync(path).includes(secret.subarray(30, 90))).toBe(false);
    }
    // This head was kept when the workspace was closed, so it is the head of the whole log.
    expect(parseSignedHead(readFileSync(kept, "utf8")).content).toMatchObject({ seq: head.seq, hash: head.hash });
  });

  it("a new head is kept every second, or a little later, while changes are recorded", async () => {
    await using busy = new Project();
    busy.write("a", "0");
    const recording = await busy.init();
    const kept = join(busy.configFolder, "heads", recording.id);
    const seqs = new Set<number>();
    let latest = { seq: 0, at: 0 };
    const end = Date.now() + 30_000;
    for (let i = 0; seqs.size < 3 && Date.now() < end; i += 1) {
      busy.write("a", `${i}`);
      latest = { seq: (await recording.record(["a"])).seq, at: Date.now() };
      if (existsSync(kept)) seqs.add(parseSignedHead(readFileSync(kept, "utf8")).content.seq);
      await sleep(20);
    }
    expect(seqs.size).toBe(3);
    expect(Math.max(...seqs)).toBeLessThanOrEqual(latest.seq);
    // The kept head is a second older than the last change, or a little more on a machine that also runs other tests.
    const { seq } = parseSignedHead(readFileSync(kept, "utf8")).content;
    const { ts } = (await recording.log({ from: seq, limit: 1 }))[0] ?? { ts: "" };
    expect(latest.at - Date.parse(ts)).toBeLessThan(3_000);
  });

  it("verify compares the log with a head that was kept elsewhere", async () => {
    await using other = new Project();
    other.write("a", "0");
    const first = await other.init();
    const early = await first.head();
    other.write("a", "1");
    await first.snapshot();
    expect(await first.verify({ expect: early.note })).toMatchObject({ ok: true });
    expect(await first.verify({ expect: JSON.stringify(early) })).toMatchObject({ ok: true });
    const late = await first.head();
    await first.close();
    // The log goes back to an older state, and the kept heads are gone: only the head that was kept elsewhere shows it.
    const log = join(other.home, "workspaces", first.id, "events.wal");
    writeFileSync(log, `${readFileSync(log, "utf8").split("\n").slice(0, 3).join("\n")}\n`);
    rmSync(join(other.configFolder, "heads"), { recursive: true });
    for (const suffix of ["", "-wal", "-shm"]) rmSync(join(dirname(log), `index.db${suffix}`), { force: true });
    const second = await other.open();
    // The head that must be there is missing, so the answer is not "ok", although the rest is consistent.
    expect(await second.verify()).toMatchObject({ ok: false, problems: [{ kind: "head-missing" }] });
    const told = await second.verify({ expect: late.note });
    expect(told.problems).toMatchObject([{ kind: "head-missing" }, { kind: "log-truncated", where: "--expect" }]);
    expect(await second.verify({ expect: early.note })).toMatchObject({ expected: { ok: true } });
  });
});
