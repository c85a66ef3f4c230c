import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { SyncApi, SyncEventShape, SyncShape } from "../../src/api/sync-api.ts";
import { whoAnswers } from "../../src/daemon/ask-server.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { chronicleBin } from "../helpers/cli-package.ts";
import { endProcess } from "../helpers/end-process.ts";

/** `serve --replication`, `replicate` and `sync` as programs: an origin, a sandbox and somebody's desk. */

const base = mkdtempSync(join(tmpdir(), "chronicle-sync-"));
const origin = join(base, "origin");
const desk = join(base, "desk");
const socket = join(base, "run", "c.sock");
const children: ChildProcess[] = [];
let url = "";

const envOf = (who: string) => ({
  CI: "true",
  PATH: process.env["PATH"] ?? "",
  HOME: join(base, who),
  LC_ALL: "C.UTF-8",
});

interface Ran {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

function run(who: string, args: readonly string[], cwd = base): Ran {
  const done = spawnSync(process.execPath, [chronicleBin(), ...args], { cwd, env: envOf(who), encoding: "utf8" });
  return { status: done.status, out: done.stdout, err: done.stderr };
}

/** Runs a `sync` command of the person at the desk, and returns its JSON. Throws if it fails. */
function sync<T>(args: readonly string[], cwd = base): T {
  const { status, out, err } = run("desk-home", ["sync", ...args, "--json"], cwd);
  if (status !== 0) throw new Error(`sync ${args.join(" ")}: ${status}\n${err}`);
  return JSON.parse(out) as T;
}

function begin(who: string, args: readonly string[], cwd: string): ChildProcess & { said: string } {
  const child = spawn(process.execPath, [chronicleBin(), ...args], { cwd, env: envOf(who) });
  const told = Object.assign(child, { said: "" });
  child.stdout.on("data", (text: Buffer) => (told.said += text.toString()));
  child.stderr.on("data", (text: Buffer) => (told.said += text.toString()));
  children.push(child);
  return told;
}

const read = (...path: string[]): string => readFileSync(join(...path), "utf8");
/** On a machine that is busy with other work, a process needed more than 8 seconds to its first line. */
const until = <T>(look: () => T | Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 40_000, interval: 25 });
const same = (name: string): Promise<void> => until(() => expect(read(desk, name)).toBe(read(origin, name)));

function said(child: { readonly said: string }, what: RegExp): Promise<RegExpExecArray> {
  return until(() => {
    const found = what.exec(child.said);
    if (found === null) throw new Error(`it says only: ${child.said}`);
    return found;
  });
}

beforeAll(async () => {
  mkdirSync(join(base, "run"), { mode: 0o700 });
  for (const folder of [origin, join(base, "origin-home"), join(base, "desk-home")]) mkdirSync(folder);
  mkdirSync(join(origin, "src"));
  writeFileSync(join(origin, "notes.txt"), "one\ntwo\nthree\n");
  writeFileSync(join(origin, "src/x.ts"), "x\n");
  const serving = begin("origin-home", ["serve", "--replication", "--port", "0", "--socket", socket], origin);
  [, url = ""] = await said(serving, /listening on (http:\/\/127\S+)/);
  await said(serving, / is workspace /);
});
afterAll(async () => {
  run("desk-home", ["sync", "stop", desk]);
  for (const who of ["desk-home", "box-home", "steered-home"]) {
    const pid = await processOf(who);
    if (pid !== undefined) await endProcess(pid);
  }
  for (const child of children) child.kill("SIGKILL");
  rmSync(base, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

/** The number of the process that a command has started for the desk, or the sandbox. */
async function processOf(who: string): Promise<number | undefined> {
  return (await whoAnswers(join(base, who, ".local/state/chronicle/run/serve.sock"), "0.1.0"))?.pid;
}

/** The same process, asked by a program. */
async function asked<T>(work: (syncs: SyncApi) => Promise<T>): Promise<T> {
  const client = createClient({ url: `unix:${join(base, "desk-home/.local/state/chronicle/run/serve.sock")}` });
  try {
    return await work(client.syncs);
  } finally {
    await client.close();
  }
}

const token = (): string => join(base, "origin-home/.config/chronicle/operator.token");

describe("sync", () => {
  it("says that there is none, and starts no process for that", () => {
    const { status, out, err } = run("desk-home", ["sync", "status"]);
    expect([status, out]).toEqual([0, ""]);
    expect(err).toContain("no syncs yet: chronicle sync start URL#WORKSPACE FOLDER");
    expect(existsSync(join(base, "desk-home/.local/state/chronicle/run/serve.sock"))).toBe(false);
  });

  it("start fills the folder, in the background, and both follow each other's edits", async () => {
    const begun = sync<SyncShape>(["start", url, desk, "--token-file", token()]);
    expect(begun).toMatchObject({ folder: desk, upstream: url, mode: "two-way-safe" });
    await until(() => expect(read(desk, "src/x.ts")).toBe("x\n"));
    writeFileSync(join(origin, "made-there.txt"), "there\n");
    await until(() => expect(read(desk, "made-there.txt")).toBe("there\n"));
    writeFileSync(join(desk, "made-here.txt"), "here\n");
    await until(() => expect(read(origin, "made-here.txt")).toBe("here\n"));
    expect(sync<SyncShape>(["flush", desk])).toMatchObject({ state: "in-sync", lag: 0, pending: 0 });
    expect(sync<SyncShape[]>(["status"])).toMatchObject([{ folder: desk, state: "in-sync", peer: url, conflicts: 0 }]);
    const { out } = run("desk-home", ["sync", "status"]);
    expect(out).toMatch(/^[0-9a-f]{8} {2}\S+desk {2}⇄ http:\S+ {2}in sync\n$/);
  });

  it("merges edits of different lines, and has a conflict of edits of the same line", async () => {
    expect(sync(["pause", desk])).toMatchObject({ state: "paused" });
    writeFileSync(join(origin, "notes.txt"), "ONE\ntwo\nthree\n");
    writeFileSync(join(desk, "notes.txt"), "one\ntwo\nTHREE\n");
    sync(["resume"], desk);
    await until(() => expect(read(origin, "notes.txt")).toBe("ONE\ntwo\nTHREE\n"));
    await same("notes.txt");
    const met = async (there: string, here: string) => {
      await asked((syncs) => syncs.flush(desk));
      await asked((syncs) => syncs.pause(desk));
      writeFileSync(join(origin, "notes.txt"), there);
      writeFileSync(join(desk, "notes.txt"), here);
      await asked((syncs) => syncs.resume(desk));
      const found = () => asked((syncs) => syncs.conflicts(desk));
      await until(async () => expect(await found()).toMatchObject([{ path: "notes.txt", reason: "content" }]));
    };
    await met("theirs 1\n", "ours 1\n");
    expect(run("desk-home", ["sync", "conflicts", "--patch"], desk).out).toMatch(
      /- here, \+ upstream\n[^]*-ours 1\n\+theirs 1\n/,
    );
    expect(sync(["resolve", "notes.txt", "--keep-local"], desk)).toMatchObject({ kept: "local", conflicts: 0 });
    await until(() => expect(read(origin, "notes.txt")).toBe("ours 1\n"));
    await met("theirs 2\n", "ours 2\n");
    expect(sync(["resolve", "../notes.txt", "--accept-upstream"], join(desk, "src"))).toMatchObject({
      kept: "upstream",
    });
    await until(() => expect(read(desk, "notes.txt")).toBe("theirs 2\n"));
    await met("theirs 3\n", "ours 3\n");
    const unmerged = run("desk-home", ["sync", "resolve", "notes.txt", "--merge"], desk);
    expect([unmerged.status, unmerged.err]).toEqual([6, expect.stringContaining("do not merge by themselves")]);
    const failing = run("desk-home", ["sync", "resolve", "notes.txt", "--merge", "--tool", "exit 3"], desk);
    expect([failing.status, failing.err]).toEqual([6, expect.stringContaining("nothing was settled")]);
    const idle = run("desk-home", ["sync", "resolve", "notes.txt", "--merge", "--tool", "true"], desk);
    expect([idle.status, idle.err]).toEqual([6, expect.stringContaining("has not written the merged file")]);
    // The origin changes its side while the tool runs. The new side was not merged, so the merged file is only kept.
    const isTold = `'${process.execPath}' '${chronicleBin()}' sync conflicts '${desk}' --json | grep -q ${sha256("theirs 4\n")}`;
    const slow = `echo 'theirs 4' > '${join(origin, "notes.txt")}'; until ${isTold}; do sleep 0.2; done; cat "$LOCAL" "$UPSTREAM" > "$MERGED"`;
    const late = run("desk-home", ["sync", "resolve", "notes.txt", "--merge", "--tool", slow], desk);
    expect([late.status, late.err]).toEqual([
      6,
      expect.stringContaining("was changed while its conflict was being settled"),
    ]);
    const kept = /merged content is in (\S+):/.exec(late.err)?.[1] ?? "";
    expect([readFileSync(kept, "utf8"), read(origin, "notes.txt")]).toEqual(["ours 3\ntheirs 3\n", "theirs 4\n"]);
    rmSync(join(kept, ".."), { recursive: true });
    const tool = 'cat "$LOCAL" "$UPSTREAM" "$BASE" > "$MERGED"';
    sync(["resolve", "notes.txt", "--merge", "--tool", tool], desk);
    await until(() => expect(read(origin, "notes.txt")).toBe("ours 3\ntheirs 4\ntheirs 2\n"));
    await same("notes.txt");
  });

  it("halts before a folder that was emptied empties the other one", async () => {
    await asked((syncs) => syncs.flush(desk));
    // Pausing makes all deletions come at once, however busy the machine is.
    await asked((syncs) => syncs.pause(desk));
    for (const name of ["notes.txt", "src", "made-here.txt", "made-there.txt"])
      rmSync(join(desk, name), { recursive: true });
    await asked((syncs) => syncs.resume(desk));
    await until(async () => expect(await asked((syncs) => syncs.list())).toMatchObject([{ state: "halted" }]));
    expect(read(origin, "src/x.ts")).toBe("x\n");
    const undecided = run("desk-home", ["sync", "resume", desk]);
    expect([undecided.status, undecided.err]).toEqual([6, expect.stringContaining("--restore-files")]);
    expect(sync(["resume", desk, "--restore-files"])).toMatchObject({ folder: desk });
    await until(() => expect(read(desk, "src/x.ts")).toBe("x\n"));
    await same("notes.txt");
  });

  it("halts while the folder is not there, and is watched as before when it is back", async () => {
    renameSync(desk, `${desk}-away`);
    const listed = () => asked((syncs) => syncs.list());
    await until(async () =>
      expect(await listed()).toMatchObject([{ state: "halted", reason: "the folder is not there" }]),
    );
    renameSync(`${desk}-away`, desk);
    expect(sync(["resume", desk])).toMatchObject({ folder: desk });
    const after = sync<SyncShape>(["flush", desk]);
    expect(after.state).toBe("in-sync");
    expect(after).not.toHaveProperty("degraded");
  });

  it("continues in the next process, with the token that was given once", async () => {
    process.kill((await processOf("desk-home")) ?? expect.fail("nobody runs it"), "SIGKILL");
    appendFileSync(join(origin, "notes.txt"), "while nobody looked\n");
    await until(() => expect(sync<SyncShape[]>(["status"])).toMatchObject([{ state: "in-sync" }]));
    await same("notes.txt");
  });

  it("monitor prints what happens, in order, as lines of JSON", async () => {
    const monitor = begin("desk-home", ["sync", "monitor", "--json"], desk);
    await until(() => expect(monitor.said).toContain('"kind":"state"'));
    writeFileSync(join(origin, "seen.txt"), "seen\n");
    await until(() => expect(monitor.said).toContain('"kind":"applied"'));
    const events = monitor.said
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as SyncEventShape);
    expect(events.map(({ seq }) => seq)).toEqual(events.map(({ seq }) => seq).toSorted((a, b) => a - b));
    const ended = once(monitor, "exit");
    monitor.kill("SIGINT");
    expect((await ended)[0]).toBe(0);
  });

  it("stop ends it, and start continues from there", async () => {
    expect(sync(["stop"], desk)).toMatchObject({ state: "stopped" });
    writeFileSync(join(origin, "later.txt"), "later\n");
    expect(sync<SyncShape[]>(["status"])).toMatchObject([{ state: "stopped" }]);
    expect(existsSync(join(desk, "later.txt"))).toBe(false);
    sync(["start", url, desk, "--token-file", token()]);
    await until(() => expect(read(desk, "later.txt")).toBe("later\n"));
  });

  it("keeps its filters at a start that names none, until an option removes them", async () => {
    const folder = join(base, "filtered");
    const begun = (...options: string[]) => sync(["start", url, folder, "--token-file", token(), ...options]);
    writeFileSync(join(origin, "there.tmp"), "there\n");
    begun("--filter-to", "there.tmp", "--filter-from", "here.tmp");
    await until(() => expect(read(folder, "src/x.ts")).toBe("x\n"));
    writeFileSync(join(folder, "here.tmp"), "here\n");
    begun();
    sync(["flush", folder]);
    expect([existsSync(join(folder, "there.tmp")), existsSync(join(origin, "here.tmp"))]).toEqual([false, false]);
    begun("--without-filter-to");
    await until(() => expect(read(folder, "there.tmp")).toBe("there\n"));
    sync(["flush", folder]);
    expect(existsSync(join(origin, "here.tmp"))).toBe(false);
    begun("--without-filter-from");
    await until(() => expect(read(origin, "here.tmp")).toBe("here\n"));
    const both = run("desk-home", ["sync", "start", url, folder, "--filter-to", "x", "--without-filter-to"]);
    expect([both.status, both.err]).toEqual([2, expect.stringContaining("are opposites")]);
    run("desk-home", ["sync", "stop", folder]);
    for (const name of ["here.tmp", "there.tmp"]) rmSync(join(origin, name));
  });

  it("refuses a folder inside of the origin's, or inside of another one that follows the origin", async () => {
    const within = join(origin, "within");
    mkdirSync(within);
    expect(run("desk-home", ["sync", "start", url, within, "--token-file", token()]).status).toBe(1);
    const reason = expect.stringContaining("would hold itself without end") as string;
    const halted = expect.objectContaining({ folder: within, state: "halted", reason }) as SyncShape;
    await until(async () => expect(await asked((syncs) => syncs.list())).toContainEqual(halted));
    expect(readdirSync(within)).toEqual([]);
    run("desk-home", ["sync", "stop", within]);

    const inside = join(desk, "inside");
    const refused = run("desk-home", ["sync", "start", url, inside, "--token-file", token()]);
    expect(refused.err).toContain(`${inside} lies in another folder that follows this origin (${desk})`);
    expect([refused.status === 0, existsSync(inside)]).toEqual([false, false]);
  });

  it("says that a token may only read, and keeps changes here until a better token comes", async () => {
    const reading = join(base, "reading");
    mkdirSync(reading);
    writeFileSync(join(reading, "r.mine"), "mine\n");
    const made = run("origin-home", ["token", "create", "--role", "reader"], origin).out;
    writeFileSync(join(base, "reader.token"), made, { mode: 0o600 });
    const begun = run("desk-home", ["sync", "start", url, reading, "--token-file", join(base, "reader.token")]);
    expect(begun.err).toMatch(
      /note: 1 file of \S+reading stay here and do not go to the origin: the token may only read/,
    );
    await until(() =>
      expect(sync<SyncShape[]>(["status", reading])[0]).toMatchObject({ read_only: true, kept_back: 1 }),
    );
    const told = run("desk-home", ["sync", "status", reading]).out;
    expect(told).toContain("1 change stays here: the token may only read");
    expect(told).not.toContain("in sync");
    expect(run("desk-home", ["-C", reading, "versions"]).err).toContain("are at the origin");
    expect(existsSync(join(origin, "r.mine"))).toBe(false);
    sync(["start", url, reading, "--token-file", token()]);
    await until(() => expect(read(origin, "r.mine")).toBe("mine\n"));
    run("desk-home", ["sync", "stop", reading]);
  });

  it("says so if a folder has files already, and refuses folders of the system", async () => {
    const full = join(base, "full");
    mkdirSync(join(full, "d"), { recursive: true });
    for (const name of ["a.mine", "d/b.mine"]) writeFileSync(join(full, name), "mine\n");
    const begun = run("desk-home", ["sync", "start", url, full, "--token-file", token()]);
    expect(begun).toMatchObject({
      status: 0,
      err: expect.stringMatching(
        /note: 2 files of \S+full join those of the origin: files that the origin does not have go there/,
      ) as string,
    });
    await until(() => expect(read(origin, "d/b.mine")).toBe("mine\n"));
    const again = run("desk-home", ["sync", "start", url, full, "--token-file", token()]);
    expect([again.status, again.err]).toEqual([0, ""]);
    run("desk-home", ["sync", "stop", full]);
    for (const [folder, what] of [
      ["/", "the whole file system"],
      ["/etc", "a folder of the system"],
      ["/usr/lib/none/such", "a folder of the system"],
      [join(base, "desk-home"), "a home folder"],
    ] as const) {
      const refused = run("desk-home", ["sync", "start", url, folder, "--token-file", token()]);
      expect([folder, refused.status === 0, refused.err]).toEqual([folder, false, expect.stringContaining(what)]);
      expect(refused.err).toContain("--force");
    }
    expect(existsSync("/usr/lib/none")).toBe(false);
    const here = run("steered-home", ["replicate", "/etc", "--connect", socket]);
    expect(here.err).toContain("/etc is a folder of the system");
  });

  it("claims no exact number of files that give way, because an ignore file may give way, too", async () => {
    const full = join(base, "ignoring");
    mkdirSync(full);
    for (const name of ["a.gives-way", "b.gives-way", "c.tmp"]) writeFileSync(join(full, name), "mine\n");
    writeFileSync(join(full, ".gitignore"), "*.tmp\n");
    const mode = ["--mode", "one-way-replica"];
    const begun = run("desk-home", ["sync", "start", url, full, "--token-file", token(), ...mode]);
    expect(begun.err).toMatch(/note: at least 3 files of \S+ignoring are replaced by what the origin has/);
    // Whether the sync asks first depends on the number of files that stay.
    await until(() => {
      const [status] = sync<SyncShape[]>(["status", full]);
      if (status?.state === "halted") run("desk-home", ["sync", "resume", full, "--accept-deletions"]);
      expect(["a.gives-way", "c.tmp"].filter((name) => existsSync(join(full, name)))).toEqual([]);
    });
    run("desk-home", ["sync", "stop", full]);
  });

  it("says what is wrong with a token, and with the words of a command", async () => {
    const wrong = join(base, "wrong.token");
    writeFileSync(wrong, "wrong\n", { mode: 0o600 });
    const refused = run("desk-home", ["sync", "start", url, join(base, "other"), "--token-file", wrong]);
    expect([refused.status, refused.out]).toEqual([6, ""]);
    expect(refused.err).toContain("the origin does not take this token");
    expect(refused.err).toContain("--token-file FILE");
    expect(existsSync(join(base, "other"))).toBe(false);
    sync(["start", url, join(base, "other"), "--token-file", token()]);
    await until(() => expect(read(base, "other", "src/x.ts")).toBe("x\n"));
    run("desk-home", ["sync", "stop", join(base, "other")]);
    const refusal = (...args: string[]) => run("desk-home", args).err;
    expect(refusal("sync", "start", url, "x")).toContain("is a port, and a port needs a token");
    expect(refusal("sync", "start", "ftp://x", "x")).toContain("is no address of an origin");
    expect(refusal("sync", "start", "http://me:secret@x", "x")).toMatch(/^chronicle: an origin's address has no user/);
    expect(refusal("sync", "start", `unix:/${"x".repeat(120)}`, "y")).toContain("too long for a socket");
    expect(refusal("sync", "start", "unix:/nowhere.sock", "y", "--mode", "sideways")).toContain(
      "there is no mode sideways",
    );
    expect(refusal("sync", "dance")).toContain("chronicle sync does not know 'dance'");
    expect(refusal("sync", "resolve", "a")).toContain("say how to settle the conflict");
    expect(refusal("sync", "pause", "nothing")).toContain("there is no sync nothing");
    const long = `/${"x".repeat(110)}`;
    expect(refusal("serve", "--replication", "--socket", long)).toContain("too long for a socket");
    expect(refusal("serve", "--replication", "--socket", "/tmp/c.sock")).toContain("can be entered by others");
    expect(refusal("replicate", "x")).toContain("--connect SOCKET, or --ws-connect URL");
    expect(refusal("replicate", "x", "--connect", "a", "--ws-connect", "b")).toContain(
      "give only one address of the origin",
    );
  });

  it("settles a conflict by a path, from any working folder, in the sync whose folder has the path", async () => {
    const other = join(base, "other-desk");
    const { id } = sync<SyncShape>(["start", `unix:${socket}`, other, "--mode", "one-way-safe"]);
    await until(() => expect(read(other, "notes.txt")).toBe(read(origin, "notes.txt")));
    const disagree = async (text: string): Promise<void> => {
      writeFileSync(join(other, "notes.txt"), `my ${text}\n`);
      await asked((syncs) => syncs.flush(id));
      writeFileSync(join(origin, "notes.txt"), `their ${text}\n`);
      await until(async () => expect(await asked((syncs) => syncs.conflicts(id))).toHaveLength(1));
    };
    const settled = async (text: string): Promise<void> => {
      await until(() => expect(read(other, "notes.txt")).toBe(`their ${text}\n`));
    };
    await disagree("first");
    const ambiguous = run("desk-home", ["sync", "resolve", "notes.txt", "--accept-upstream"]).err;
    expect(ambiguous).toMatch(/2 syncs may be meant\n {2}name one with -w, by its folder or its id:\n/);
    expect(sync(["resolve", join(other, "notes.txt"), "--accept-upstream"])).toMatchObject({ conflicts: 0 });
    await settled("first");
    await disagree("second");
    expect(sync(["resolve", "other-desk/notes.txt", "--accept-upstream"])).toMatchObject({ conflicts: 0 });
    await settled("second");
    await disagree("third");
    // If there are several syncs, commands that are printed outside of the folder name this one.
    const naming = `chronicle -w ${id.slice(0, 8)} sync`;
    expect(run("desk-home", ["sync", "status"]).out).toContain(`see: ${naming} conflicts\n`);
    const flushed = run("desk-home", ["sync", "flush", other]);
    expect([flushed.status, flushed.out]).toEqual([1, expect.stringContaining(`see: ${naming} conflicts\n`)]);
    expect(run("desk-home", ["sync", "conflicts", other]).out).toContain(`settle with: ${naming} resolve PATH --`);
    expect(run("desk-home", ["sync", "conflicts"], other).out).toContain("settle with: chronicle sync resolve PATH --");
    const unknown = run("desk-home", ["sync", "resolve", join(other, "src/x.ts"), "--keep-local"]);
    expect(unknown.err).toContain(`\`${naming} conflicts\` lists them`);
    const two = run("desk-home", ["sync", "resolve", other, "notes.txt", "--keep-local"]);
    expect(two.err).toContain("a path; -w names the sync, by its folder or its id");
    const byHint = run("desk-home", ["-w", id.slice(0, 8), "sync", "resolve", "notes.txt", "--accept-upstream"]);
    expect([byHint.status, byHint.err]).toEqual([0, ""]);
    await settled("third");
    await disagree("fourth");
    run("desk-home", ["-w", "other-desk", "sync", "resolve", "notes.txt", "--accept-upstream"]);
    await settled("fourth");
    sync(["stop", id]);
    await same("notes.txt");
  });

  it("gives the sides of a secret to a person's tool, but not to a tool that an agent names", async () => {
    const other = join(base, "secrets");
    const work = join(base, "work");
    mkdirSync(work);
    writeFileSync(join(origin, ".env"), "TOKEN=first\n");
    const { id } = sync<SyncShape>(["start", `unix:${socket}`, other, "--mode", "one-way-safe", "--with-protected"]);
    await until(() => expect(read(other, ".env")).toBe("TOKEN=first\n"));
    writeFileSync(join(other, ".env"), "TOKEN=mine\n");
    await asked((syncs) => syncs.flush(id));
    writeFileSync(join(origin, ".env"), "TOKEN=theirs\n");
    await until(async () => expect(await asked((syncs) => syncs.conflicts(id))).toHaveLength(1));
    const tool = 'cat "$LOCAL" "$UPSTREAM" "$BASE"; cat "$UPSTREAM" > "$MERGED"';
    // Only the processes around the command show that it is an agent's.
    const bare = Object.entries(envOf("desk-home")).map(([name, value]) => `${name}=${value}`);
    const words = ["sync", "resolve", join(other, ".env"), "--merge", "--tool", tool];
    const args = ["run", "--", "env", "-i", ...bare, process.execPath, chronicleBin(), ...words];
    const { status, out, err } = run("desk-home", args, work);
    expect([status, out]).toEqual([6, ""]);
    expect(err).toContain("a secret by its name");
    expect(err).not.toContain("TOKEN=");
    expect(run("desk-home", words).out).toContain("TOKEN=mine\nTOKEN=theirs\n");
    sync(["stop", id]);
    rmSync(join(origin, ".env"));
  });
});

describe("replicate", () => {
  it("follows until Ctrl-C, and ends with code 0; the same command continues from there", async () => {
    const box = join(base, "box");
    const args = ["replicate", box, "--connect", socket, "--json"];
    const first = begin("box-home", args, base);
    await until(() => expect(read(box, "src/x.ts")).toBe("x\n"));
    writeFileSync(join(box, "built.txt"), "in the sandbox\n");
    await until(() => expect(read(origin, "built.txt")).toBe("in the sandbox\n"));
    // An edit in any of the three is seen in the others.
    await until(() => expect(read(desk, "built.txt")).toBe("in the sandbox\n"));
    const ended = once(first, "exit");
    first.kill("SIGINT");
    expect((await ended)[0]).toBe(0);
    const last = JSON.parse(first.said.trim().split("\n").at(-1) ?? "") as SyncShape;
    expect(last).toMatchObject({ folder: box, state: "stopped" });
    writeFileSync(join(origin, "src/x.ts"), "changed\n");
    const second = begin("box-home", args, base);
    await until(() => expect(read(box, "src/x.ts")).toBe("changed\n"));
    second.kill("SIGTERM");
    expect((await once(second, "exit"))[0]).toBe(0);
  });

  it("can be controlled from other processes by the same commands, which also show its state", async () => {
    const box = join(base, "steered");
    const boxes = <T>(...args: string[]): T => {
      const { status, out, err } = run("steered-home", ["sync", ...args, "--json"], box);
      if (status !== 0) throw new Error(`sync ${args.join(" ")}: ${status}\n${err}`);
      return JSON.parse(out) as T;
    };
    const running = begin("steered-home", ["replicate", box, "--connect", socket], base);
    await until(() => expect(existsSync(join(box, "src/x.ts"))).toBe(true));
    const [door = "", ...more] = readdirSync(join(base, "steered-home/.local/state/chronicle/run")).filter((name) =>
      name.startsWith("sync-"),
    );
    expect([door, more]).toEqual([expect.stringMatching(/^sync-[0-9a-f-]{36}\.sock$/), []]);
    const path = join(base, "steered-home/.local/state/chronicle/run", door);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(boxes<SyncShape>("flush")).toMatchObject({ folder: box, state: "in-sync", pending: 0 });
    const [listed] = boxes<SyncShape[]>("status", box);
    expect(listed).toMatchObject({ folder: box, state: "in-sync" });
    expect(listed).not.toHaveProperty("elsewhere");
    const monitor = begin("steered-home", ["sync", "monitor", box, "--json"], base);
    await until(() => expect(monitor.said).toContain('"in-sync"'));
    const ofAll = begin("steered-home", ["sync", "monitor", "--json"], base);
    await until(() => expect(ofAll.said).toContain('"in-sync"'));
    // Another process lists and settles a conflict of this sync.
    expect(boxes<SyncShape>("pause")).toMatchObject({ state: "paused" });
    await said(running, /paused/);
    writeFileSync(join(box, "built.txt"), "mine\n");
    writeFileSync(join(origin, "built.txt"), "theirs\n");
    expect(run("steered-home", ["sync", "flush"], box).err).toContain("`chronicle sync resume` continues the sync");
    boxes("resume");
    await until(() => expect(boxes("conflicts")).toMatchObject([{ path: "built.txt" }]));
    expect(boxes("resolve", "built.txt", "--keep-local")).toMatchObject({ kept: "local", conflicts: 0 });
    await until(() => expect(read(origin, "built.txt")).toBe("mine\n"));
    await until(() => expect(monitor.said).toContain('"kind":"conflict"'));
    // The folder is emptied, and another process decides about that.
    boxes("pause");
    for (const name of readdirSync(box)) rmSync(join(box, name), { recursive: true });
    expect([0, 1]).toContain(run("steered-home", ["sync", "resume"], box).status);
    await said(running, /halted: everything was deleted here/);
    expect(boxes("status", box)).toMatchObject([{ state: "halted", reason: "everything was deleted here" }]);
    expect(boxes("resume", "--restore-files")).toMatchObject({ folder: box });
    await until(() => expect(read(box, "built.txt")).toBe("mine\n"));
    // A second start is refused, and names the process that runs the sync. Then the sync is stopped.
    const second = run("steered-home", ["sync", "start", `unix:${socket}`, box]);
    expect([second.status, second.err]).toEqual([
      5,
      expect.stringContaining(`process ${running.pid} runs the sync of this folder already`),
    ]);
    const ended = once(running, "exit");
    expect(boxes<SyncShape>("stop")).toMatchObject({ state: "stopped" });
    expect((await ended)[0]).toBe(0);
    expect(existsSync(path)).toBe(false);
    await until(() => expect(monitor.said.trim().split("\n").at(-1)).toContain('"stopped"'));
    await until(() => expect(ofAll.said.trim().split("\n").at(-1)).toContain('"stopped"'));
    // Each event comes once, though two processes report it.
    const events = ofAll.said
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as SyncEventShape);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_one, at) => at + 1));
    expect(events.filter((one) => one.kind === "conflict" && one.state === "settled")).toHaveLength(1);
    for (const one of [monitor, ofAll]) one.kill("SIGINT");
  });

  it("ends if the origin refuses it, and works with the right token", async () => {
    const box = join(base, "refused");
    const wrong = join(base, "wrong-too.token");
    writeFileSync(wrong, "wrong\n", { mode: 0o600 });
    const args = (file: string) => ["replicate", box, "--ws-connect", url, "--token-file", file];
    const refused = run("steered-home", args(wrong));
    expect([refused.status, refused.out, existsSync(box)]).toEqual([6, "", false]);
    expect(refused.err).toContain("the origin does not take this token");
    expect(refused.err).toContain("on the origin's machine, `token create --role agent` makes one");
    const inside = join(origin, "inside");
    const nested = run("steered-home", ["replicate", inside, "--connect", socket]);
    expect([nested.status, nested.out.match(/would hold itself without end/g)?.length]).toEqual([1, 1]);
    expect(nested.out).not.toContain("offline");
    rmSync(inside, { recursive: true });
    // If the origin is in the same store, the refusal comes before anything is made.
    for (const [where, made] of [
      [join(inside, "deep"), inside],
      [inside, inside],
    ] as const) {
      const own = run("origin-home", ["replicate", where, "--connect", socket]);
      expect([own.status, own.out, existsSync(made)]).toEqual([6, "", false]);
      expect(own.err).toContain("would hold itself without end");
    }
    const around = run("origin-home", ["replicate", base, "--connect", socket]);
    expect([around.status, around.out]).toEqual([6, ""]);
    const nowhere = run("steered-home", [...args(token()), "--workspace", "nosuch"]);
    expect([nowhere.status, nowhere.err]).toEqual([3, expect.stringContaining("there is no workspace nosuch")]);
    expect([nowhere.out, existsSync(box)]).toEqual(["", false]);
    const right = begin("steered-home", args(token()), base);
    await until(() => expect(existsSync(join(box, "src/x.ts"))).toBe(true));
    right.kill("SIGINT");
    expect((await once(right, "exit"))[0]).toBe(0);
  });

  it("that was killed leaves a socket that hinders nothing", async () => {
    const box = join(base, "steered");
    const args = ["replicate", box, "--connect", socket];
    const killed = begin("steered-home", args, base);
    await said(killed, /in sync/);
    const folder = join(base, "steered-home/.local/state/chronicle/run");
    killed.kill("SIGKILL");
    await once(killed, "exit");
    expect(readdirSync(folder).filter((name) => name.startsWith("sync-"))).toHaveLength(1);
    expect(run("steered-home", ["sync", "status", box]).status).toBe(0);
    // The store's process has taken the sync up meanwhile.
    expect(run("steered-home", ["sync", "flush", box])).toMatchObject({ status: 0 });
    // That process gives the sync up when the same command is run again.
    const again = begin("steered-home", args, base);
    await said(again, /the store's process ran this sync; from now on, this command runs it/);
    await said(again, /in sync/);
    expect(run("steered-home", ["sync", "stop", box])).toMatchObject({ status: 0 });
    expect(readdirSync(folder).filter((name) => name.startsWith("sync-"))).toEqual([]);
  });
});
